// Reads what the bench needs from Prometheus text: sums of a counter and the buckets of a histogram.

/** Upper bound (in the metric's own unit; Infinity for +Inf) and the count at or below it, ascending. */
export type Buckets = readonly { readonly le: number; readonly count: number }[];

/** The sum over all label sets of one metric; undefined when the text does not name it. */
export function counterSum(text: string, name: string): number | undefined {
  let sum: number | undefined;
  for (const sample of samples(text, name)) sum = (sum ?? 0) + sample.value;
  return sum;
}

/** A histogram's cumulative buckets, label sets added up; empty when the text does not name it. */
export function histogramBuckets(text: string, name: string): Buckets {
  const counts = new Map<number, number>();
  for (const { labels, value } of samples(text, `${name}_bucket`)) {
    const bound = /(?:^|,)\s*le="([^"]+)"/.exec(labels)?.[1];
    if (bound === undefined) continue;
    const le = bound === "+Inf" ? Infinity : Number(bound);
    counts.set(le, (counts.get(le) ?? 0) + value);
  }
  return [...counts].map(([le, count]) => ({ le, count })).toSorted((a, b) => a.le - b.le);
}

/** What was counted between two readings of the same histogram. */
export function bucketsSince(before: Buckets, after: Buckets): Buckets {
  const earlier = new Map(before.map(({ le, count }) => [le, count]));
  return after.map(({ le, count }) => ({ le, count: count - (earlier.get(le) ?? 0) }));
}

/** Adds readings of the same histogram up, bucket by bucket. */
export function bucketsTotal(readings: readonly Buckets[]): Buckets {
  const counts = new Map<number, number>();
  for (const { le, count } of readings.flat()) counts.set(le, (counts.get(le) ?? 0) + count);
  return [...counts].map(([le, count]) => ({ le, count })).toSorted((a, b) => a.le - b.le);
}

/**
 * The upper bound of the bucket that the quantile falls into: never better than the truth.
 * @returns undefined when nothing was counted; Infinity when it lies above the last bound
 */
export function quantileUpperBound(buckets: Buckets, share: number): number | undefined {
  const total = bucketsCount(buckets);
  if (total === 0) return undefined;
  return buckets.find(({ count }) => count >= share * total)?.le;
}

export function bucketsCount(buckets: Buckets): number {
  return buckets.at(-1)?.count ?? 0;
}

function* samples(text: string, name: string): Generator<{ labels: string; value: number }> {
  for (const line of text.split("\n")) {
    if (!line.startsWith(name)) continue;
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
    if (match === null || match[1] !== name) continue;
    yield { labels: match[2] ?? "", value: Number(match[3]) };
  }
}

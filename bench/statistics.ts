// Small statistics over exact samples: nearest-rank percentiles, medians, and how far slices lie apart.

/**
 * Nearest-rank percentile of samples that are sorted ascending.
 * @param share 0 to 1, e.g. 0.95
 * @returns undefined when there are no samples
 */
export function percentile(sorted: ArrayLike<number>, share: number): number | undefined {
  if (sorted.length === 0) return undefined;
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[Math.min(rank, sorted.length) - 1];
}

/** The middle value, or the mean of the two middle ones; undefined for none. */
export function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  const lower = sorted[middle - 1];
  return lower === undefined ? upper : (lower + upper) / 2;
}

/** How far the farthest value lies from the median, in percent of the median: the ± beside a figure. */
export function spreadPercent(values: readonly number[]): number | undefined {
  const middle = median(values);
  if (middle === undefined || middle === 0) return undefined;
  const farthest = Math.max(...values.map((value) => Math.abs(value - middle)));
  return (farthest / middle) * 100;
}

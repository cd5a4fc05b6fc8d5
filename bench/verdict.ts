// What verdicts are put together from: how a figure passes, misses, or says that nobody could measure it.
import type { Evidence, Figure } from "./figures.ts";
import { seriesOf, type Series } from "./series.ts";
import { percentile } from "./statistics.ts";
import type { SubjectName } from "./subjects.ts";

/** What a judge says; the figure's name is put before it. */
export type Judged = Omit<Figure, "figure">;

export function sortedMs(sorted: readonly number[]): Pick<Figure, "n" | "p50" | "p95" | "p99" | "max" | "errors"> {
  const at = (share: number): number | null => {
    const value = percentile(sorted, share);
    return value === undefined ? null : round(value);
  };
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), errors: 0 };
}

/** Both sides of a ratio, or why there is none. */
export function pairAt(
  evidence: Evidence,
  concurrency: number,
  ours: SubjectName,
  beside: SubjectName,
): { readonly series: Series; readonly floor: Series } | string {
  const series = seriesOf(evidence.measured, ours, concurrency);
  const floor = seriesOf(evidence.measured, beside, concurrency);
  if (series === undefined) return whyMissing(evidence, ours);
  return floor === undefined ? whyMissing(evidence, beside) : { series, floor };
}

export function whyMissing({ failures, measured }: Evidence, subject: SubjectName): string {
  const failure = failures.get(subject);
  if (failure !== undefined) return `${subject}: ${failure}`;
  const codes = measured.filter((slice) => slice.subject === subject).map((slice) => Object.keys(slice.errorCodes));
  return `${subject}: no call succeeded (${[...new Set(codes.flat())].join(", ") || "no slice was run"})`;
}

export function verdict(
  figure: Omit<Figure, "figure" | "ok" | "reason">,
  faults: readonly (string | false | undefined)[],
): Judged {
  const found = faults.filter((fault) => fault !== false && fault !== undefined);
  return found.length === 0 ? { ...figure, ok: true } : { ...figure, ok: false, reason: found.join("; ") };
}

export function missing(unit: string, target: string | null, ok: false | null, reason: string): Judged {
  return { value: null, unit, target, ok, n: 0, p50: null, p95: null, p99: null, max: null, errors: 0, reason };
}

export function latencies(series: Series): Pick<Figure, "n" | "p50" | "p95" | "p99" | "max" | "errors"> {
  return { n: series.calls, ...floorLatencies(series), errors: series.errors };
}

export function noLatencies(series: Series): Pick<Figure, "n" | "p50" | "p95" | "p99" | "max" | "errors"> {
  return { n: series.calls, p50: null, p95: null, p99: null, max: null, errors: series.errors };
}

export function floorLatencies(series: Series): { p50: number; p95: number; p99: number; max: number } {
  return { p50: round(series.p50), p95: round(series.p95), p99: round(series.p99), max: round(series.max) };
}

export function errorsText({ errors, errorCodes }: Series): string | undefined {
  if (errors === 0) return undefined;
  const codes = Object.entries(errorCodes).map(([code, count]) => `${code} ${count}`);
  return `${errors} errors: ${codes.join(", ")}`;
}

export function cpuText(series: Series, floor: Series): string {
  return `CPU a call ${show(series.cpuPerCall ?? Number.NaN)} us, floor ${show(floor.cpuPerCall ?? Number.NaN)} us`;
}

export function inMemory({ memoryFileSystem }: Evidence): string | undefined {
  return memoryFileSystem === undefined ? undefined : `the data lies on ${memoryFileSystem}, where no fsync is real`;
}

export function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

export function show(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

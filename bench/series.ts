// Slices of one subject at one concurrency, put together: medians, and what was counted over all of them.
import { bucketsTotal, type Buckets } from "./prometheus.ts";
import type { Measured } from "./rounds.ts";
import { median, spreadPercent } from "./statistics.ts";
import type { SubjectName } from "./subjects.ts";

/** Medians are taken over slices; times in ms, CPU in µs a call. */
export interface Series {
  readonly slices: number;
  readonly calls: number;
  readonly errors: number;
  readonly errorCodes: Readonly<Record<string, number>>;
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** The slowest call of all slices. */
  readonly max: number;
  readonly cpuPerCall: number | undefined;
  /** How far the farthest slice lies from the median, ± percent. */
  readonly spread: { readonly callsPerSecond: number; readonly p50: number; readonly cpuPerCall: number };
  readonly commits: number | undefined;
  readonly dispatch: Buckets;
}

/** Undefined when no slice brought a good answer. */
export function seriesOf(measured: readonly Measured[], subject: SubjectName, concurrency: number): Series | undefined {
  const slices = measured.filter((slice) => slice.subject === subject && slice.concurrency === concurrency);
  const perSecond = slices.map((slice) => slice.callsPerSecond);
  const p50s = milliseconds(slices.map((slice) => slice.p50Us));
  const cpu = slices.flatMap(({ cpuUs, calls }) => (cpuUs === undefined || calls === 0 ? [] : [cpuUs / calls]));
  const callsPerSecond = median(perSecond);
  const p50 = median(p50s);
  const p95 = median(milliseconds(slices.map((slice) => slice.p95Us)));
  const p99 = median(milliseconds(slices.map((slice) => slice.p99Us)));
  if (callsPerSecond === undefined || p50 === undefined || p95 === undefined || p99 === undefined) return undefined;
  return {
    slices: slices.length,
    calls: sum(slices.map((slice) => slice.calls)),
    errors: sum(slices.map((slice) => slice.errors)),
    errorCodes: addUp(slices.map((slice) => slice.errorCodes)),
    callsPerSecond,
    p50,
    p95,
    p99,
    max: Math.max(...milliseconds(slices.map((slice) => slice.maxUs))),
    cpuPerCall: median(cpu),
    spread: {
      callsPerSecond: spreadPercent(perSecond) ?? 0,
      p50: spreadPercent(p50s) ?? 0,
      cpuPerCall: spreadPercent(cpu) ?? 0,
    },
    commits: slices.every((slice) => slice.commits !== undefined)
      ? sum(slices.map((slice) => slice.commits ?? 0))
      : undefined,
    dispatch: bucketsTotal(slices.map((slice) => slice.dispatch ?? [])),
  };
}

function milliseconds(us: readonly (number | undefined)[]): number[] {
  return us.flatMap((value) => (value === undefined ? [] : [value / 1_000]));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function addUp(tallies: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [code, count] of tallies.flatMap((tally) => Object.entries(tally)))
    total[code] = (total[code] ?? 0) + count;
  return total;
}

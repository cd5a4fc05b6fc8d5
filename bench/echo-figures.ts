// Verdicts on the echo beside a floor that does the same work on the same kind of ledger.
import type { Spec } from "./figures.ts";
import { seriesOf } from "./series.ts";
import type { SubjectName } from "./subjects.ts";
import {
  cpuText,
  errorsText,
  floorLatencies,
  inMemory,
  latencies,
  missing,
  noLatencies,
  pairAt,
  round,
  show,
  verdict,
  whyMissing,
} from "./verdict.ts";

/** A runtime and its floor. */
export interface EchoPair {
  readonly ours: SubjectName;
  readonly floor: SubjectName;
}

const p50RatioMax = 1.4;
const p95RatioMax = 2;
const throughputRatioMin: Readonly<Record<number, number>> = { 16: 0.65, 128: 0.75 };
const writesPerCallMax: Readonly<Record<number, number>> = { 1: 2, 16: 0.5, 128: 0.15 };
/** Sweeps and late lease renewals may add a commit or two to a slice of thousands of calls. */
const countNoise = 0.005;

export function judgeLatency({ ours, floor: floorName }: EchoPair): Spec["judge"] {
  return (evidence) => {
    const target = `p50 <= ${p50RatioMax} x floor, p95 <= ${p95RatioMax} x floor`;
    const pair = pairAt(evidence, 1, ours, floorName);
    if (typeof pair === "string") return missing("ms", target, false, pair);
    const { series, floor } = pair;
    const p50Ratio = series.p50 / floor.p50;
    const p95Ratio = series.p95 / floor.p95;
    return verdict(
      {
        ...latencies(series),
        value: round(series.p50),
        unit: "ms",
        target,
        floor: { value: round(floor.p50), ...floorLatencies(floor) },
        ratio: round(p50Ratio),
        floor_spread: round(floor.spread.p50),
      },
      [
        p50Ratio > p50RatioMax && `p50 is ${show(p50Ratio)} x the floor's; ${cpuText(series, floor)}`,
        p95Ratio > p95RatioMax && `p95 is ${show(p95Ratio)} x the floor's`,
        errorsText(series),
        inMemory(evidence),
      ],
    );
  };
}

export function judgeThroughput({ ours, floor: floorName }: EchoPair, concurrency: number): Spec["judge"] {
  return (evidence) => {
    const ratioMin = throughputRatioMin[concurrency] ?? 1;
    const target = `calls/s >= ${ratioMin} x floor`;
    const pair = pairAt(evidence, concurrency, ours, floorName);
    if (typeof pair === "string") return missing("calls/s", target, false, pair);
    const { series, floor } = pair;
    const ratio = series.callsPerSecond / floor.callsPerSecond;
    return verdict(
      {
        ...latencies(series),
        value: round(series.callsPerSecond),
        unit: "calls/s",
        target,
        floor: { value: round(floor.callsPerSecond), ...floorLatencies(floor) },
        ratio: round(ratio),
        floor_spread: round(floor.spread.callsPerSecond),
      },
      [
        ratio < ratioMin && `calls/s is ${show(ratio)} x the floor's; ${cpuText(series, floor)}`,
        errorsText(series),
        inMemory(evidence),
      ],
    );
  };
}

export function judgeWrites(ours: SubjectName, concurrency: number): Spec["judge"] {
  return (evidence) => {
    const max = writesPerCallMax[concurrency] ?? 0;
    const target = `<= ${max}`;
    const series = seriesOf(evidence.measured, ours, concurrency);
    if (series === undefined) return missing("commits", target, false, whyMissing(evidence, ours));
    if (series.commits === undefined)
      return missing("commits", target, false, "GET /metrics has no ledger_commits_total");
    const value = series.commits / (series.calls + series.errors);
    return verdict({ ...noLatencies(series), value: round(value), unit: "commits", target }, [
      value > max + countNoise && `${show(value)} durable commits a call`,
      errorsText(series),
    ]);
  };
}

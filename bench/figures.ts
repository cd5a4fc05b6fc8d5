// The figures: what each one needs, its target, and the verdict on what was measured.
import { boxFigures, type BoxEvidence, type BoxLane } from "./box-figures.ts";
import { doorFigures } from "./door-figures.ts";
import { judgeLatency, judgeThroughput, judgeWrites, type EchoPair } from "./echo-figures.ts";
import { fairFigures, type FairEvidence, type FairLane } from "./fair-figures.ts";
import { historyFigures } from "./history-figures.ts";
import type { HistoryTimings } from "./history.ts";
import { outageFigures, type OutageEvidence, type OutageLane } from "./outage-figures.ts";
import { postgresFigures } from "./postgres-figures.ts";
import type { PolicyTimings } from "./policy-10k.ts";
import { bucketsCount, quantileUpperBound } from "./prometheus.ts";
import type { Lookups } from "./registry.ts";
import type { Measured } from "./rounds.ts";
import { seriesOf } from "./series.ts";
import { judgeSessionStep } from "./session-figures.ts";
import type { SessionTimings } from "./sessions.ts";
import type { StreamTimings } from "./streams.ts";
import type { SubjectName } from "./subjects.ts";
import {
  errorsText,
  inMemory,
  latencies,
  missing,
  noLatencies,
  pairAt,
  round,
  show,
  sortedMs,
  verdict,
  whyMissing,
  type Judged,
} from "./verdict.ts";

/** One line of the report; latencies in ms unless the figure's own unit is another time. */
export interface Figure {
  readonly figure: string;
  readonly value: number | null;
  readonly unit: string;
  readonly target: string | null;
  /** null: a figure without a target, or one that nobody could measure here. */
  readonly ok: boolean | null;
  readonly n: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
  readonly errors: number;
  /** CPU time of the process under test, µs a call. */
  readonly cpu_us?: number;
  /** The same figure of the floor, from the same rounds; of a door the first one's, of a history the one without, of a peer ours. */
  readonly floor?: Readonly<Record<string, number>>;
  /** value / floor's value; of a peer ours / its. */
  readonly ratio?: number;
  /** How far the floor's farthest slice lies from its median, ± percent. */
  readonly floor_spread?: number;
  readonly reason?: string;
}

/** What is measured apart from the others, and can break down by itself. */
export type Lane = SubjectName | "idle" | "policies" | "registry" | "streams" | "sessions" | "history" | BoxLane | FairLane | OutageLane;

export interface Evidence {
  readonly measured: readonly Measured[];
  readonly idleResidentBytes?: number;
  readonly registry?: Lookups;
  /** One for each way in which the policies that are not relevant can be spread. */
  readonly policies?: readonly PolicyTimings[];
  readonly streams?: StreamTimings;
  readonly sessions?: SessionTimings;
  readonly boxes?: BoxEvidence;
  readonly fair?: FairEvidence;
  readonly outage?: OutageEvidence;
  readonly history?: Omit<HistoryTimings, "measured" | "failures">;
  /** Why a subject has no (or not all) slices. */
  readonly failures: ReadonlyMap<Lane, string>;
  /** Set when the data lies in memory: no fsync is real, so no figure of the ledger counts. */
  readonly memoryFileSystem?: string;
}

export interface Spec {
  readonly figure: string;
  readonly needs: readonly { readonly subject: SubjectName; readonly concurrency: number }[];
  readonly needsIdle?: true;
  readonly needsRegistry?: true;
  readonly needsPolicies?: true;
  readonly needsStreams?: true;
  readonly needsSessions?: true;
  readonly needsBoxes?: BoxLane;
  readonly needsFair?: FairLane;
  readonly needsOutage?: OutageLane;
  /** Takes minutes: measured only where it is asked for by name. */
  readonly needsHistory?: true;
  readonly judge: (evidence: Evidence) => Judged;
}

const concurrencies = [1, 16, 128] as const;
const onSqlite: EchoPair = { ours: "signalbox", floor: "floor" };
const dispatchP95MsMax: Readonly<Record<number, number>> = { 1: 3, 16: 10 };
const cpuRatioMax = 1.6;
const idleResidentMbMax = 180;
const lookupP95MsMax = 2;
const versionsMin = 100_000;
const policyP95MsMax = 1;
const streamFirstP95MsMax = 50;
const streamMbPerSecondMin = 50;
/** What a process of this size grows and shrinks by on its own; a runtime that kept what it passes on would grow by all of it. */
const streamGrowthMbMax = 64;

export const specs: readonly Spec[] = [
  ...concurrencies.map((c) => informational(`limit.http.c${c}`, "http", c)),
  ...concurrencies.map((c) => informational(`floor.c${c}`, "floor", c)),
  { figure: "echo.sqlite.c1", needs: both(1), judge: judgeLatency(onSqlite) },
  ...[16, 128].map((c) => ({ figure: `echo.sqlite.c${c}`, needs: both(c), judge: judgeThroughput(onSqlite, c) })),
  ...[1, 16].map((c) => ({ figure: `dispatch.p95.c${c}`, needs: ours(c), judge: judgeDispatch(c) })),
  { figure: "cpu.per_call", needs: both(128), judge: judgeCpu },
  ...concurrencies.map((c) => ({ figure: `writes.per_call.c${c}`, needs: ours(c), judge: judgeWrites("signalbox", c) })),
  ...postgresFigures,
  ...doorFigures,
  { figure: "policy.10k", needs: [], needsPolicies: true, judge: judgePolicies },
  ...fairFigures.map(({ figure, lane, judge }) => ({
    figure,
    needs: [],
    needsFair: lane,
    judge: ({ fair = {}, failures }: Evidence) => judge(fair, (of) => failures.get(of) ?? "not measured"),
  })),
  { figure: "registry.100k", needs: [], needsRegistry: true, judge: judgeRegistry },
  { figure: "stream.first", needs: [], needsStreams: true, judge: judgeStreamFirst },
  { figure: "stream.rate", needs: [], needsStreams: true, judge: judgeStreamRate },
  { figure: "stream.beside", needs: [], needsStreams: true, judge: tellStreamBeside },
  { figure: "session.step", needs: [], needsSessions: true, judge: ({ sessions, failures }) => judgeSessionStep(sessions, failures.get("sessions") ?? "not measured") },
  ...boxFigures.map(({ figure, lane, judge }) => ({
    figure,
    needs: [],
    needsBoxes: lane,
    judge: ({ boxes = {}, failures }: Evidence) => judge(boxes, (of) => failures.get(of) ?? "not measured"),
  })),
  ...outageFigures.map(({ figure, lane, judge }) => ({
    figure,
    needs: [],
    needsOutage: lane,
    judge: ({ outage = {}, failures }: Evidence) => judge(outage, (of) => failures.get(of) ?? "not measured"),
  })),
  { figure: "idle.rss", needs: [], needsIdle: true, judge: judgeIdle },
  ...historyFigures,
];

/** @param prefix of the figures' names; without one, all but those that take too long to be measured unasked */
export function specsFor(prefix: string): readonly Spec[] {
  return specs.filter(({ figure, needsHistory }) => figure.startsWith(prefix) && (prefix !== "" || needsHistory !== true));
}

function ours(concurrency: number): Spec["needs"] {
  return [{ subject: "signalbox", concurrency }];
}

function both(concurrency: number): Spec["needs"] {
  return [{ subject: "floor", concurrency }, ...ours(concurrency)];
}

function informational(figure: string, subject: SubjectName, concurrency: number): Spec {
  return {
    figure,
    needs: [{ subject, concurrency }],
    judge: (evidence) => {
      const series = seriesOf(evidence.measured, subject, concurrency);
      if (series === undefined) return missing("calls/s", null, null, whyMissing(evidence, subject));
      const reason = errorsText(series);
      return {
        ...latencies(series),
        value: round(series.callsPerSecond),
        unit: "calls/s",
        target: null,
        ok: null,
        ...(subject === "floor" ? { floor_spread: round(series.spread.callsPerSecond) } : {}),
        ...(reason === undefined ? {} : { reason }),
      };
    },
  };
}

function judgeDispatch(concurrency: number): Spec["judge"] {
  return (evidence) => {
    const p95Max = dispatchP95MsMax[concurrency] ?? 0;
    const target = `p95 < ${p95Max} ms`;
    const series = seriesOf(evidence.measured, "signalbox", concurrency);
    if (series === undefined) return missing("ms", target, false, whyMissing(evidence, "signalbox"));
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantileUpperBound(series.dispatch, share));
    if (p50 === undefined || p95 === undefined || p99 === undefined) {
      return missing("ms", target, false, "GET /metrics counts nothing in tool_dispatch_seconds");
    }
    // A bucket that ends at the limit holds what is below it: a duration of exactly 3 ms does not happen.
    return verdict(
      {
        value: finiteMs(p95),
        unit: "ms (upper bound of the histogram bucket)",
        target,
        n: bucketsCount(series.dispatch),
        p50: finiteMs(p50),
        p95: finiteMs(p95),
        p99: finiteMs(p99),
        max: null,
        errors: series.errors,
      },
      [
        round(p95 * 1_000) > p95Max && `the bucket that holds p95 ends at ${show(p95 * 1_000)} ms`,
        errorsText(series),
        inMemory(evidence),
      ],
    );
  };
}

function judgeCpu(evidence: Evidence): Judged {
  const target = `<= ${cpuRatioMax} x floor at c=128`;
  const pair = pairAt(evidence, 128, "signalbox", "floor");
  if (typeof pair === "string") return missing("us", target, false, pair);
  const { series, floor } = pair;
  if (series.cpuPerCall === undefined || floor.cpuPerCall === undefined)
    return missing("us", target, false, "no CPU time was read");
  const ratio = series.cpuPerCall / floor.cpuPerCall;
  return verdict(
    {
      ...noLatencies(series),
      value: round(series.cpuPerCall),
      unit: "us",
      target,
      floor: { value: round(floor.cpuPerCall) },
      ratio: round(ratio),
      floor_spread: round(floor.spread.cpuPerCall),
    },
    [ratio > cpuRatioMax && `CPU a call is ${show(ratio)} x the floor's`, errorsText(series)],
  );
}

function judgeIdle({ idleResidentBytes, failures }: Evidence): Judged {
  const target = `< ${idleResidentMbMax} MB`;
  if (idleResidentBytes === undefined) return missing("MB", target, false, failures.get("idle") ?? "not measured");
  const value = idleResidentBytes / 1e6;
  return verdict(
    { value: round(value), unit: "MB", target, n: 1, p50: null, p95: null, p99: null, max: null, errors: 0 },
    [value >= idleResidentMbMax && `${show(value)} MB resident, idle, 5 s after the start`],
  );
}

/** The spread that the index handles worst is the figure. */
function judgePolicies({ policies = [], failures }: Evidence): Judged {
  const target = `p95 < ${policyP95MsMax} ms`;
  const worst = policies.toSorted((one, other) => other.p95 - one.p95)[0];
  if (worst === undefined) return missing("ms", target, false, failures.get("policies") ?? "not measured");
  const [p50, p95, p99, max] = [round(worst.p50), round(worst.p95), round(worst.p99), round(worst.max)];
  const errors = policies.reduce((total, one) => total + one.errors, 0);
  return verdict({ value: p95, unit: "ms", target, n: worst.n, p50, p95, p99, max, errors }, [
    worst.p95 >= policyP95MsMax && `p95 is ${show(worst.p95)} ms with the policies spread over ${worst.spread}`,
    errors > 0 && `${errors} decisions came out wrong`,
  ]);
}

function judgeRegistry({ registry, failures }: Evidence): Judged {
  const target = `p95 < ${lookupP95MsMax} ms`;
  if (registry === undefined) return missing("ms", target, false, failures.get("registry") ?? "not measured");
  const { n, p50, p95, p99, max, wrong, versions } = registry;
  return verdict(
    { value: round(p95), unit: "ms", target, n, p50: round(p50), p95: round(p95), p99: round(p99), max: round(max), errors: wrong },
    [
      p95 >= lookupP95MsMax && `p95 is ${show(p95)} ms`,
      wrong > 0 && `${wrong} look-ups came to another version than they should have`,
      versions < versionsMin && `only ${versions} versions were registered`,
    ],
  );
}

function judgeStreamFirst({ streams, failures }: Evidence): Judged {
  const target = `p95 < ${streamFirstP95MsMax} ms`;
  if (streams === undefined) return missing("ms", target, false, failures.get("streams") ?? "not measured");
  const told = sortedMs(streams.firstMs);
  return verdict({ ...told, value: told.p95, unit: "ms", target }, [
    (told.p95 ?? Number.POSITIVE_INFINITY) >= streamFirstP95MsMax && `p95 is ${show(told.p95 ?? Number.NaN)} ms`,
  ]);
}

function judgeStreamRate({ streams, failures }: Evidence): Judged {
  const target = `>= ${streamMbPerSecondMin} MB/s, resident memory + <= ${streamGrowthMbMax} MB`;
  if (streams === undefined) return missing("MB/s", target, false, failures.get("streams") ?? "not measured");
  const { bytes, seconds, residentBefore, residentAfter, residentPeak, lost } = streams.flood;
  const rate = bytes / 1e6 / seconds;
  const growth = (residentAfter - residentBefore) / 1e6;
  const memory = `resident ${show(residentBefore / 1e6)} MB before, ${show(residentAfter / 1e6)} after, ${show(residentPeak / 1e6)} at most`;
  const told = `${show(bytes / 1e6)} MB came, ${show(lost / 1e6)} MB were told as gaps; ${memory}`;
  const figure = { value: round(rate), unit: "MB/s", target, n: 1, p50: null, p95: null, p99: null, max: null, errors: 0 };
  const judged = verdict(figure, [
    rate < streamMbPerSecondMin && `${show(rate)} MB/s`,
    growth > streamGrowthMbMax && `the runtime grew by ${show(growth)} MB`,
  ]);
  return { ...judged, reason: judged.reason === undefined ? told : `${judged.reason}; ${told}` };
}

function tellStreamBeside({ streams, failures }: Evidence): Judged {
  if (streams === undefined) return missing("ms", null, null, failures.get("streams") ?? "not measured");
  const told = sortedMs(streams.besideMs);
  const alone = sortedMs(streams.aloneMs);
  const reason = `echo calls while the flood ran; alone p50 ${show(alone.p50 ?? Number.NaN)} ms, p95 ${show(alone.p95 ?? Number.NaN)} ms`;
  return { ...told, value: told.p95, unit: "ms", target: null, ok: null, reason };
}

function finiteMs(seconds: number): number | null {
  return Number.isFinite(seconds) ? round(seconds * 1_000) : null;
}

// The figures of a long history: what calls, reads and a start cost with a million finished calls in the ledger.
import type { Evidence, Figure, Spec } from "./figures.ts";
import type { ReadName } from "./history.ts";
import { percentile } from "./statistics.ts";
import { errorsText, floorLatencies, inMemory, latencies, missing, pairAt, round, show, sortedMs, verdict, type Judged } from "./verdict.ts";

const p50RatioMax = 1.15;
const callsMin = 1_000_000;
const readP95MsMax = 50;
const startRatioMax = 1.5;
/** Both tenths are written by themselves, minutes apart, on a machine whose pace wanders: less says nothing. */
const appendRatioMax = 1.5;

/** Reads that an index answers; the others look through the whole history, in turns. */
const indexed: readonly ReadName[] = ["get", "list", "list.status", "audit"];
const walked: readonly ReadName[] = ["list.tool", "list.principal", "audit.principal"];

const rounds: Spec["needs"] = [
  { subject: "fresh", concurrency: 1 },
  { subject: "history", concurrency: 1 },
];

export const historyFigures: readonly Spec[] = [
  spec("history.1m", judgeEcho, rounds),
  ...indexed.map((name) => spec(`history.${name}`, judgeRead(name))),
  ...walked.map((name) => spec(`history.${name}`, tellWalk(name))),
  spec("history.start", judgeStart),
  spec("history.append", judgeAppend),
  spec("history.bytes", tellBytes),
];

function spec(figure: string, judge: Spec["judge"], needs: Spec["needs"] = []): Spec {
  return { figure, needs, needsHistory: true, judge: (evidence) => proven(evidence, judge(evidence)) };
}

/** A shorter history proves nothing of a long one; it can miss all the same. */
function proven({ history }: Evidence, judged: Judged): Judged {
  if (history === undefined || history.filled.calls >= callsMin) return judged;
  const short = `${history.filled.calls} finished calls, not ${callsMin}`;
  const reason = judged.reason === undefined ? short : `${judged.reason}; ${short}`;
  return { ...judged, ok: judged.ok === false ? false : null, reason };
}

function judgeEcho(evidence: Evidence): Judged {
  const target = `p50 <= ${p50RatioMax} x without a history`;
  const why = evidence.failures.get("history");
  const pair = pairAt(evidence, 1, "history", "fresh");
  if (typeof pair === "string") return missing("ms", target, false, why ?? pair);
  const { series, floor } = pair;
  const ratio = series.p50 / floor.p50;
  return verdict(
    {
      ...latencies(series),
      value: round(series.p50),
      unit: "ms",
      target,
      floor: { value: round(floor.p50), ...floorLatencies(floor) },
      ratio: round(ratio),
      floor_spread: round(floor.spread.p50),
    },
    [
      ratio > p50RatioMax && `p50 is ${show(ratio)} x that without a history`,
      errorsText(series),
      errorsText(floor),
      inMemory(evidence),
    ],
  );
}

function judgeRead(name: ReadName): Spec["judge"] {
  return (evidence) => {
    const target = `p95 < ${readP95MsMax} ms`;
    const read = evidence.history?.reads[name];
    if (read === undefined) return missing("ms", target, false, whyNot(evidence));
    const told = { ...sortedMs(read.ms), errors: read.errors };
    const judged = verdict({ ...told, value: told.p95, unit: "ms", target }, [
      (told.p95 ?? Number.POSITIVE_INFINITY) >= readP95MsMax && `p95 is ${show(told.p95 ?? Number.NaN)} ms`,
      read.errors > 0 && `${read.errors} reads failed`,
    ]);
    return withWords(judged, besideWords(read.besideMs));
  };
}

/** Few match, and no index knows them: what counts is that nobody else waits for it. */
function tellWalk(name: ReadName): Spec["judge"] {
  return (evidence) => {
    const read = evidence.history?.reads[name];
    if (read === undefined) return missing("ms", null, null, whyNot(evidence));
    const told = { ...sortedMs(read.ms), errors: read.errors };
    const judged: Judged = { ...told, value: told.p95, unit: "ms", target: null, ok: null };
    const failed = read.errors > 0 ? `${read.errors} reads failed; ` : "";
    return withWords(judged, `${failed}looks through the whole history in turns; ${besideWords(read.besideMs)}`);
  };
}

function judgeStart(evidence: Evidence): Judged {
  const target = `<= ${startRatioMax} x without a history`;
  const { history } = evidence;
  const ours = middle(history?.starts.history);
  const without = middle(history?.starts.fresh);
  if (history === undefined || ours === undefined || without === undefined)
    return missing("ms", target, false, whyNot(evidence));
  const ratio = ours / without;
  return verdict(
    {
      ...sortedMs(history.starts.history),
      value: round(ours),
      unit: "ms",
      target,
      floor: { value: round(without) },
      ratio: round(ratio),
    },
    [ratio > startRatioMax && `a start takes ${show(ratio)} x as long as without a history`],
  );
}

function judgeAppend(evidence: Evidence): Judged {
  const target = `last tenth <= ${appendRatioMax} x first tenth`;
  const { history } = evidence;
  if (history === undefined) return missing("us", target, false, whyNot(evidence));
  const { calls, firstTenthUs, lastTenthUs } = history.filled;
  const ratio = lastTenthUs / firstTenthUs;
  return verdict(
    {
      ...noTimes(calls),
      value: round(lastTenthUs),
      unit: "us",
      target,
      floor: { value: round(firstTenthUs) },
      ratio: round(ratio),
    },
    [ratio > appendRatioMax && `writing a call takes ${show(ratio)} x as long at the end as at the beginning`],
  );
}

function tellBytes(evidence: Evidence): Judged {
  const { history } = evidence;
  if (history === undefined) return missing("bytes", null, null, whyNot(evidence));
  const { calls, bytesPerCall } = history.filled;
  return { ...noTimes(calls), value: round(bytesPerCall), unit: "bytes", target: null, ok: null };
}

function noTimes(n: number): Pick<Figure, "n" | "p50" | "p95" | "p99" | "max" | "errors"> {
  return { n, p50: null, p95: null, p99: null, max: null, errors: 0 };
}

function middle(sorted: readonly number[] = []): number | undefined {
  return percentile(sorted, 0.5);
}

function whyNot({ failures }: Evidence): string {
  return failures.get("history") ?? "not measured";
}

function besideWords(sorted: readonly number[]): string {
  const { p50, max } = sortedMs(sorted);
  return `an echo beside it took ${show(p50 ?? Number.NaN)} ms, at most ${show(max ?? Number.NaN)}`;
}

function withWords(judged: Judged, words: string): Judged {
  return { ...judged, reason: judged.reason === undefined ? words : `${judged.reason}; ${words}` };
}

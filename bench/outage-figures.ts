// The figures of outages: a start on thousands of open calls, and the death of one of two replicas under load.
import type { AvailTimings } from "./avail.ts";
import type { RecoverTimings } from "./recover.ts";
import { missing, round, show, sortedMs, verdict, type Judged } from "./verdict.ts";

export type OutageLane = "recover" | "avail";

export interface OutageEvidence {
  readonly recover?: RecoverTimings;
  readonly avail?: AvailTimings;
}

export interface OutageFigure {
  readonly figure: string;
  readonly lane: OutageLane;
  readonly judge: (evidence: OutageEvidence, why: (lane: OutageLane) => string) => Judged;
}

const recoverSecondsMax = 5;
const openCallsMin = 10_000;
const gapSecondsMax = 3;

export const outageFigures: readonly OutageFigure[] = [
  { figure: "recover.10k", lane: "recover", judge: judgeRecover },
  { figure: "avail.kill_replica", lane: "avail", judge: judgeAvail },
];

/** The lease time in which workers may return is no work, and is not counted. */
function judgeRecover({ recover }: OutageEvidence, why: (lane: OutageLane) => string): Judged {
  const target = `< ${recoverSecondsMax} s`;
  if (recover === undefined) return missing("s", target, false, why("recover"));
  const { calls, readyMs, settledMs, fault } = recover;
  const seconds = (readyMs + Math.max(0, settledMs)) / 1_000;
  const judged = verdict({ value: round(seconds), unit: "s", target, n: calls, p50: null, p95: null, p99: null, max: null, errors: 0 }, [
    seconds >= recoverSecondsMax && `it took ${show(seconds)} s`,
    calls < openCallsMin && `only ${calls} calls were open`,
    fault,
  ]);
  const words = `ready after ${show(readyMs)} ms, settled ${show(Math.max(0, settledMs))} ms after the lease time`;
  return { ...judged, reason: judged.reason === undefined ? words : `${judged.reason}; ${words}` };
}

function judgeAvail({ avail }: OutageEvidence, why: (lane: OutageLane) => string): Judged {
  const target = `0 failed after one retry, gap < ${gapSecondsMax} s`;
  // Where there is no PostgreSQL nothing is shown, and nothing missed.
  if (avail === undefined) return missing("s", target, null, why("avail"));
  const { requests, failed, retried, slowestMs, gapsMs } = avail;
  const told = sortedMs(gapsMs.map((ms) => ms / 1_000));
  const gap = told.max ?? Number.POSITIVE_INFINITY;
  const judged = verdict({ ...told, value: told.max, unit: "s", target, errors: failed }, [
    gap >= gapSecondsMax && `nobody was answered for ${show(gap)} s`,
    failed > 0 && `${failed} of ${requests} requests failed after one retry`,
  ]);
  const words = `${requests} requests, ${retried} retried, the slowest ${show(slowestMs)} ms, ${gapsMs.length} kills`;
  return { ...judged, reason: judged.reason === undefined ? words : `${judged.reason}; ${words}` };
}

// The figures of fairness: what one decision of the waiting line takes, and what a neighbour's backlog costs.
import type { NeighbourTimings } from "./neighbour.ts";
import type { ScheduleTimings } from "./schedule-100k.ts";
import { missing, round, show, sortedMs, verdict, type Judged } from "./verdict.ts";

export type FairLane = "schedule" | "neighbour";

export interface FairEvidence {
  readonly schedule?: ScheduleTimings;
  readonly neighbour?: NeighbourTimings;
}

export interface FairFigure {
  readonly figure: string;
  readonly lane: FairLane;
  readonly judge: (evidence: FairEvidence, why: (lane: FairLane) => string) => Judged;
}

const decisionP95MsMax = 0.2;
const neighbourRatioMax = 2;

export const fairFigures: readonly FairFigure[] = [
  { figure: "schedule.100k", lane: "schedule", judge: judgeSchedule },
  { figure: "neighbour", lane: "neighbour", judge: judgeNeighbour },
];

function judgeSchedule({ schedule }: FairEvidence, why: (lane: FairLane) => string): Judged {
  const target = `p95 < ${decisionP95MsMax} ms`;
  if (schedule === undefined) return missing("ms", target, false, why("schedule"));
  const told = sortedMs(schedule.ms);
  const { least, most } = schedule.turns;
  return verdict({ ...told, value: told.p95, unit: "ms", target, errors: schedule.errors }, [
    (told.p95 ?? Number.POSITIVE_INFINITY) >= decisionP95MsMax && `p95 is ${show(told.p95 ?? Number.NaN)} ms`,
    schedule.errors > 0 && `${schedule.errors} decisions gave nobody a turn`,
    // The bias of the classes is two; one more is the turn that is on.
    most - least > 3 && `turns a unit of weight are from ${show(least)} to ${show(most)}`,
  ]);
}

function judgeNeighbour({ neighbour }: FairEvidence, why: (lane: FairLane) => string): Judged {
  const target = `p95 <= ${neighbourRatioMax} x alone`;
  if (neighbour === undefined) return missing("ms", target, false, why("neighbour"));
  const [told, alone] = [sortedMs(neighbour.besideMs), sortedMs(neighbour.aloneMs)];
  if (told.p95 === null || alone.p95 === null || alone.p50 === null) return missing("ms", target, false, "no echo was answered");
  const ratio = told.p95 / alone.p95;
  const floor = { value: alone.p95, p50: alone.p50, p95: alone.p95 };
  return verdict({ ...told, value: told.p95, unit: "ms", target, floor, ratio: round(ratio) }, [
    ratio > neighbourRatioMax && `p95 beside ${neighbour.queued} calls of another tenant is ${show(ratio)} x that of no such neighbour`,
  ]);
}

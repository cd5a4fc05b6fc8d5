// The figures of fairness: what one decision of the waiting line takes, and a claim of it, and what a neighbour's backlog costs.
import type { Claims } from "./claims.ts";
import type { NeighbourTimings } from "./neighbour.ts";
import type { ScheduleTimings } from "./schedule-100k.ts";
import { missing, round, show, sortedMs, verdict, type Judged } from "./verdict.ts";

export type FairLane = "schedule" | "neighbour" | "claims";

export interface FairEvidence {
  readonly schedule?: ScheduleTimings;
  readonly neighbour?: NeighbourTimings;
  readonly claims?: Claims;
}

export interface FairFigure {
  readonly figure: string;
  readonly lane: FairLane;
  readonly judge: (evidence: FairEvidence, why: (lane: FairLane) => string) => Judged;
}

const decisionP95MsMax = 0.2;
const neighbourRatioMax = 2;
/** Above it one replica with a lease would have to schedule for all. */
const claimP95MsMax = 2;
const claimQueuedMin = 100_000;

/** How many calls a claim asks for. */
export const claimLimits = [1, 8, 64] as const;

export const fairFigures: readonly FairFigure[] = [
  { figure: "schedule.100k", lane: "schedule", judge: judgeSchedule },
  { figure: "neighbour", lane: "neighbour", judge: judgeNeighbour },
  ...claimLimits.flatMap((limit) => [
    { figure: `claim.100k.${limit}`, lane: "claims" as const, judge: judgeClaim(limit, false) },
    { figure: `claim.100k.${limit}.both`, lane: "claims" as const, judge: judgeClaim(limit, true) },
  ]),
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

function judgeClaim(limit: number, atOnce: boolean): FairFigure["judge"] {
  return ({ claims }, why) => {
    const target = `p95 <= ${claimP95MsMax} ms`;
    // Where there is no PostgreSQL nothing is shown, and nothing missed.
    if (claims === undefined) return missing("ms", target, null, why("claims"));
    const timing = claims.timings.find((one) => one.limit === limit && one.atOnce === atOnce);
    if (timing === undefined) return missing("ms", target, false, "it was not timed");
    const told = sortedMs(timing.ms);
    const p95 = told.p95 ?? Number.POSITIVE_INFINITY;
    return verdict({ ...told, value: told.p95, unit: "ms", target, errors: timing.errors }, [
      p95 > claimP95MsMax && `p95 is ${show(p95)} ms, ${show(p95 / limit)} ms a call`,
      timing.errors > 0 && `${timing.errors} claims brought too few calls, or some that were taken`,
      claims.queued < claimQueuedMin && `only ${claims.queued} calls were in line`,
    ]);
  };
}

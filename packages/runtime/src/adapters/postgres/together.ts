// Applies a batch of units in order, in one transaction: runs of usual ones many at a time, the others one by one.
import type { CommitOutcome } from "../../ledger/port.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import type { CallWriteOptions } from "./call-writes.ts";
import { hotRound } from "./hot-round.ts";
import { touchedBy } from "./hot-unit.ts";
import type { Gathered } from "./transaction.ts";
import type { UnitWriter } from "./writers.ts";

/** Units in their order: such as are written together, or one by itself. */
export type Step = { readonly kind: "round"; readonly units: PlannedUnit[] } | { readonly kind: "alone"; readonly unit: PlannedUnit };

/** A unit that touches what another one of its round touches begins the next round: it has to see what that one did. */
export function stepsOf(batch: readonly PlannedUnit[]): readonly Step[] {
  const steps: Step[] = [];
  let taken = new Set<string>();
  for (const unit of batch) {
    const touched = touchedBy(unit);
    if (touched === undefined) {
      steps.push({ kind: "alone", unit });
      continue;
    }
    const last = steps.at(-1);
    if (last?.kind === "round" && !touched.some((key) => taken.has(key))) last.units.push(unit);
    else {
      steps.push({ kind: "round", units: [unit] });
      taken = new Set();
    }
    for (const key of touched) taken.add(key);
  }
  return steps;
}

export function applyTogether(units: UnitWriter, options: CallWriteOptions) {
  const round = hotRound(options);
  const alone = async (gathered: Gathered, unit: PlannedUnit): Promise<CommitOutcome> => {
    // One guard that refuses has written nothing; only a later one needs the savepoint.
    if (unit.guards > 1) return units.applyAlone(gathered, unit, false);
    const mark = gathered.mark();
    const outcome = await units.apply(gathered, unit);
    if (!outcome.applied) gathered.undoTo(mark);
    return outcome;
  };
  return async (gathered: Gathered, batch: readonly PlannedUnit[]): Promise<readonly CommitOutcome[]> => {
    const outcomes: CommitOutcome[] = [];
    for (const step of stepsOf(batch)) {
      if (step.kind === "round") outcomes.push(...(await round(gathered, step.units)));
      else outcomes.push(await alone(gathered, step.unit));
    }
    return outcomes;
  };
}

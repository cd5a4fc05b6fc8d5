// Applies a batch of units in order, in one transaction.
import type { CommitOutcome } from "../../ledger/port.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import type { Gathered } from "./transaction.ts";
import type { UnitWriter } from "./writers.ts";

export function applyTogether(units: UnitWriter) {
  const one = async (gathered: Gathered, unit: PlannedUnit): Promise<CommitOutcome> => {
    // One guard that refuses has written nothing; only a later one needs the savepoint.
    if (unit.guards > 1) return units.applyAlone(gathered, unit, false);
    const mark = gathered.mark();
    const outcome = await units.apply(gathered, unit);
    if (!outcome.applied) gathered.undoTo(mark);
    return outcome;
  };
  return async (gathered: Gathered, batch: readonly PlannedUnit[]): Promise<readonly CommitOutcome[]> => {
    const outcomes: CommitOutcome[] = [];
    for (const unit of batch) outcomes.push(await one(gathered, unit));
    return outcomes;
  };
}

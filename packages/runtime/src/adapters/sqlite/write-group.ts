// Writes a group of units in one transaction, and sees to it that a faulty unit harms nobody but itself.
import type { DatabaseSync } from "node:sqlite";
import type { GroupOutcome } from "./group-commit.ts";
import { asLedgerError, storeFailure } from "./store-errors.ts";
import type { PlannedUnit } from "./unit-plan.ts";
import type { UnitWriter } from "./writers.ts";

/** The chain heads that a transaction moves; they follow its end. */
export interface HeadKeeper {
  /** Writes the heads that this transaction moved. */
  writeHeads(): void;
  committed(): void;
  rolledBack(): void;
}

/** What a transaction adds up; written once, when all its units are in. */
export interface SumKeeper {
  write(): void;
  clear(): void;
}

export type WriteGroup = (units: readonly PlannedUnit[]) => GroupOutcome;

function rejectAll(units: readonly PlannedUnit[], error: unknown): GroupOutcome {
  const rejection = asLedgerError(error);
  return units.map(() => rejection);
}

export function groupWriter(db: DatabaseSync, writer: UnitWriter, heads: HeadKeeper, sums: SumKeeper): WriteGroup {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");

  const inTransaction = (work: () => GroupOutcome): GroupOutcome => {
    begin.run();
    try {
      const outcome = work();
      heads.writeHeads();
      sums.write();
      commit.run();
      heads.committed();
      return outcome;
    } catch (error) {
      // SQLite ends the transaction by itself when the disk is full.
      if (db.isTransaction) db.exec("ROLLBACK");
      heads.rolledBack();
      throw error;
    } finally {
      sums.clear();
    }
  };

  /** Each unit behind a savepoint, still one commit: slower, so it is the second try only. */
  const writeOneByOne = (units: readonly PlannedUnit[]): GroupOutcome =>
    inTransaction(() =>
      units.map((unit) => {
        try {
          return writer.applyAlone(unit);
        } catch (error) {
          if (storeFailure(error) !== undefined) throw error;
          return asLedgerError(error);
        }
      }),
    );

  return (units) => {
    try {
      return inTransaction(() => units.map((unit) => writer.apply(unit)));
    } catch (error) {
      if (units.length === 1 || storeFailure(error) !== undefined) return rejectAll(units, error);
    }
    try {
      return writeOneByOne(units);
    } catch (error) {
      return rejectAll(units, error);
    }
  };
}

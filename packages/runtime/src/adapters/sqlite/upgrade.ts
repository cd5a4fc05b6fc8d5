// Looks at the schema of a ledger file, and brings it up without starting a runtime.
import { DatabaseSync } from "node:sqlite";
import { planFrom, type SchemaPlan } from "../transfer/schema-plan.ts";
import { openDatabase, refuseNewer, storedSchemaVersion } from "./open.ts";
import { migrations, type Migration } from "./schema.ts";
import { asLedgerError } from "./store-errors.ts";

const busyTimeoutMs = 5_000;

/** Writes nothing; a runtime may have the file. @throws LedgerUnavailable when it has a newer schema */
export function sqliteSchema(path: string, list: readonly Migration[] = migrations): SchemaPlan {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    const plan = planFrom(storedSchemaVersion(db), list);
    refuseNewer(plan.schema, plan.newest);
    return plan;
  } catch (error) {
    throw asLedgerError(error);
  } finally {
    db?.close();
  }
}

/** @throws LedgerUnavailable while a runtime has the folder */
export function migrateSqlite(path: string, now: number): void {
  openDatabase(path, now).close();
}

// Reads the ledger file of a stopped runtime from beginning to end.
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { carriedTables, checkSchema, inBatches, type CarriedTable, type LedgerDump, type OwnParts, type Value } from "../transfer/tables.ts";
import { anchorPathOf } from "./anchor.ts";
import { lockFolder, storedSchemaVersion } from "./open.ts";
import { migrations } from "./schema.ts";
import { asLedgerError } from "./store-errors.ts";

/** `event_rows` names rows of `events` by their ids. */
export const sqliteOwn: OwnParts = { tables: ["meta"], columns: { calls: ["event_rows"] } };

const newest = migrations.at(-1)?.version ?? 0;

export interface ColumnInfo {
  readonly name: string;
  /** A row without a value for it is refused. */
  readonly needed: boolean;
}

/** Those that are carried. */
export function carriedColumns(db: DatabaseSync, table: CarriedTable): readonly ColumnInfo[] {
  return db
    .prepare("SELECT name, \"notnull\" = 1 AND dflt_value IS NULL AS needed FROM pragma_table_info(?) ORDER BY cid")
    .all(table)
    .map((row) => ({ name: String(row["name"]), needed: row["needed"] === 1 }))
    .filter(({ name }) => sqliteOwn.columns[table]?.includes(name) !== true);
}

/**
 * Keeps others out of the folder till it is closed; writes nothing.
 * @throws LedgerUnavailable while a runtime has it, UnfitLedger when its schema is not the newest
 */
export function dumpSqlite(path: string): LedgerDump {
  let lock: DatabaseSync | undefined;
  let db: DatabaseSync | undefined;
  try {
    lock = lockFolder(path);
    db = new DatabaseSync(path, { readOnly: true });
    const stored = storedSchemaVersion(db);
    checkSchema(stored, newest);
    return dumpOf(db, path, lock);
  } catch (error) {
    db?.close();
    lock?.close();
    throw asLedgerError(error);
  }
}

function dumpOf(db: DatabaseSync, path: string, lock: DatabaseSync): LedgerDump {
  const anchorPath = anchorPathOf(path);
  return {
    kind: "sqlite",
    schemaVersion: newest,
    anchor: existsSync(anchorPath) ? readFileSync(anchorPath, "utf8") : null,
    living: 0,
    columns: async (table) => carriedColumns(db, table).map(({ name }) => name),
    count: async (table) => Number(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.["rows"]),
    async *rows(table, columns) {
      const read = db.prepare(`SELECT ${columns.join(", ")} FROM ${table} ORDER BY ${carriedTables[table].join(", ")}`);
      read.setReturnArrays(true);
      yield* inBatches(read.iterate() as Iterable<unknown> as Iterable<readonly Value[]>);
    },
    async close() {
      db.close();
      lock.close();
    },
  };
}

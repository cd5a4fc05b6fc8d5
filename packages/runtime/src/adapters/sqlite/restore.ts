// Fills an empty ledger file with what another ledger held, in one transaction.
import { existsSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { AuditHead } from "../../ledger/audit-chain.ts";
import { carriedNames, UnfitLedger, type CarriedTable, type LedgerRestore, type Value } from "../transfer/tables.ts";
import { anchorPathOf, writeCarriedAnchor, type CarriedAnchor } from "./anchor.ts";
import { carriedColumns } from "./dump.ts";
import { rowName } from "./event-text.ts";
import { countIndexes, countingPolicySql } from "./governance-schema.ts";
import { openDatabase, type OpenDatabase } from "./open.ts";
import { asLedgerError } from "./store-errors.ts";

/**
 * @param anchor undefined: it was missing, and so it stays
 * @throws LedgerUnavailable when a runtime has the folder, UnfitLedger when the ledger in it is not empty
 */
export function restoreSqlite(path: string, now: number, anchor: CarriedAnchor | undefined): LedgerRestore {
  const opened = openDatabase(path, now);
  const { db } = opened;
  try {
    db.exec("BEGIN IMMEDIATE");
    const used = carriedNames.find((table) => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined);
    const anchorPath = anchorPathOf(path);
    if (used !== undefined) throw new UnfitLedger(`The ledger ${path} is not empty: it has rows in ${used}. Name another data folder.`);
    if (existsSync(anchorPath)) throw new UnfitLedger(`${anchorPath} guards the audit of another ledger. Name another data folder.`);
    return restoreInto(opened, () => {
      const heads = db.prepare("SELECT tenant, lane, seq, hash FROM audit_heads").all() as unknown as readonly AuditHead[];
      writeCarriedAnchor(anchorPath, anchor, heads);
    });
  } catch (error) {
    opened.close();
    throw asLedgerError(error);
  }
}

function restoreInto({ db, close }: OpenDatabase, kept: () => void): LedgerRestore {
  const rows = rowWriter(db);
  return {
    kind: "sqlite",
    async columns(table) {
      const columns = carriedColumns(db, table);
      const needed = columns.filter((column) => column.needed);
      return { all: columns.map(({ name }) => name), needed: needed.map(({ name }) => name) };
    },
    async write(table, columns, batch) {
      try {
        rows(table, columns, batch);
      } catch (error) {
        throw asLedgerError(error);
      }
    },
    async keep() {
      if (db.prepare(countingPolicySql).get() !== undefined) for (const index of countIndexes) db.exec(index);
      db.exec("COMMIT");
      kept();
    },
    async close() {
      if (!db.isOpen) return;
      if (db.isTransaction) db.exec("ROLLBACK");
      close();
    },
  };
}

function rowWriter(db: DatabaseSync) {
  const inserts = new Map<CarriedTable, StatementSync>();
  const nameRow = db.prepare("UPDATE calls SET event_rows = event_rows || ? WHERE tenant = ? AND call_id = ?");
  const insertOf = (table: CarriedTable, columns: readonly string[]): StatementSync => {
    const own = table === "calls" ? { names: ", event_rows", values: ", ''" } : { names: "", values: "" };
    const parameters = columns.map(() => "?").join(", ");
    return db.prepare(`INSERT INTO ${table} (${columns.join(", ")}${own.names}) VALUES (${parameters}${own.values})`);
  };
  /** A call names the rows of its events. */
  const nameEvents = (columns: readonly string[], row: readonly Value[]): void => {
    const of = (name: string): Value => row[columns.indexOf(name)] ?? null;
    const text = rowName({ id: Number(of("id")), seqFrom: Number(of("seq_from")), seqTo: Number(of("seq_to")) });
    if (text !== "") nameRow.run(text, of("tenant") as string, of("call_id") as string);
  };
  return (table: CarriedTable, columns: readonly string[], batch: readonly (readonly Value[])[]): void => {
    let insert = inserts.get(table);
    if (insert === undefined) inserts.set(table, (insert = insertOf(table, columns)));
    for (const row of batch) {
      insert.run(...(row as readonly SQLInputValue[]));
      if (table === "events") nameEvents(columns, row);
    }
  };
}

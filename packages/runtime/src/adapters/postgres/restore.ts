// Fills an empty PostgreSQL ledger with what another ledger held, in one transaction.
import type { Client } from "pg";
import type { Call } from "../../call/types.ts";
import { callColumns, decode } from "../sqlite/columns.ts";
import { countIndexes, countingPolicySql } from "../sqlite/governance-schema.ts";
import { carriedNames, UnfitLedger, type CarriedTable, type LedgerRestore, type Value } from "../transfer/tables.ts";
import { storable, type SqlRow } from "./db.ts";
import { carriedColumns, patientConnection, type ColumnInfo } from "./dump.ts";
import { placingOf } from "./fair-tags.ts";
import { migrate } from "./migrate.ts";
import { dbOf } from "./pool.ts";
import { insertRecordsSql, type RecordColumn } from "./records.ts";
import { asLedgerError } from "./store-errors.ts";

/** What the row of a call says beside what is carried. */
const placingColumns: readonly RecordColumn[] = [
  { name: "lane", type: "text" },
  { name: "class_offset", type: "bigint" },
  { name: "first_tag", type: "double precision" },
];

const numberedTables: readonly CarriedTable[] = ["activations", "notices", "agent_changes"];

// Who comes next takes turns with those who wait, as if all had come here: the clock stands at the first of them, and each
// tenant's share goes on behind its last.
const raiseClock = `UPDATE fair_clock SET v = greatest(v, waiting.first)
  FROM (SELECT COALESCE(min(start_tag), 0) AS first FROM calls WHERE state IN ('queued', 'awaiting_approval')) AS waiting`;
const raiseTenants = `INSERT INTO fair_tenants (tenant, finish, step)
  SELECT c.tenant, max(c.start_tag) + 1 / COALESCE(max(t.weight), 1), 1 / COALESCE(max(t.weight), 1)
    FROM calls AS c LEFT JOIN tenants AS t ON t.tenant = c.tenant
    WHERE c.state IN ('queued', 'awaiting_approval') GROUP BY c.tenant`;

/**
 * Brings the schema up first, and keeps everybody else from writing till it is closed.
 * @param keyMark what the ledger keeps of its audit key
 * @throws LedgerUnavailable when the server cannot be reached, UnfitLedger when the ledger is not empty
 */
export async function restorePostgres(url: string, now: number, keyMark: string): Promise<LedgerRestore> {
  let client: Client | undefined;
  try {
    client = await patientConnection(url, "signalbox import");
    await migrate(client, now);
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${carriedNames.join(", ")} IN SHARE ROW EXCLUSIVE MODE`);
    for (const table of carriedNames) {
      const { rowCount } = await client.query(`SELECT 1 FROM ${table} LIMIT 1`);
      if (rowCount !== 0) throw new UnfitLedger(`The ledger is not empty: it has rows in ${table}. Name another database.`);
    }
    return restoreInto(client, keyMark);
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw asLedgerError(error);
  }
}

function restoreInto(client: Client, keyMark: string): LedgerRestore {
  const known = new Map<CarriedTable, readonly ColumnInfo[]>();
  const columnsOf = async (table: CarriedTable): Promise<readonly ColumnInfo[]> => {
    let columns = known.get(table);
    if (columns === undefined) known.set(table, (columns = await carriedColumns(client, table)));
    return columns;
  };
  return {
    kind: "postgres",
    async columns(table) {
      const columns = await columnsOf(table);
      const needed = columns.filter((column) => column.needed);
      return { all: columns.map(({ name }) => name), needed: needed.map(({ name }) => name) };
    },
    async write(table, columns, rows) {
      try {
        if (table === "blobs") await writeBytes(client, table, columns, rows);
        else await writeRecords(client, table, typed(columns, await columnsOf(table)), rows);
      } catch (error) {
        throw asLedgerError(error);
      }
    },
    async keep() {
      await made(client, keyMark).catch((error: unknown) => Promise.reject(asLedgerError(error)));
    },
    async close() {
      // An open transaction goes with its connection.
      await client.end().catch(() => undefined);
    },
  };
}

async function made(client: Client, keyMark: string): Promise<void> {
  await client.query(raiseClock);
  await client.query(raiseTenants);
  for (const table of numberedTables)
    await client.query(`SELECT setval(pg_get_serial_sequence('${table}', 'id'), max(id)) FROM ${table} HAVING max(id) > 0`);
  const { rowCount: counting } = await client.query(countingPolicySql);
  if (counting !== 0) for (const index of countIndexes) await client.query(index);
  await client.query("UPDATE revision SET revision = revision + 1");
  await client.query("INSERT INTO meta (name, value) VALUES ('audit_key', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [keyMark]);
  await client.query("COMMIT");
  // Plans are made from what the tables hold, and nobody has looked at them yet.
  await client.query("ANALYZE").catch(() => undefined);
}

function typed(names: readonly string[], columns: readonly ColumnInfo[]): readonly RecordColumn[] {
  return names.map((name) => {
    const type = columns.find((column) => column.name === name)?.type;
    if (type === undefined || type === "bytea") throw new Error(`column ${name} cannot be sent as text`);
    return { name, type };
  });
}

async function writeRecords(client: Client, table: CarriedTable, columns: readonly RecordColumn[], rows: readonly (readonly Value[])[]): Promise<void> {
  const isCalls = table === "calls";
  const records = rows.map((row) => {
    const record: SqlRow = {};
    columns.forEach(({ name }, at) => {
      const value = row[at] ?? null;
      record[name] = typeof value === "string" ? storable(value) : (value as SqlRow[string]);
    });
    return isCalls ? { ...record, ...placed(record) } : record;
  });
  const sql = insertRecordsSql(table, isCalls ? [...columns, ...placingColumns] : columns);
  await dbOf(client).run(sql, [JSON.stringify(records)]);
}

/** Where it stands in line: it keeps the tag that it has. */
function placed(record: SqlRow) {
  const { lane, class_offset, first_tag } = placingOf(decode<Call>(callColumns, record), Number(record["start_tag"]));
  return { lane, class_offset, first_tag };
}

async function writeBytes(client: Client, table: CarriedTable, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void> {
  const parameters = columns.map((_, at) => `$${at + 1}`).join(", ");
  for (const row of rows) await client.query(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${parameters})`, [...row]);
}

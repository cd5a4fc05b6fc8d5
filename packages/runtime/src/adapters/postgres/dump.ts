// Reads a PostgreSQL ledger from beginning to end, as it was at one instant.
import type { Client } from "pg";
import { carriedTables, checkSchema, inBatches, type CarriedTable, type LedgerDump, type OwnParts, type Value } from "../transfer/tables.ts";
import { storeNowSql } from "./clock.ts";
import { schemaState } from "./migrate.ts";
import { connect, connectionConfig } from "./pool.ts";
import { migrations } from "./schema.ts";
import { asLedgerError } from "./store-errors.ts";

/** Who lives and who is next is not carried: where a call stands in line follows from its row. */
export const postgresOwn: OwnParts = {
  tables: ["meta", "replicas", "roles", "revision", "fair_clock", "fair_tenants", "outbox_base", "writers"],
  columns: { calls: ["lane", "class_offset", "first_tag", "order_tag"] },
};

const newest = migrations.at(-1)?.version ?? 0;

export interface ColumnInfo {
  readonly name: string;
  readonly type: "text" | "bigint" | "double precision" | "bytea";
  /** A row without a value for it is refused. */
  readonly needed: boolean;
}

const columnsSql = `SELECT column_name AS name, data_type AS type,
    is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AS needed
  FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`;

/** Those that are carried. */
export async function carriedColumns(client: Client, table: CarriedTable): Promise<readonly ColumnInfo[]> {
  const { rows } = await client.query<ColumnInfo>(columnsSql, [table]);
  return rows.filter(({ name }) => postgresOwn.columns[table]?.includes(name) !== true);
}

/** A connection on which a statement may take as long as it takes. */
export async function patientConnection(url: string, name: string): Promise<Client> {
  const client = await connect(connectionConfig(url, name), () => undefined);
  await client.query("SET statement_timeout = 0");
  return client;
}

/** Rows of one FETCH, few where they are long. */
const fetchedAtOnce: Readonly<Partial<Record<CarriedTable, number>>> = { blobs: 4, calls: 50, stream_chunks: 20, late_results: 20 };
const fetchedOtherwise = 500;

async function* rowsOf(client: Client, table: CarriedTable, columns: readonly string[]) {
  const sql = `SELECT ${columns.join(", ")} FROM ${table} ORDER BY ${carriedTables[table].join(", ")}`;
  await client.query(`DECLARE carried NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const text = `FETCH ${fetchedAtOnce[table] ?? fetchedOtherwise} FROM carried`;
    const { rows } = await client.query<Value[]>({ text, rowMode: "array" });
    if (rows.length === 0) break;
    yield* inBatches(rows);
  }
  await client.query("CLOSE carried");
}

/** @throws LedgerUnavailable when the server cannot be reached, UnfitLedger when the schema is not the newest */
export async function dumpPostgres(url: string): Promise<LedgerDump> {
  let client: Client | undefined;
  try {
    client = await patientConnection(url, "signalbox export");
    const { version } = await schemaState(client);
    checkSchema(version, newest);
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const living = await client.query<{ living: number }>(`SELECT count(*) AS living FROM replicas WHERE lives_until > ${storeNowSql}`);
    return dumpOf(client, living.rows[0]?.living ?? 0);
  } catch (error) {
    await client?.end().catch(() => undefined);
    throw asLedgerError(error);
  }
}

function dumpOf(client: Client, living: number): LedgerDump {
  const told = async <T>(work: Promise<T>): Promise<T> => work.catch((error: unknown) => Promise.reject(asLedgerError(error)));
  return {
    kind: "postgres",
    schemaVersion: newest,
    anchor: undefined,
    living,
    columns: async (table) => (await told(carriedColumns(client, table))).map(({ name }) => name),
    async count(table) {
      const counted = await told(client.query<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`));
      return counted.rows[0]?.rows ?? 0;
    },
    rows: (table, columns) => rowsOf(client, table, columns),
    async close() {
      await client.end().catch(() => undefined);
    },
  };
}

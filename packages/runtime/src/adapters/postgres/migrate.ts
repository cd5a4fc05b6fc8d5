// Brings a database to the newest schema, one process at a time, and refuses one that this runtime does not know.
import type { Client } from "pg";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { metaTableSql, migrations, type Migration } from "./schema.ts";

/** Any two numbers that nobody else takes; they name the lock under which schemas change. */
const migrationLock = [0x5167_6e61, 1] as const;

export interface SchemaState {
  /** 0: none yet. */
  readonly version: number;
  readonly compatibleFrom: number;
}

export async function schemaState(client: Client): Promise<SchemaState> {
  const { rows } = await client.query<{ readonly there: boolean }>("SELECT to_regclass('meta') IS NOT NULL AS there");
  if (rows[0]?.there !== true) return { version: 0, compatibleFrom: 0 };
  const found = await client.query<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name IN ('schema_version', 'schema_compatible_from')",
  );
  const of = (name: string): number => Number(found.rows.find((row) => row.name === name)?.value ?? 0);
  return { version: of("schema_version"), compatibleFrom: of("schema_compatible_from") };
}

/** A newer schema may be one that the newest of ours can stand beside. @throws LedgerUnavailable when it is not */
export function refuseNewer({ version, compatibleFrom }: SchemaState, known: number): void {
  if (version <= known || compatibleFrom <= known) return;
  throw new LedgerUnavailable(
    `The ledger has schema ${version}, which asks for a runtime that knows schema ${compatibleFrom}; this Signalbox knows schemas up to ${known}. Start the version that wrote it, or a newer one.`,
  );
}

/**
 * In one transaction. A newer schema that says it is compatible with the newest one in `list` is left as it is.
 * @throws LedgerUnavailable when the database was written by a newer Signalbox that this one cannot stand beside
 */
export async function migrate(client: Client, now: number, list: readonly Migration[] = migrations): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1, $2)", [...migrationLock]);
    await client.query(metaTableSql);
    const stored = await schemaState(client);
    const newest = list.at(-1);
    const known = newest?.version ?? 0;
    refuseNewer(stored, known);
    for (const { version, statements } of list) {
      if (version > stored.version) for (const statement of statements) await client.query(statement);
    }
    if (newest !== undefined && stored.version < known) await record(client, newest, now);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function record(client: Client, newest: Migration, now: number): Promise<void> {
  const facts = { schema_version: newest.version, schema_compatible_from: newest.compatibleFrom, schema_changed_at: now };
  for (const [name, value] of Object.entries(facts)) {
    await client.query("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [
      name,
      String(value),
    ]);
  }
}

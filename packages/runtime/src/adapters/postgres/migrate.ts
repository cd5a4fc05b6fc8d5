// Brings a database to the newest schema, one process at a time, and refuses one that this runtime does not know.
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ClientBase } from "pg";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { metaTableSql, migrations, type Migration } from "./schema.ts";

/** Any two numbers that nobody else takes; they name the lock under which schemas change. */
const migrationLock = [0x5167_6e61, 1] as const;
/** With a schema's version: the lock that everybody shares who knows schemas up to that one, for as long as it may write. */
const knownLock = 0x5167_6e65;

/** Who waits for a table keeps all others waiting behind it; so a change steps aside after so long, and stands in line again. */
const inLineMsMax = 1_000;
const asideMs = 250;
const triesMax = 60;

export interface SchemaState {
  /** 0: none yet. */
  readonly version: number;
  readonly compatibleFrom: number;
}

const newerVersion = "start the version that wrote it, or a newer one";

/** What this build knows. */
export const newestKnown = migrations.at(-1)?.version ?? 0;

export async function schemaState(client: ClientBase): Promise<SchemaState> {
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
    `The ledger has schema ${version}, which asks for a runtime that knows schema ${compatibleFrom}; this Signalbox knows schemas up to ${known}.`,
    { next: newerVersion },
  );
}

/** A connection that is made while replicas run: the schema may have changed since the start. @throws LedgerUnavailable */
export async function checkStillKnown(client: ClientBase): Promise<void> {
  refuseNewer(await schemaState(client), newestKnown);
}

/**
 * Says, for as long as this connection lives, that somebody writes here who knows no later schema.
 * @throws LedgerUnavailable when the schema has gone beyond it
 */
export async function stayKnown(client: Client): Promise<void> {
  // In this order: who changes the schema either finds the lock, or has committed before the state is read.
  await client.query("SELECT pg_advisory_lock_shared($1, $2)", [knownLock, newestKnown]);
  await checkStillKnown(client);
}

/**
 * In one transaction. A newer schema that says it is compatible with the newest one in `list` is left as it is.
 * @throws LedgerUnavailable when the database was written by a newer Signalbox that this one cannot stand beside, or replicas live
 * that could not stand beside this one
 */
export async function migrate(client: Client, now: number, list: readonly Migration[] = migrations): Promise<void> {
  for (let left = triesMax; ; left -= 1) {
    try {
      return await migrateOnce(client, now, list);
    } catch (error) {
      if (left <= 1 || !isInTheWay(error)) throw error;
      await sleep(asideMs);
    }
  }
}

/** Somebody else's transaction has the table, or waits for one that this has. */
function isInTheWay(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "55P03" || error.code === "40P01");
}

async function migrateOnce(client: Client, now: number, list: readonly Migration[]): Promise<void> {
  // An index over a large table takes its time, and so does another process that makes it.
  await client.query("BEGIN; SET LOCAL statement_timeout = 0");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1, $2)", [...migrationLock]);
    await client.query(`SET LOCAL lock_timeout = ${inLineMsMax}`);
    await client.query(metaTableSql);
    const stored = await schemaState(client);
    const newest = list.at(-1);
    const known = newest?.version ?? 0;
    refuseNewer(stored, known);
    if (newest !== undefined && stored.version < known) {
      await grow(client, stored, newest, list);
      await record(client, newest, now);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function grow(client: Client, stored: SchemaState, newest: Migration, list: readonly Migration[]): Promise<void> {
  await refuseWhileOlderLive(client, stored, newest);
  for (const { version, statements } of list) {
    if (version > stored.version) for (const statement of statements) await client.query(statement);
  }
}

/** Held until the commit, so that nobody comes meanwhile. @throws LedgerUnavailable */
async function refuseWhileOlderLive(client: Client, stored: SchemaState, { version, compatibleFrom }: Migration): Promise<void> {
  for (let known = stored.compatibleFrom; known < compatibleFrom; known += 1) {
    const { rows } = await client.query<{ free: boolean }>("SELECT pg_try_advisory_xact_lock($1, $2) AS free", [knownLock, known]);
    if (rows[0]?.free === true) continue;
    throw new LedgerUnavailable(
      `Replicas that know schemas up to ${known} live on this ledger, and schema ${version} asks for ${compatibleFrom}.`,
      { next: "put the version between in their place first, or stop them (SIGTERM lets them end in order), then start this one again" },
    );
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

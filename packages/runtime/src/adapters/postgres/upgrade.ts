// Looks at the schema of a database, and brings it up without starting a replica.
import type { Client } from "pg";
import { planFrom, type SchemaPlan } from "../transfer/schema-plan.ts";
import { patientConnection } from "./dump.ts";
import { migrate, refuseNewer, schemaState } from "./migrate.ts";
import { migrations, type Migration } from "./schema.ts";
import { asLedgerError } from "./store-errors.ts";

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  let client: Client | undefined;
  try {
    client = await patientConnection(url, "signalbox migrate");
    return await work(client);
  } catch (error) {
    throw asLedgerError(error);
  } finally {
    await client?.end().catch(() => undefined);
  }
}

/** Writes nothing. @throws LedgerUnavailable when it has a newer schema beside which this runtime cannot stand */
export function postgresSchema(url: string, list: readonly Migration[] = migrations): Promise<SchemaPlan> {
  return connected(url, async (client) => {
    const state = await schemaState(client);
    const plan = planFrom(state.version, list);
    refuseNewer(state, plan.newest);
    return plan;
  });
}

/** Replicas of the version before may go on beside it. */
export function migratePostgres(url: string, now: number): Promise<void> {
  return connected(url, (client) => migrate(client, now));
}

// Makes a database ready: its schema, its audit key, and the base of its outbox.
import type { Client } from "pg";
import type { AuditHead, Hmac } from "../../ledger/audit-chain.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { migrate } from "./migrate.ts";
import { outboxIdsPerTransaction } from "./outbox.ts";
import { connect, connectionConfig } from "./pool.ts";
import { asLedgerError } from "./store-errors.ts";

/** Rows of writers that were not closed; no process waits longer for the answer to a commit. */
const writerRowsKeptMs = 24 * 3_600_000;

/** Says which key the audit is made with, and nothing of the key. */
export function keyMarkOf(hmac: Hmac): string {
  return hmac("fingerprint of the audit key");
}

async function checkKeyFits(client: Client, hmac: Hmac): Promise<void> {
  const fingerprint = keyMarkOf(hmac);
  await client.query("INSERT INTO meta (name, value) VALUES ('audit_key', $1) ON CONFLICT DO NOTHING", [fingerprint]);
  const stored = await client.query<{ value: string }>("SELECT value FROM meta WHERE name = 'audit_key'");
  if (stored.rows[0]?.value === fingerprint) return;
  throw new LedgerUnavailable(
    "The audit key is not the one that this ledger's audit was made with.",
    { next: "restore the right audit.key from your backup; every replica of a ledger has the same one" },
  );
}

/** A database that was restored into another server has rows of transactions that this server has not come to yet. */
async function raiseOutbox(client: Client): Promise<void> {
  await client.query(
    `UPDATE outbox_base SET base = newest.transaction - pg_current_xact_id()::text::bigint + 1
      FROM (SELECT COALESCE(max(id), 0) / ${outboxIdsPerTransaction} AS transaction FROM events) AS newest
      WHERE newest.transaction >= base + pg_current_xact_id()::text::bigint`,
  );
}

/**
 * Brings the schema up and looks whether the audit key is the right one. @returns the heads of all audit chains
 * @throws LedgerUnavailable
 */
export async function openStore(url: string, hmac: Hmac, now: number): Promise<readonly AuditHead[]> {
  let client: Client | undefined;
  try {
    client = await connect(connectionConfig(url, "signalbox opening"), () => undefined);
    await migrate(client, now);
    await checkKeyFits(client, hmac);
    await raiseOutbox(client);
    await client.query("DELETE FROM writers WHERE opened_at < $1", [now - writerRowsKeptMs]);
    return (await client.query<AuditHead>("SELECT tenant, lane, seq, hash FROM audit_heads")).rows;
  } catch (error) {
    throw asLedgerError(error);
  } finally {
    await client?.end().catch(() => undefined);
  }
}

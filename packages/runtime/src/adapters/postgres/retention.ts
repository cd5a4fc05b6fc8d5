// Removes what retention has let go: ended calls with all that belongs to them, and deliveries that are over; and names the content that is still wanted.
import { openStates } from "../../call/types.ts";
import type { Ledger } from "../../ledger/port.ts";
import { inBlobSql } from "../sqlite/cache-schema.ts";
import { pendingSql } from "../sqlite/governance-schema.ts";
import { overTreesSql, ownCallSql, tablesOfSessions } from "../sqlite/retention.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { ofSessionSql } from "../sqlite/session-schema.ts";
import type { Db } from "./db.ts";
import type { ReadPool } from "./pool.ts";
import { byTimeSql } from "./schema/calls.ts";
import { deliveriesInOrderSql } from "./schema/guarded-indexes.ts";

export type Retention = Pick<Ledger, "trim" | "wantedContent">;

// What another replica is removing already is left to it.
const oldCalls = `SELECT call_id, CASE WHEN ${inBlobSql} THEN output_hash END AS blob FROM calls
  WHERE tenant = ? AND admitted_at < ? AND ${byTimeSql} AND settled_at < ? AND ${ownCallSql}
  ORDER BY admitted_at, call_id LIMIT ? FOR UPDATE SKIP LOCKED`;
const removeVotes = `DELETE FROM votes WHERE tenant = ? AND approval_id IN
  (SELECT approval_id FROM approvals WHERE tenant = ? AND call_id = ANY (?))`;
const tablesOfCalls = ["events", "attempts", "late_results", "stream_chunks", "host_events", "approvals", "calls"];

// A call that is being settled with the same result holds the blob until its commit: first wait for it, then look who needs it.
const holdBlobs = "SELECT 1 FROM blobs WHERE tenant = ? AND hash = ANY (?) ORDER BY hash FOR UPDATE";
const removeBlobs = `DELETE FROM blobs WHERE tenant = ? AND hash = ANY (?) AND NOT EXISTS
  (SELECT 1 FROM calls WHERE calls.tenant = blobs.tenant AND output_hash = blobs.hash AND ${inBlobSql})`;

const oldNotices = `SELECT id FROM notices WHERE tenant = ? AND at < ?
  ORDER BY at, id LIMIT ? FOR UPDATE SKIP LOCKED`;
const removeDeliveries = `DELETE FROM deliveries WHERE tenant = ? AND notice_id = ANY (?) AND ${deliveriesInOrderSql} AND NOT (${pendingSql})`;
const removeNotices = `DELETE FROM notices WHERE id = ANY (?) AND NOT EXISTS
  (SELECT 1 FROM deliveries WHERE deliveries.tenant = notices.tenant AND notice_id = notices.id AND ${deliveriesInOrderSql})`;

interface OldCall {
  readonly call_id: string;
  /** Of a result that stands in a blob; null for the others. */
  readonly blob: string | null;
}

async function removeCalls(tx: Db, tenant: string, before: number, limit: number): Promise<number> {
  return removeThese(tx, tenant, await tx.rows<OldCall>(oldCalls, [tenant, before, before, limit]));
}

async function removeThese(tx: Db, tenant: string, old: readonly OldCall[]): Promise<number> {
  if (old.length === 0) return 0;
  const callIds = old.map(({ call_id }) => call_id);
  await tx.run(removeVotes, [tenant, tenant, callIds]);
  for (const table of tablesOfCalls)
    await tx.run(`DELETE FROM ${table} WHERE tenant = ? AND call_id = ANY (?)`, [tenant, callIds]);
  const blobs = old.flatMap(({ blob }) => (blob === null ? [] : [blob]));
  if (blobs.length > 0) {
    await tx.rows(holdBlobs, [tenant, blobs]);
    await tx.run(removeBlobs, [tenant, blobs]);
  }
  return old.length;
}

const callsOfSessions = `SELECT call_id, CASE WHEN ${inBlobSql} THEN output_hash END AS blob FROM calls
  WHERE tenant = ? AND session_id = ANY (?) AND ${ofSessionSql} ORDER BY call_id FOR UPDATE`;
const treeSql = "SELECT session_id FROM sessions WHERE tenant = ? AND root_session_id = ? ORDER BY session_id FOR UPDATE";
const limitVotes = `DELETE FROM votes WHERE tenant = ? AND approval_id IN
  (SELECT approval_id FROM approvals WHERE tenant = ? AND session_id = ANY (?) AND session_id IS NOT NULL)`;
const limitApprovals = "DELETE FROM approvals WHERE tenant = ? AND session_id = ANY (?) AND session_id IS NOT NULL";

/** Whole trees, until enough is gone. */
async function removeTrees(tx: Db, tenant: string, before: number, limit: number): Promise<{ calls: number; sessions: number }> {
  const gone = { calls: 0, sessions: 0 };
  const roots = await tx.rows<{ readonly session_id: string }>(`${overTreesSql} FOR UPDATE SKIP LOCKED`, [tenant, before, before, before, before, limit]);
  for (const { session_id: root } of roots) {
    if (gone.calls >= limit || gone.sessions >= limit) break;
    const tree = (await tx.rows<{ readonly session_id: string }>(treeSql, [tenant, root])).map(({ session_id }) => session_id);
    gone.calls += await removeThese(tx, tenant, await tx.rows<OldCall>(callsOfSessions, [tenant, tree]));
    await tx.run(limitVotes, [tenant, tenant, tree]);
    await tx.run(limitApprovals, [tenant, tree]);
    for (const table of tablesOfSessions) await tx.run(`DELETE FROM ${table} WHERE tenant = ? AND session_id = ANY (?)`, [tenant, tree]);
    gone.sessions += tree.length;
  }
  return gone;
}

/** A notice goes with the last of its deliveries; one that is pending still keeps it. */
async function removeOver(tx: Db, tenant: string, before: number, limit: number): Promise<number> {
  const old = await tx.rows<{ readonly id: number }>(oldNotices, [tenant, before, limit]);
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  const gone = await tx.run(removeDeliveries, [tenant, ids]);
  await tx.run(removeNotices, [ids]);
  return gone;
}

const openSql = `state IN (${openStates.map((state) => `'${state}'`).join(", ")})`;
// One statement, and so one instant: a file that a call lets go while it puts it into a workspace is in either of the two.
const wanted = `SELECT 'file' AS kind, digest AS named FROM workspace_files WHERE tenant = ?
  UNION ALL SELECT 'files', files_json FROM calls
    WHERE tenant = ? AND ${openSql} AND ${notSucceededSql} AND files_json <> '[]'
  UNION ALL SELECT DISTINCT 'package', package_digest FROM tool_versions
    WHERE tenant = ? AND package_digest IS NOT NULL`;

interface Wanted {
  readonly kind: "file" | "files" | "package";
  readonly named: string;
}

export function retention(pool: ReadPool): Retention {
  return {
    trim: (tenant, before, limit) =>
      pool.transaction(async (tx) => {
        const calls = await removeCalls(tx, tenant, before, limit);
        const trees = await removeTrees(tx, tenant, before, limit);
        const deliveries = await removeOver(tx, tenant, before, limit);
        const more = [calls, trees.calls, trees.sessions, deliveries].some((gone) => gone >= limit);
        return { calls: calls + trees.calls, sessions: trees.sessions, deliveries, more };
      }),
    async wantedContent(tenant) {
      const files = new Set<string>();
      const packages = new Set<string>();
      for (const { kind, named } of await pool.rows<Wanted>(wanted, [tenant, tenant, tenant])) {
        if (kind === "file") files.add(named);
        else if (kind === "package") packages.add(named);
        else for (const { digest } of JSON.parse(named) as { readonly digest: string }[]) files.add(digest);
      }
      return { files, packages };
    },
  };
}

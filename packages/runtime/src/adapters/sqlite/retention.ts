// Removes what retention has let go: ended calls with all that belongs to them, and deliveries that are over.
import type { DatabaseSync } from "node:sqlite";
import { openStates } from "../../call/types.ts";
import type { Trimmed, WantedContent } from "../../ledger/retention.ts";
import { inBlobSql } from "./cache-schema.ts";
import { namedRows } from "./event-text.ts";
import type { SqlRow } from "./columns.ts";
import type { Prepared } from "./reads.ts";
import { longStreamSql, notSucceededSql } from "./schema.ts";
import { pendingSql } from "./governance-schema.ts";
import { ofSessionSql } from "./session-schema.ts";

const openSql = `state IN (${openStates.map((state) => `'${state}'`).join(", ")})`;

/** A session's calls go with the session. */
export const ownCallSql = "(session_id = '' OR NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.tenant = calls.tenant AND s.session_id = calls.session_id))";

/** Roots of trees in which all sessions have ended and all of their calls have, before an instant: takes the tenant, and the instant four times. */
export const overTreesSql = `SELECT session_id FROM sessions AS r WHERE tenant = ? AND created_at < ? AND ended_at < ? AND root_session_id = session_id
  AND NOT EXISTS (SELECT 1 FROM sessions AS m WHERE m.tenant = r.tenant AND m.root_session_id = r.session_id AND (m.ended_at IS NULL OR m.ended_at >= ?))
  AND NOT EXISTS (SELECT 1 FROM sessions AS m WHERE m.tenant = r.tenant AND m.root_session_id = r.session_id AND EXISTS (
    SELECT 1 FROM calls AS c WHERE c.tenant = m.tenant AND c.session_id = m.session_id AND c.${ofSessionSql} AND (c.settled_at IS NULL OR c.settled_at >= ?)))
  ORDER BY created_at, session_id LIMIT ?`;
export const tablesOfSessions = ["session_history", "session_inbox", "session_events", "session_journal", "sessions"] as const;

interface OldCall {
  readonly callId: string;
  readonly eventRows: string;
  /** Of a result that stands in a blob; null for the others. */
  readonly blob: string | null;
}

function oldCallOf(row: SqlRow): OldCall {
  return { callId: String(row["call_id"]), eventRows: String(row["event_rows"]), blob: row["blob"] === null ? null : String(row["blob"]) };
}

/** @returns removes at most `limit` calls, and as many deliveries, of one tenant in one transaction */
export function trimmer(db: DatabaseSync, prepared: Prepared): (tenant: string, before: number, limit: number) => Trimmed {
  const run = (sql: string, ...values: (string | number)[]): number => Number(prepared(sql).run(...values).changes);
  const oldCalls = (tenant: string, before: number, limit: number): OldCall[] =>
    prepared(
      `SELECT call_id, event_rows, CASE WHEN ${inBlobSql} THEN output_hash END AS blob FROM calls
        WHERE tenant = ? AND admitted_at < ? AND settled_at < ? AND ${ownCallSql} ORDER BY admitted_at, call_id LIMIT ?`,
    )
      .all(tenant, before, before, limit)
      .map(oldCallOf);
  const callsOf = (tenant: string, sessionId: string): OldCall[] =>
    prepared(`SELECT call_id, event_rows, CASE WHEN ${inBlobSql} THEN output_hash END AS blob FROM calls WHERE tenant = ? AND session_id = ? AND ${ofSessionSql}`)
      .all(tenant, sessionId)
      .map(oldCallOf);
  const removeCall = (tenant: string, { callId, eventRows, blob }: OldCall): void => {
    // The ids of events go on from the greatest one: the newest row stays until there is a newer one.
    for (const id of namedRows(eventRows, 0)) run("DELETE FROM events WHERE id = ? AND id < (SELECT max(id) FROM events)", id);
    run(`DELETE FROM events WHERE tenant = ? AND call_id = ? AND ${longStreamSql} AND id < (SELECT max(id) FROM events)`, tenant, callId);
    run("DELETE FROM votes WHERE tenant = ? AND approval_id IN (SELECT approval_id FROM approvals WHERE tenant = ? AND call_id = ?)", tenant, tenant, callId);
    for (const table of ["approvals", "attempts", "late_results", "stream_chunks", "host_events", "calls"]) run(`DELETE FROM ${table} WHERE tenant = ? AND call_id = ?`, tenant, callId);
    if (blob !== null)
      run(`DELETE FROM blobs WHERE tenant = ? AND hash = ? AND NOT EXISTS (SELECT 1 FROM calls WHERE tenant = ? AND output_hash = ? AND ${inBlobSql})`, tenant, blob, tenant, blob);
  };
  const removeSession = (tenant: string, sessionId: string): number => {
    const calls = callsOf(tenant, sessionId);
    for (const call of calls) removeCall(tenant, call);
    run(`DELETE FROM votes WHERE tenant = ? AND approval_id IN (SELECT approval_id FROM approvals WHERE tenant = ? AND session_id = ? AND session_id IS NOT NULL)`, tenant, tenant, sessionId);
    run("DELETE FROM approvals WHERE tenant = ? AND session_id = ? AND session_id IS NOT NULL", tenant, sessionId);
    for (const table of tablesOfSessions) run(`DELETE FROM ${table} WHERE tenant = ? AND session_id = ?`, tenant, sessionId);
    return calls.length;
  };
  /** Whole trees, until enough is gone. */
  const removeTrees = (tenant: string, before: number, limit: number): { calls: number; sessions: number } => {
    const gone = { calls: 0, sessions: 0 };
    for (const { session_id: root } of prepared(overTreesSql).all(tenant, before, before, before, before, limit)) {
      if (gone.calls >= limit || gone.sessions >= limit) break;
      const tree = prepared("SELECT session_id FROM sessions WHERE tenant = ? AND root_session_id = ?").all(tenant, String(root));
      for (const { session_id: sessionId } of tree) {
        gone.calls += removeSession(tenant, String(sessionId));
        gone.sessions += 1;
      }
    }
    return gone;
  };
  /** A notice goes with the last of its deliveries; one that is pending still keeps it. */
  const removeNotices = (tenant: string, before: number, limit: number): number => {
    const old = prepared("SELECT id FROM notices WHERE tenant = ? AND at < ? AND id < (SELECT max(id) FROM notices) ORDER BY at LIMIT ?").all(tenant, before, limit);
    let gone = 0;
    for (const { id } of old) {
      gone += run(`DELETE FROM deliveries WHERE tenant = ? AND notice_id = ? AND NOT (${pendingSql})`, tenant, Number(id));
      run("DELETE FROM notices WHERE id = ? AND NOT EXISTS (SELECT 1 FROM deliveries WHERE tenant = ? AND notice_id = ?)", Number(id), tenant, Number(id));
    }
    return gone;
  };
  return (tenant, before, limit) => {
    db.exec("BEGIN IMMEDIATE");
    try {
      const old = oldCalls(tenant, before, limit);
      for (const call of old) removeCall(tenant, call);
      const trees = removeTrees(tenant, before, limit);
      const deliveries = removeNotices(tenant, before, limit);
      db.exec("COMMIT");
      const more = [old.length, trees.calls, trees.sessions, deliveries].some((gone) => gone >= limit);
      return { calls: old.length + trees.calls, sessions: trees.sessions, deliveries, more };
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };
}

/** What of the content store something still names. */
export function wantedContent(prepared: Prepared, tenant: string): WantedContent {
  const texts = (sql: string): string[] => prepared(sql).all(tenant).map((row) => String(Object.values(row)[0]));
  const files = new Set(texts("SELECT digest FROM workspace_files WHERE tenant = ?"));
  for (const json of texts(`SELECT files_json FROM calls WHERE tenant = ? AND ${openSql} AND ${notSucceededSql} AND files_json <> '[]'`))
    for (const { digest } of JSON.parse(json) as { readonly digest: string }[]) files.add(digest);
  return { files, packages: new Set(texts("SELECT DISTINCT package_digest FROM tool_versions WHERE tenant = ? AND package_digest IS NOT NULL")) };
}

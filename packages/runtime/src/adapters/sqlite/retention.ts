// Removes what retention has let go: ended calls with all that belongs to them, and deliveries that are over.
import type { DatabaseSync } from "node:sqlite";
import { openStates } from "../../call/types.ts";
import type { Trimmed, WantedContent } from "../../ledger/retention.ts";
import { inBlobSql } from "./cache-schema.ts";
import { namedRows } from "./event-text.ts";
import type { Prepared } from "./reads.ts";
import { longStreamSql, notSucceededSql } from "./schema.ts";
import { pendingSql } from "./governance-schema.ts";

const openSql = `state IN (${openStates.map((state) => `'${state}'`).join(", ")})`;

interface OldCall {
  readonly callId: string;
  readonly eventRows: string;
  /** Of a result that stands in a blob; null for the others. */
  readonly blob: string | null;
}

/** @returns removes at most `limit` calls, and as many deliveries, of one tenant in one transaction */
export function trimmer(db: DatabaseSync, prepared: Prepared): (tenant: string, before: number, limit: number) => Trimmed {
  const run = (sql: string, ...values: (string | number)[]): number => Number(prepared(sql).run(...values).changes);
  const oldCalls = (tenant: string, before: number, limit: number): OldCall[] =>
    prepared(
      `SELECT call_id, event_rows, CASE WHEN ${inBlobSql} THEN output_hash END AS blob FROM calls
        WHERE tenant = ? AND admitted_at < ? AND settled_at < ? ORDER BY admitted_at, call_id LIMIT ?`,
    )
      .all(tenant, before, before, limit)
      .map((row) => ({ callId: String(row["call_id"]), eventRows: String(row["event_rows"]), blob: row["blob"] === null ? null : String(row["blob"]) }));
  const removeCall = (tenant: string, { callId, eventRows, blob }: OldCall): void => {
    // The ids of events go on from the greatest one: the newest row stays until there is a newer one.
    for (const id of namedRows(eventRows, 0)) run("DELETE FROM events WHERE id = ? AND id < (SELECT max(id) FROM events)", id);
    run(`DELETE FROM events WHERE tenant = ? AND call_id = ? AND ${longStreamSql} AND id < (SELECT max(id) FROM events)`, tenant, callId);
    run("DELETE FROM votes WHERE tenant = ? AND approval_id IN (SELECT approval_id FROM approvals WHERE tenant = ? AND call_id = ?)", tenant, tenant, callId);
    for (const table of ["approvals", "attempts", "late_results", "stream_chunks", "calls"]) run(`DELETE FROM ${table} WHERE tenant = ? AND call_id = ?`, tenant, callId);
    if (blob !== null)
      run(`DELETE FROM blobs WHERE tenant = ? AND hash = ? AND NOT EXISTS (SELECT 1 FROM calls WHERE tenant = ? AND output_hash = ? AND ${inBlobSql})`, tenant, blob, tenant, blob);
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
      const deliveries = removeNotices(tenant, before, limit);
      db.exec("COMMIT");
      return { calls: old.length, deliveries, more: old.length === limit || deliveries >= limit };
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

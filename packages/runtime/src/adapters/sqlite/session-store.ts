// Reads sessions and what belongs to them, and gives out the leases on them.
import type { DatabaseSync } from "node:sqlite";
import type { Call } from "../../call/types.ts";
import type { Page } from "../../ledger/page.ts";
import type { SessionClaim, SessionFilter } from "../../ledger/sessions.ts";
import type { Approval } from "../../policy/approval/types.ts";
import type { HostEvent, Session, SessionEvent } from "../../session/types.ts";
import { listedApproval } from "./approval-reads.ts";
import { decode, selectList } from "./columns.ts";
import { approvalColumns, approvalOfRow, type ApprovalRow } from "./governance-columns.ts";
import { conditions, pageOf } from "./paging.ts";
import { callOf, rowReader, wholeCall, type Prepared } from "./reads.ts";
import {
  byEffectNumber,
  effectOf,
  historyItemOf,
  hostEventColumns,
  inboxColumns,
  inboxEntryOf,
  journalColumns,
  listedSession,
  sessionColumns,
  sessionEventColumns,
} from "./session-columns.ts";
import { isChildSql, mayWorkSql, notEndedSql, ofSessionSql } from "./session-schema.ts";

export function sessionReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    session: (tenant: string, sessionId: string) => rows<Session>(sessionColumns, "sessions WHERE tenant = ? AND session_id = ?", tenant, sessionId).at(0),
    sessionByKey: (tenant: string, project: string, key: string) =>
      rows<Session>(sessionColumns, "sessions WHERE tenant = ? AND project = ? AND idempotency_key = ?", tenant, project, key).at(0),
    listSessions(filter: SessionFilter, limit: number, cursor?: string): Page<Session> {
      const where = sessionConditions(filter, cursor);
      const found = prepared(`SELECT ${listedSession} FROM sessions WHERE ${where.sql()} ORDER BY created_at DESC, session_id DESC LIMIT ?`)
        .all(...where.values(), limit + 1)
        .map((row) => decode<Session>(sessionColumns, row));
      return pageOf(found, limit, ({ createdAt, sessionId }) => [createdAt, sessionId]);
    },
    ...partsOfSessions(prepared),
    ...callsOfSessions(prepared),
  };
}

export function sessionConditions(filter: SessionFilter, cursor: string | undefined) {
  const where = conditions()
    .equal("tenant", filter.tenant)
    .equal("parent_session_id", filter.parentSessionId)
    .equal("project", filter.project)
    .equal("agent", filter.agent)
    .equal("state", filter.state)
    .equal("principal", filter.principal)
    .before(["created_at", "session_id"], cursor);
  return (filter.parentSessionId ?? "") === "" ? where : where.also(isChildSql);
}

function partsOfSessions(prepared: Prepared) {
  const rows = rowReader(prepared);
  const inbox = `SELECT ${selectList(inboxColumns)} FROM session_inbox WHERE tenant = ? AND session_id = ?`;
  const journal = `SELECT ${selectList(journalColumns)} FROM session_journal WHERE tenant = ? AND session_id = ?`;
  return {
    history: (tenant: string, sessionId: string, from: number, limit: number) =>
      prepared("SELECT item_json FROM session_history WHERE tenant = ? AND session_id = ? AND place >= ? ORDER BY place LIMIT ?")
        .all(tenant, sessionId, from, limit)
        .map(historyItemOf),
    inbox: (tenant: string, sessionId: string, afterSeq: number, limit: number) =>
      prepared(`${inbox} AND seq > ? ORDER BY seq LIMIT ?`)
        .all(tenant, sessionId, afterSeq, limit)
        .map(inboxEntryOf),
    inboxByKey(tenant: string, sessionId: string, idempotencyKey: string) {
      const row = prepared(`${inbox} AND idempotency_key = ?`).get(tenant, sessionId, idempotencyKey);
      return row === undefined ? undefined : inboxEntryOf(row);
    },
    sessionEvents: (tenant: string, sessionId: string, afterSeq: number, limit: number): readonly SessionEvent[] =>
      rows<SessionEvent>(sessionEventColumns, "session_events WHERE tenant = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?", tenant, sessionId, afterSeq, limit),
    effect(tenant: string, sessionId: string, key: string) {
      const row = prepared(`${journal} AND effect_key = ?`).get(tenant, sessionId, key);
      return row === undefined ? undefined : effectOf(row);
    },
    journal: (tenant: string, sessionId: string) => prepared(journal).all(tenant, sessionId).map(effectOf).sort(byEffectNumber),
  };
}

function callsOfSessions(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    hostEvents: (tenant: string, callIds: readonly string[]): readonly HostEvent[] =>
      rows<HostEvent>(
        hostEventColumns,
        "host_events WHERE tenant = ? AND call_id IN (SELECT value FROM json_each(?)) ORDER BY call_id, ordinal, type",
        tenant,
        JSON.stringify(callIds),
      ),
    sessionCalls: (tenant: string, sessionId: string): readonly Call[] =>
      prepared(`SELECT ${wholeCall} WHERE c.tenant = ? AND c.session_id = ? AND c.${ofSessionSql} ORDER BY c.turn, c.step, c.call_index, c.call_id`)
        .all(tenant, sessionId)
        .map(callOf),
    sessionApprovals: (tenant: string, sessionId: string): readonly Approval[] =>
      prepared(`SELECT ${listedApproval} FROM approvals WHERE tenant = ? AND session_id = ? AND session_id IS NOT NULL ORDER BY opened_at, approval_id`)
        .all(tenant, sessionId)
        .map((row) => approvalOfRow(decode<ApprovalRow>(approvalColumns, row))),
  };
}

/** Nobody looks after it, and there is something to do. */
export const idleSql = `${notEndedSql} AND ${mayWorkSql} AND (replica IS NULL OR lease_expires_at <= ?) AND (
  state IN ('running', 'awaiting_tool')
  OR inbox_seq > inbox_taken AND (state <> 'awaiting_approval' OR EXISTS (SELECT 1 FROM session_inbox AS i
    WHERE i.tenant = sessions.tenant AND i.session_id = sessions.session_id AND i.seq > sessions.inbox_taken AND i.wish_json LIKE '%"type":"cancel"%'))
  OR state = 'awaiting_approval'
    AND NOT EXISTS (SELECT 1 FROM calls AS c WHERE c.tenant = sessions.tenant AND c.session_id = sessions.session_id
      AND c.${ofSessionSql} AND c.state IN ('awaiting_approval', 'indeterminate'))
    AND NOT EXISTS (SELECT 1 FROM approvals AS a WHERE a.tenant = sessions.tenant AND a.session_id = sessions.session_id
      AND a.session_id IS NOT NULL AND a.subject_kind = 'limit' AND a.state = 'pending'))`;

/** Each is one statement, and so one transaction: units are written in one turn of the event loop, so none is open here. */
export function sessionLeases(db: DatabaseSync) {
  const claim = db.prepare(
    `UPDATE sessions SET fence = fence + 1, replica = ?, lease_expires_at = ?
      WHERE tenant = ? AND session_id = ? AND ${notEndedSql} AND (replica IS NULL OR replica = ? OR lease_expires_at <= ?)
      RETURNING ${selectList(sessionColumns)}`,
  );
  const renew = db.prepare(
    `UPDATE sessions SET lease_expires_at = ?1 WHERE ${notEndedSql} AND replica = ?2 AND (tenant, session_id, fence) IN
      (SELECT value ->> 'tenant', value ->> 'sessionId', value ->> 'fence' FROM json_each(?3)) RETURNING tenant, session_id`,
  );
  const free = db.prepare(`UPDATE sessions SET replica = NULL, lease_expires_at = NULL WHERE ${notEndedSql} AND replica = ?`);
  const idle = db.prepare(`SELECT tenant, session_id FROM sessions WHERE ${idleSql} ORDER BY updated_at, tenant, session_id LIMIT ?`);
  const named = (row: Readonly<Record<string, unknown>>) => ({ tenant: String(row["tenant"]), sessionId: String(row["session_id"]) });
  return {
    claimSession({ tenant, sessionId, replica, now, leaseMs }: SessionClaim): Session | undefined {
      const row = claim.get(replica, now + leaseMs, tenant, sessionId, replica, now);
      return row === undefined ? undefined : decode<Session>(sessionColumns, row);
    },
    renewSessions: (replica: string, sessions: readonly { readonly tenant: string; readonly sessionId: string; readonly fence: number }[], leaseExpiresAt: number) =>
      renew.all(leaseExpiresAt, replica, JSON.stringify(sessions)).map(named),
    freeSessions: (replica: string) => Number(free.run(replica).changes),
    idleSessions: (now: number, limit: number) => idle.all(now, limit).map(named),
  };
}

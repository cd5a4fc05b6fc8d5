// Reads sessions and what belongs to them, and gives out the leases on them.
import type { SessionReads } from "../../ledger/sessions.ts";
import type { HostEvent, Session, SessionEvent } from "../../session/types.ts";
import { listedApproval } from "../sqlite/approval-reads.ts";
import { decode, selectList } from "../sqlite/columns.ts";
import { approvalColumns, approvalOfRow, type ApprovalRow } from "../sqlite/governance-columns.ts";
import { pageOf } from "../sqlite/paging.ts";
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
} from "../sqlite/session-columns.ts";
import { notEndedSql, ofSessionSql } from "../sqlite/session-schema.ts";
import { idleSql, sessionConditions } from "../sqlite/session-store.ts";
import { callOf, rowsOf, wholeCallBlob, wholeCallColumns } from "./call-reads.ts";
import { storeNowSql } from "./clock.ts";
import { fittingCursor } from "./cursors.ts";
import { firstRow, type Db } from "./db.ts";
import type { ReadPool } from "./pool.ts";

type RowReads = Pick<SessionReads, "session" | "sessionByKey" | "listSessions">;
type PartReads = Pick<SessionReads, "history" | "inbox" | "inboxByKey" | "sessionEvents" | "effect" | "journal">;
type CallReads = Pick<SessionReads, "hostEvents" | "sessionCalls" | "sessionApprovals">;
type Leases = Pick<SessionReads, "claimSession" | "renewSessions" | "freeSessions" | "idleSessions">;

export function sessionReads(pool: ReadPool): RowReads & PartReads & CallReads & Leases {
  return { ...rowReads(pool), ...partReads(pool), ...callReads(pool), ...sessionLeases(pool) };
}

function rowReads(db: Db): RowReads {
  const one = async (rest: string, ...params: string[]) => (await rowsOf<Session>(db, sessionColumns, `sessions WHERE ${rest}`, ...params)).at(0);
  return {
    session: (tenant, sessionId) => one("tenant = ? AND session_id = ?", tenant, sessionId),
    sessionByKey: (tenant, project, key) => one("tenant = ? AND project = ? AND idempotency_key = ?", tenant, project, key),
    async listSessions(filter, limit, cursor) {
      const where = sessionConditions(filter, fittingCursor(cursor, "number", "text"));
      const sql = `SELECT ${listedSession} FROM sessions WHERE ${where.sql()} ORDER BY created_at DESC, session_id DESC LIMIT ?`;
      const found = (await db.rows(sql, [...where.values(), limit + 1])).map((row) => decode<Session>(sessionColumns, row));
      return pageOf(found, limit, ({ createdAt, sessionId }) => [createdAt, sessionId]);
    },
  };
}

const inboxSql = `SELECT ${selectList(inboxColumns)} FROM session_inbox WHERE tenant = ? AND session_id = ?`;
const journalSql = `SELECT ${selectList(journalColumns)} FROM session_journal WHERE tenant = ? AND session_id = ?`;

function partReads(db: Db): PartReads {
  return {
    async history(tenant, sessionId, from, limit) {
      const sql = "SELECT item_json FROM session_history WHERE tenant = ? AND session_id = ? AND place >= ? ORDER BY place LIMIT ?";
      return (await db.rows(sql, [tenant, sessionId, from, limit])).map(historyItemOf);
    },
    async inbox(tenant, sessionId, afterSeq, limit) {
      return (await db.rows(`${inboxSql} AND seq > ? ORDER BY seq LIMIT ?`, [tenant, sessionId, afterSeq, limit])).map(inboxEntryOf);
    },
    async inboxByKey(tenant, sessionId, idempotencyKey) {
      const row = await firstRow(db, `${inboxSql} AND idempotency_key = ?`, [tenant, sessionId, idempotencyKey]);
      return row === undefined ? undefined : inboxEntryOf(row);
    },
    sessionEvents: (tenant, sessionId, afterSeq, limit) =>
      rowsOf<SessionEvent>(db, sessionEventColumns, "session_events WHERE tenant = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?", tenant, sessionId, afterSeq, limit),
    async effect(tenant, sessionId, key) {
      const row = await firstRow(db, `${journalSql} AND effect_key = ?`, [tenant, sessionId, key]);
      return row === undefined ? undefined : effectOf(row);
    },
    journal: async (tenant, sessionId) => (await db.rows(journalSql, [tenant, sessionId])).map(effectOf).sort(byEffectNumber),
  };
}

function callReads(db: Db): CallReads {
  return {
    hostEvents: (tenant, callIds) =>
      rowsOf<HostEvent>(db, hostEventColumns, "host_events WHERE tenant = ? AND call_id = ANY (?) ORDER BY call_id, ordinal, type", tenant, callIds),
    async sessionCalls(tenant, sessionId) {
      const sql = `SELECT ${wholeCallColumns} FROM calls AS c ${wholeCallBlob}
        WHERE c.tenant = ? AND c.session_id = ? AND c.${ofSessionSql} ORDER BY c.turn, c.step, c.call_index, c.call_id`;
      return (await db.rows(sql, [tenant, sessionId])).map(callOf);
    },
    async sessionApprovals(tenant, sessionId) {
      const sql = `SELECT ${listedApproval} FROM approvals WHERE tenant = ? AND session_id = ? AND session_id IS NOT NULL ORDER BY opened_at, approval_id`;
      return (await db.rows(sql, [tenant, sessionId])).map((row) => approvalOfRow(decode<ApprovalRow>(approvalColumns, row)));
    },
  };
}

// A lease is over when both the asking replica's clock and the store's say so: one whose clock is fast takes nothing too early.
const overSql = `least(?::bigint, ${storeNowSql})`;
const claimSql = `UPDATE sessions SET fence = fence + 1, replica = ?, lease_expires_at = ?
  WHERE tenant = ? AND session_id = ? AND ${notEndedSql} AND (replica IS NULL OR replica = ? OR lease_expires_at <= ${overSql})
  RETURNING ${selectList(sessionColumns)}`;
// Rows are held in the order in which units hold them.
const renewSql = `UPDATE sessions AS s SET lease_expires_at = ? FROM (
    SELECT s.tenant, s.session_id FROM sessions AS s
      JOIN json_to_recordset(?::json) AS r(tenant text, session_id text, held bigint) ON s.tenant = r.tenant AND s.session_id = r.session_id
      WHERE s.replica = ? AND s.fence = r.held AND s.${notEndedSql} ORDER BY s.tenant, s.session_id FOR UPDATE OF s
  ) AS held WHERE s.tenant = held.tenant AND s.session_id = held.session_id RETURNING s.tenant, s.session_id AS "sessionId"`;
const freeSql = `UPDATE sessions AS s SET replica = NULL, lease_expires_at = NULL FROM (
    SELECT tenant, session_id FROM sessions WHERE replica = ? AND ${notEndedSql} ORDER BY tenant, session_id FOR UPDATE
  ) AS held WHERE s.tenant = held.tenant AND s.session_id = held.session_id RETURNING s.tenant, s.session_id AS "sessionId"`;
const idleSessionsSql = `SELECT tenant, session_id AS "sessionId" FROM sessions WHERE ${idleSql.replace("?", overSql)}
  ORDER BY updated_at, tenant, session_id LIMIT ?`;

type Named = { readonly tenant: string; readonly sessionId: string };

function sessionLeases(pool: ReadPool): Leases {
  return {
    claimSession: ({ tenant, sessionId, replica, now, leaseMs }) =>
      pool.transaction(async (tx) => {
        const row = await firstRow(tx, claimSql, [replica, now + leaseMs, tenant, sessionId, replica, now]);
        return row === undefined ? undefined : decode<Session>(sessionColumns, row);
      }),
    async renewSessions(replica, sessions, leaseExpiresAt) {
      if (sessions.length === 0) return [];
      const held = sessions.map(({ tenant, sessionId, fence }) => ({ tenant, session_id: sessionId, held: fence }));
      return pool.transaction((tx) => tx.rows<Named>(renewSql, [leaseExpiresAt, JSON.stringify(held), replica]));
    },
    freeSessions: (replica) => pool.transaction(async (tx) => (await tx.rows<Named>(freeSql, [replica])).length),
    idleSessions: (now, limit) => pool.rows<Named>(idleSessionsSql, [now, limit]),
  };
}

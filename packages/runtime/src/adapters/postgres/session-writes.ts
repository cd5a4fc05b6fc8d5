// Writes sessions under their fence, what is put into their inboxes, and the journal of their effects; their rows are held already (session-locks.ts).
import type { HostEvent, SessionEvent } from "../../session/types.ts";
import type { Write } from "../../ledger/port.ts";
import { encode, insertSql } from "../sqlite/columns.ts";
import {
  hostEventColumns,
  inboxColumns,
  journalColumns,
  rowOfEffect,
  rowOfInbox,
  sessionColumns,
  sessionEventColumns,
  sessionProgressColumns,
} from "../sqlite/session-columns.ts";
import { stepOf } from "../sqlite/session-plan.ts";
import { notEndedSql } from "../sqlite/session-schema.ts";
import { claimEffectTail } from "../sqlite/session-writes.ts";
import { firstRow, storable, type Db } from "./db.ts";
import { insertRecordsSql, recordColumns, recordOf, type RecordColumn } from "./records.ts";
import type { WritersOf } from "./writers-of.ts";

type SessionOp = "insert_session" | "update_session" | "put_inbox" | "claim_effect" | "complete_effect";

const insert = insertSql("sessions", [...sessionColumns, { name: "root_session_id" }], "ON CONFLICT DO NOTHING");
const rootOf = "SELECT root_session_id FROM sessions WHERE tenant = ? AND session_id = ?";
const sets = sessionProgressColumns.map(({ name }) => `${name} = ?`).join(", ");
const guard = `tenant = ? AND session_id = ? AND fence = ? AND ${notEndedSql} AND history_length = ? AND event_seq = ? AND inbox_seq = COALESCE(?::bigint, inbox_seq)`;
const update = `UPDATE sessions SET ${sets} WHERE ${guard}`;
const release = `UPDATE sessions SET ${sets}, replica = NULL, lease_expires_at = NULL WHERE ${guard}`;
const keyUsed = "SELECT 1 FROM session_inbox WHERE tenant = ? AND session_id = ? AND idempotency_key = ?";
const count = `UPDATE sessions SET inbox_seq = inbox_seq + 1 WHERE tenant = ? AND session_id = ? AND ${notEndedSql} RETURNING inbox_seq`;
const put = insertSql("session_inbox", inboxColumns);
const hasFence = "SELECT 1 FROM sessions WHERE tenant = ? AND session_id = ? AND fence = ?";
const claim = insertSql("session_journal", journalColumns, claimEffectTail);
const complete = `UPDATE session_journal SET state = 'completed', completed_at = ?, outcome_json = ?
  WHERE tenant = ? AND session_id = ? AND effect_key = ? AND state = 'claimed' AND fence = ?`;

export const sessionWriters: WritersOf<SessionOp> = {
  async insert_session(tx, { row }) {
    const root = row.parentSessionId === "" ? undefined : await firstRow(tx, rootOf, [row.tenant, row.parentSessionId]);
    return (await tx.run(insert, [...encode(sessionColumns, row), String(root?.["root_session_id"] ?? row.sessionId)])) === 1;
  },
  async update_session(tx, { row, expect, release: gives }, { steps }) {
    const { tenant, sessionId } = row;
    const { items = 0, events = 0 } = stepOf(steps, tenant, sessionId) ?? {};
    const before = [row.historyLength - items, row.eventSeq - events];
    const values = [...encode(sessionProgressColumns, row), tenant, sessionId, expect.fence, ...before, expect.inboxSeq ?? null];
    return (await tx.run(gives ? release : update, values)) === 1;
  },
  async put_inbox(tx, { entry }) {
    const { tenant, sessionId, idempotencyKey } = entry;
    if (idempotencyKey !== null && (await firstRow(tx, keyUsed, [tenant, sessionId, idempotencyKey])) !== undefined) return false;
    const counted = await firstRow(tx, count, [tenant, sessionId]);
    if (counted === undefined) return false;
    await tx.run(put, encode(inboxColumns, rowOfInbox({ ...entry, seq: Number(counted["inbox_seq"]) })));
    return true;
  },
  async claim_effect(tx, { row, now }) {
    if ((await firstRow(tx, hasFence, [row.tenant, row.sessionId, row.fence])) === undefined) return false;
    return (await tx.run(claim, [...encode(journalColumns, rowOfEffect(row)), now])) === 1;
  },
  async complete_effect(tx, { tenant, sessionId, key, fence, at, outcomeJson }) {
    if ((await firstRow(tx, hasFence, [tenant, sessionId, fence])) === undefined) return false;
    return (await tx.run(complete, [at, outcomeJson, tenant, sessionId, key, fence])) === 1;
  },
};

/** What sessions and their calls add to lists; written once for the whole transaction. */
export type SessionAppend = Extract<Write, { readonly op: "append_history" | "append_session_event" | "put_host_event" }>;

export function isSessionAppend(write: Write): write is SessionAppend {
  return write.op === "append_history" || write.op === "append_session_event" || write.op === "put_host_event";
}

const historyRecord: readonly RecordColumn[] = [
  { name: "tenant", type: "text" },
  { name: "session_id", type: "text" },
  { name: "place", type: "bigint" },
  { name: "item_json", type: "text" },
];
const insertHistory = insertRecordsSql("session_history", historyRecord);
const insertEvents = insertRecordsSql("session_events", recordColumns(sessionEventColumns));
const insertHostEvents = insertRecordsSql("host_events", recordColumns(hostEventColumns), "ON CONFLICT DO NOTHING");

/** One statement for each of the three lists, where there is something for it. */
export async function writeAppends(tx: Db, appends: readonly SessionAppend[]): Promise<void> {
  const items: object[] = [];
  const told: SessionEvent[] = [];
  const emitted: HostEvent[] = [];
  for (const write of appends) {
    if (write.op === "append_session_event") told.push(write.event);
    else if (write.op === "put_host_event") emitted.push(write.row);
    else items.push({ tenant: write.tenant, session_id: write.sessionId, place: write.at, item_json: storable(JSON.stringify(write.item)) });
  }
  const sent: Promise<unknown>[] = [];
  if (items.length > 0) sent.push(tx.run(insertHistory, [JSON.stringify(items)]));
  if (told.length > 0) sent.push(tx.run(insertEvents, [JSON.stringify(told.map((event) => recordOf(sessionEventColumns, event)))]));
  if (emitted.length > 0) sent.push(tx.run(insertHostEvents, [JSON.stringify(emitted.map((row) => recordOf(hostEventColumns, row)))]));
  await Promise.all(sent);
}

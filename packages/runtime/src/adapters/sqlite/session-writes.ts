// Writes sessions under their fence, what is put into their inboxes, and what they say, tell and do.
import type { DatabaseSync } from "node:sqlite";
import { encode, insertSql } from "./columns.ts";
import {
  hostEventColumns,
  inboxColumns,
  journalColumns,
  rowOfEffect,
  rowOfInbox,
  sessionColumns,
  sessionEventColumns,
  sessionProgressColumns,
} from "./session-columns.ts";
import { stepOf } from "./session-plan.ts";
import { notEndedSql } from "./session-schema.ts";
import type { WritersOf } from "./writers-of.ts";

type RowOp = "insert_session" | "update_session" | "put_inbox";
type EffectOp = "claim_effect" | "complete_effect";
type AppendOp = "append_history" | "append_session_event" | "put_host_event";

export function sessionWriters(db: DatabaseSync): WritersOf<RowOp | EffectOp | AppendOp> {
  return { ...rowWriters(db), ...effectWriters(db), ...appendWriters(db) };
}

function rowWriters(db: DatabaseSync): WritersOf<RowOp> {
  const insert = db.prepare(insertSql("sessions", [...sessionColumns, { name: "root_session_id" }], "ON CONFLICT DO NOTHING"));
  const rootOf = db.prepare("SELECT root_session_id FROM sessions WHERE tenant = ? AND session_id = ?");
  const sets = sessionProgressColumns.map(({ name }) => `${name} = ?`).join(", ");
  const guard = `tenant = ? AND session_id = ? AND fence = ? AND ${notEndedSql} AND history_length = ? AND event_seq = ? AND inbox_seq = COALESCE(?, inbox_seq)`;
  const update = db.prepare(`UPDATE sessions SET ${sets} WHERE ${guard}`);
  const release = db.prepare(`UPDATE sessions SET ${sets}, replica = NULL, lease_expires_at = NULL WHERE ${guard}`);
  const keyUsed = db.prepare("SELECT 1 FROM session_inbox WHERE tenant = ? AND session_id = ? AND idempotency_key = ?");
  const count = db.prepare(`UPDATE sessions SET inbox_seq = inbox_seq + 1 WHERE tenant = ? AND session_id = ? AND ${notEndedSql} RETURNING inbox_seq`);
  const put = db.prepare(insertSql("session_inbox", inboxColumns));
  return {
    insert_session({ row }) {
      const root = row.parentSessionId === "" ? undefined : rootOf.get(row.tenant, row.parentSessionId);
      return insert.run(...encode(sessionColumns, row), String(root?.["root_session_id"] ?? row.sessionId)).changes === 1;
    },
    update_session({ row, expect, release: gives }, { steps }) {
      const { tenant, sessionId } = row;
      const { items = 0, events = 0 } = stepOf(steps, tenant, sessionId) ?? {};
      const before = [row.historyLength - items, row.eventSeq - events] as const;
      const values = encode(sessionProgressColumns, row);
      return (gives ? release : update).run(...values, tenant, sessionId, expect.fence, ...before, expect.inboxSeq ?? null).changes === 1;
    },
    put_inbox({ entry }) {
      const { tenant, sessionId, idempotencyKey } = entry;
      if (idempotencyKey !== null && keyUsed.get(tenant, sessionId, idempotencyKey) !== undefined) return false;
      const counted = count.get(tenant, sessionId);
      if (counted === undefined) return false;
      put.run(...encode(inboxColumns, rowOfInbox({ ...entry, seq: Number(counted["inbox_seq"]) })));
      return true;
    },
  };
}

const hasFenceSql = "SELECT 1 FROM sessions WHERE tenant = ? AND session_id = ? AND fence = ?";
const claimed = journalColumns.filter(({ field }) => !["tenant", "sessionId", "effectKey"].includes(field));
/** The instant is bound last. A claim that was left behind is taken over whole. */
export const claimEffectTail = `ON CONFLICT (tenant, session_id, effect_key) DO UPDATE SET ${claimed.map(({ name }) => `${name} = excluded.${name}`).join(", ")}
  WHERE session_journal.state = 'claimed' AND (session_journal.fence < excluded.fence OR session_journal.claim_expires_at <= ?)`;

function effectWriters(db: DatabaseSync): WritersOf<EffectOp> {
  const hasFence = db.prepare(hasFenceSql);
  const claim = db.prepare(insertSql("session_journal", journalColumns, claimEffectTail));
  const complete = db.prepare(
    `UPDATE session_journal SET state = 'completed', completed_at = ?, outcome_json = ?
      WHERE tenant = ? AND session_id = ? AND effect_key = ? AND state = 'claimed' AND fence = ?`,
  );
  return {
    claim_effect({ row, now }) {
      if (hasFence.get(row.tenant, row.sessionId, row.fence) === undefined) return false;
      return claim.run(...encode(journalColumns, rowOfEffect(row)), now).changes === 1;
    },
    complete_effect({ tenant, sessionId, key, fence, at, outcomeJson }) {
      if (hasFence.get(tenant, sessionId, fence) === undefined) return false;
      return complete.run(at, outcomeJson, tenant, sessionId, key, fence).changes === 1;
    },
  };
}

function appendWriters(db: DatabaseSync): WritersOf<AppendOp> {
  const item = db.prepare("INSERT INTO session_history (tenant, session_id, place, item_json) VALUES (?, ?, ?, ?)");
  const told = db.prepare(insertSql("session_events", sessionEventColumns));
  const emitted = db.prepare(insertSql("host_events", hostEventColumns, "ON CONFLICT DO NOTHING"));
  return {
    append_history(write) {
      item.run(write.tenant, write.sessionId, write.at, JSON.stringify(write.item));
      return true;
    },
    append_session_event({ event }) {
      told.run(...encode(sessionEventColumns, event));
      return true;
    },
    put_host_event({ row }) {
      emitted.run(...encode(hostEventColumns, row));
      return true;
    },
  };
}

// Reads what hangs on a call: its attempts, late results and events; and the outbox, which is the events in their order.
import type { Attempt, CallEvent, LateResult } from "../../call/types.ts";
import type { Ledger, OutboxRow } from "../../ledger/port.ts";
import { attemptFacts, attemptOf, type AttemptFacts } from "../sqlite/attempt-of.ts";
import { attemptColumns, callColumns, decode, lateResultColumns, outboxColumns, selectList } from "../sqlite/columns.ts";
import { eventsOfText } from "../sqlite/event-text.ts";
import { rowsOf } from "./call-reads.ts";
import { firstRow, type Db, type SqlRow } from "./db.ts";
import { outboxIdsPerTransaction } from "./outbox.ts";

const factColumns = callColumns.filter(({ field }) => (attemptFacts as readonly string[]).includes(field));

/** The attempt that the call's own row tells of. */
function toldByRow(row: SqlRow): Attempt | null {
  const { lease_accepted_at: acceptedAt, lease_end_reason: endReason } = row;
  return attemptOf(
    decode<AttemptFacts>(factColumns, row),
    typeof acceptedAt === "number" ? acceptedAt : null,
    typeof endReason === "string" ? endReason : null,
  );
}

export type TrailReads = Pick<Ledger, "attempts" | "lateResults" | "events" | "outbox">;

export function trailReads(db: Db): TrailReads {
  return {
    async attempts(tenant, callId) {
      const ended = await rowsOf<Attempt>(db, attemptColumns, "attempts WHERE tenant = ? AND call_id = ? ORDER BY fence", tenant, callId);
      const row = await firstRow(
        db,
        `SELECT ${selectList(factColumns)}, lease_accepted_at, lease_end_reason FROM calls WHERE tenant = ? AND call_id = ?`,
        [tenant, callId],
      );
      const told = row === undefined ? null : toldByRow(row);
      return told === null || ended.some(({ fence }) => fence === told.fence) ? ended : [...ended, told];
    },
    lateResults: (tenant, callId) =>
      rowsOf<LateResult>(db, lateResultColumns, "late_results WHERE tenant = ? AND call_id = ? ORDER BY fence", tenant, callId),
    async events(tenant, callId, afterSeq, limit) {
      // Each row holds one event or more, so `limit` rows are enough; the first of them may begin before `afterSeq`.
      const rows = await db.rows<{ seq_from: number; events_json: string }>(
        `SELECT seq_from, events_json FROM events
          WHERE tenant = ? AND call_id = ? AND seq_to > ? AND seq_from > ? ORDER BY seq_from LIMIT ?`,
        [tenant, callId, afterSeq, await lastRowBefore(db, tenant, callId, afterSeq), limit],
      );
      const events: CallEvent[] = [];
      for (const row of rows) {
        const told = eventsOfText({ tenant, callId }, row.seq_from, row.events_json);
        for (const event of told) if (event.seq > afterSeq && events.length < limit) events.push(event);
      }
      return events;
    },
    /** Behind the oldest transaction that is under way nothing is told yet: it could still put something before it. */
    outbox: (afterId, limit) =>
      rowsOf<OutboxRow>(
        db,
        outboxColumns,
        `events WHERE id > ? AND id < (pg_snapshot_xmin(pg_current_snapshot())::text::bigint
          + (SELECT base FROM outbox_base)) * ${outboxIdsPerTransaction} ORDER BY id LIMIT ?`,
        afterId,
        limit,
      ),
  };
}

/** Where the walk along the primary key begins: without it, a read of the end of a long stream would begin at its start. */
async function lastRowBefore(db: Db, tenant: string, callId: string, afterSeq: number): Promise<number> {
  if (afterSeq === 0) return 0;
  const row = await firstRow<{ seq_from: number }>(
    db,
    "SELECT seq_from FROM events WHERE tenant = ? AND call_id = ? AND seq_from <= ? ORDER BY seq_from DESC LIMIT 1",
    [tenant, callId, afterSeq],
  );
  return (row?.seq_from ?? 1) - 1;
}

// Reads what hangs on a call: its attempts, late results and events; and the outbox, which is the events in their order.
import type { Attempt, CallEvent, LateResult } from "../../call/types.ts";
import type { OutboxRow } from "../../ledger/port.ts";
import { attemptFacts, attemptOf, type AttemptFacts } from "./attempt-of.ts";
import {
  attemptColumns,
  callColumns,
  decode,
  lateResultColumns,
  outboxColumns,
  selectList,
  type SqlRow,
} from "./columns.ts";
import { eventsOfText, namedRows } from "./event-text.ts";
import { rowReader, type Prepared } from "./reads.ts";
import { longStreamSql } from "./schema.ts";

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

export function trailReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    attempts(tenant: string, callId: string): readonly Attempt[] {
      const ended = rows<Attempt>(
        attemptColumns,
        "attempts WHERE tenant = ? AND call_id = ? ORDER BY fence",
        tenant,
        callId,
      );
      const row = prepared(
        `SELECT ${selectList(factColumns)}, lease_accepted_at, lease_end_reason FROM calls WHERE tenant = ? AND call_id = ?`,
      ).get(tenant, callId);
      const told = row === undefined ? null : toldByRow(row);
      return told === null || ended.some(({ fence }) => fence === told.fence) ? ended : [...ended, told];
    },
    lateResults: (tenant: string, callId: string) =>
      rows<LateResult>(
        lateResultColumns,
        "late_results WHERE tenant = ? AND call_id = ? ORDER BY fence",
        tenant,
        callId,
      ),
    events(tenant: string, callId: string, afterSeq: number, limit: number): readonly CallEvent[] {
      const events: CallEvent[] = [];
      const unfold = (row: SqlRow): void => {
        const told = eventsOfText({ tenant, callId }, Number(row["seq_from"]), String(row["events_json"]));
        for (const event of told) if (event.seq > afterSeq && events.length < limit) events.push(event);
      };
      const call = prepared("SELECT event_rows FROM calls WHERE tenant = ? AND call_id = ?").get(tenant, callId);
      const byId = prepared("SELECT seq_from, events_json FROM events WHERE id = ?");
      for (const id of namedRows(String(call?.["event_rows"] ?? ""), afterSeq)) {
        const row = events.length < limit ? byId.get(id) : undefined;
        if (row !== undefined) unfold(row);
      }
      if (events.length < limit) {
        // Each row holds one event or more, so `limit` rows are enough.
        const later = `SELECT seq_from, events_json FROM events
          WHERE tenant = ? AND call_id = ? AND seq_to > ? AND ${longStreamSql} ORDER BY seq_to LIMIT ?`;
        prepared(later).all(tenant, callId, afterSeq, limit).forEach(unfold);
      }
      return events;
    },
    outbox: (afterId: number, limit: number) =>
      rows<OutboxRow>(outboxColumns, "events WHERE id > ? ORDER BY id LIMIT ?", afterId, limit),
  };
}

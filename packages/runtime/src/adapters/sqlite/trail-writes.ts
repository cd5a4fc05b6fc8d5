// Writes what hangs on a call: its events, its ended attempts, late results, and renewed leases.
import type { DatabaseSync } from "node:sqlite";
import { attemptColumns, encode, insertSql, lateResultColumns } from "./columns.ts";
import { rowName } from "./event-text.ts";
import { guardsRange, type EventRange, type PlannedUnit } from "./unit-plan.ts";
import type { WritersOf } from "./writers-of.ts";

export function trailWriters(db: DatabaseSync): WritersOf<"end_attempt" | "keep_late_result" | "renew_leases"> {
  const insertAttempt = db.prepare(insertSql("attempts", attemptColumns));
  const toldByRow = db.prepare(
    "SELECT 1 FROM calls WHERE tenant = ? AND call_id = ? AND fence = ? AND lease_end_reason IS NOT NULL",
  );
  const keepLateResult = db.prepare(insertSql("late_results", lateResultColumns, "ON CONFLICT DO NOTHING"));
  // The state as well as the fence: a settled call keeps its last fence, and settled rows never change.
  const renewLease = db.prepare(
    `UPDATE calls SET lease_expires_at = ?
      WHERE tenant = ? AND call_id = ? AND fence = ? AND state IN ('dispatched', 'running')`,
  );
  return {
    end_attempt: ({ row }, unit) => {
      if (row === unit.toldByRow) return true;
      if (toldByRow.get(row.tenant, row.callId, row.fence) !== undefined) {
        throw new Error(`the lease ${row.fence} of call ${row.callId} has ended already`);
      }
      insertAttempt.run(...encode(attemptColumns, row));
      return true;
    },
    keep_late_result: ({ row }) => {
      keepLateResult.run(...encode(lateResultColumns, row));
      return true;
    },
    renew_leases: ({ leases }) => {
      for (const lease of leases) renewLease.run(lease.leaseExpiresAt, lease.tenant, lease.callId, lease.fence);
      return true;
    },
  };
}

export interface EventWriter {
  /** Before the unit is written: the call's row names the rows that its events get. */
  number(unit: PlannedUnit): void;
  /** After its guards have held: one row for each call. */
  write(unit: PlannedUnit): void;
}

export function eventWriter(db: DatabaseSync): EventWriter {
  const insertRange = db.prepare(
    "INSERT INTO events (id, tenant, call_id, seq_from, seq_to, events_json) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const follow = db.prepare(
    `UPDATE calls SET event_seq = ?, event_rows = event_rows || ? WHERE tenant = ? AND call_id = ? AND event_seq = ?`,
  );
  // Nobody else writes to this database. A number that was given and not used leaves a hole, which means nothing.
  let lastId = Number(db.prepare("SELECT max(id) AS id FROM events").get()?.["id"] ?? 0);

  /** Events of a call whose row is not part of the unit: no guard has looked at what they follow. */
  const followStored = (range: EventRange): void => {
    const { tenant, callId, seqFrom, seqTo } = range;
    if (follow.run(seqTo, rowName(range), tenant, callId, seqFrom - 1).changes !== 1) {
      throw new Error(`event ${seqFrom} of call ${callId} does not follow the last one that is stored`);
    }
  };
  return {
    number(unit) {
      for (const range of unit.ranges) range.id = lastId += 1;
    },
    write(unit) {
      for (const range of unit.ranges) {
        if (!guardsRange(unit, range)) followStored(range);
        insertRange.run(range.id, range.tenant, range.callId, range.seqFrom, range.seqTo, `[${range.text}]`);
      }
    },
  };
}

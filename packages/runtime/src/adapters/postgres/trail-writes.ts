// Writes what hangs on a call: its ended attempts, late results, renewed leases, and its events.
import type { Write } from "../../ledger/port.ts";
import { attemptColumns, lateResultColumns } from "../sqlite/columns.ts";
import { guardsRange, type EventRange, type PlannedUnit } from "../sqlite/unit-plan.ts";
import { firstRow, type Db } from "./db.ts";
import { outboxIdSql, outboxIdsPerTransaction } from "./outbox.ts";
import { asRead } from "./pool.ts";
import { insertRecordsSql, recordColumns, recordOf, recordsSql } from "./records.ts";
import type { WritersOf } from "./writers-of.ts";

export const insertAttemptsSql = insertRecordsSql("attempts", recordColumns(attemptColumns));
export const keepLateResultsSql = insertRecordsSql("late_results", recordColumns(lateResultColumns), "ON CONFLICT DO NOTHING");

const leaseColumns = [
  { name: "tenant", type: "text" },
  { name: "call_id", type: "text" },
  { name: "fence", type: "bigint" },
  { name: "lease_expires_at", type: "bigint" },
] as const;

// The state as well as the fence: a settled call keeps its last fence, and settled rows never change.
export const renewLeasesSql = `UPDATE calls AS c SET lease_expires_at = r.lease_expires_at FROM ${recordsSql(leaseColumns)}
  WHERE c.tenant = r.tenant AND c.call_id = r.call_id AND c.fence = r.fence AND ${asRead("c.state")} IN ('dispatched', 'running')`;

const toldByRowSql = "SELECT 1 FROM calls WHERE tenant = ? AND call_id = ? AND fence = ? AND lease_end_reason IS NOT NULL";

/** One order of locks in every replica. */
export function byCall(a: { tenant: string; callId: string }, b: { tenant: string; callId: string }): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  if (a.callId === b.callId) return 0;
  return a.callId < b.callId ? -1 : 1;
}

export const trailWriters: WritersOf<"end_attempt" | "keep_late_result" | "renew_leases"> = {
  async end_attempt(tx, { row }, unit) {
    if (row === unit.toldByRow) return true;
    if ((await firstRow(tx, toldByRowSql, [row.tenant, row.callId, row.fence])) !== undefined) {
      throw new Error(`the lease ${row.fence} of call ${row.callId} has ended already`);
    }
    await tx.run(insertAttemptsSql, [JSON.stringify([recordOf(attemptColumns, row)])]);
    return true;
  },
  async keep_late_result(tx, { row }) {
    await tx.run(keepLateResultsSql, [JSON.stringify([recordOf(lateResultColumns, row)])]);
    return true;
  },
  async renew_leases(tx, { leases }) {
    if (leases.length > 0) await tx.run(renewLeasesSql, [leaseRecords(leases)]);
    return true;
  },
};

export type Leases = Extract<Write, { op: "renew_leases" }>["leases"];

export function leaseRecords(leases: Leases): string {
  const sorted = [...leases].sort(byCall);
  return JSON.stringify(
    sorted.map(({ tenant, callId, fence, leaseExpiresAt }) => ({ tenant, call_id: callId, fence, lease_expires_at: leaseExpiresAt })),
  );
}

const followSql = "UPDATE calls SET event_seq = ? WHERE tenant = ? AND call_id = ? AND event_seq = ?";

/** Events of calls whose rows are not part of the unit: no guard has looked at what they follow. */
export async function followStored(tx: Db, unit: PlannedUnit): Promise<void> {
  for (const range of unit.ranges) {
    if (guardsRange(unit, range)) continue;
    const { tenant, callId, seqFrom, seqTo } = range;
    if ((await tx.run(followSql, [seqTo, tenant, callId, seqFrom - 1])) !== 1) {
      throw new Error(`event ${seqFrom} of call ${callId} does not follow the last one that is stored`);
    }
  }
}

const rangeColumns = [
  { name: "place", type: "bigint" },
  { name: "tenant", type: "text" },
  { name: "call_id", type: "text" },
  { name: "seq_from", type: "bigint" },
  { name: "seq_to", type: "bigint" },
  { name: "events_json", type: "text" },
] as const;

export const insertEventsSql = `INSERT INTO events (id, tenant, call_id, seq_from, seq_to, events_json)
  SELECT ${outboxIdSql("r.place")}, r.tenant, r.call_id, r.seq_from, r.seq_to, r.events_json FROM ${recordsSql(rangeColumns)}`;

/** @param from how many rows of the outbox the transaction has written before */
export function eventRecords(ranges: readonly EventRange[], from: number): string {
  if (from + ranges.length > outboxIdsPerTransaction) {
    throw new Error(`a transaction tells of ${from + ranges.length} calls; ${outboxIdsPerTransaction} is the most. Split the unit.`);
  }
  return JSON.stringify(
    ranges.map(({ tenant, callId, seqFrom, seqTo, text }, at) => ({
      place: from + at,
      tenant,
      call_id: callId,
      seq_from: seqFrom,
      seq_to: seqTo,
      events_json: `[${text}]`,
    })),
  );
}

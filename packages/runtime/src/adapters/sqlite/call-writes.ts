// Writes calls and what hangs on them: attempts, events, outbox, late results, leases.
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Call, CallEvent } from "../../call/types.ts";
import {
  attemptColumns,
  callColumns,
  callIdentityColumns,
  callProgressColumns,
  encode,
  eventColumns,
  insertSql,
  lateResultColumns,
  selectList,
  standsInBlob,
  updateSql,
} from "./columns.ts";
import type { WritersOf } from "./writers-of.ts";

export type CallWriters = WritersOf<
  "insert_call" | "update_call" | "insert_attempt" | "update_attempt" | "keep_late_result" | "renew_leases"
>;

const attemptProgressColumns = attemptColumns.filter(({ field }) => !["tenant", "callId", "fence"].includes(field));
const outputAt = callProgressColumns.findIndex(({ field }) => field === "outputJson");

export function callWriters(db: DatabaseSync, inlineResultBytesMax: number): CallWriters {
  const insertBlob = db.prepare("INSERT INTO blobs (tenant, hash, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const insertCall = db.prepare(insertSql("calls", callColumns, "ON CONFLICT DO NOTHING"));
  const updateCall = db.prepare(
    updateSql("calls", callProgressColumns, "tenant = ? AND call_id = ? AND state = ? AND fence = ?"),
  );
  const insertAttempt = db.prepare(insertSql("attempts", attemptColumns));
  const updateAttempt = db.prepare(
    updateSql("attempts", attemptProgressColumns, "tenant = ? AND call_id = ? AND fence = ?"),
  );
  const keepLateResult = db.prepare(insertSql("late_results", lateResultColumns, "ON CONFLICT DO NOTHING"));
  // The state as well as the fence: a settled call keeps its last fence, and settled rows never change.
  const renewLease = db.prepare(
    `UPDATE calls SET lease_expires_at = ?
      WHERE tenant = ? AND call_id = ? AND fence = ? AND state IN ('dispatched', 'running')`,
  );
  const large = (row: Call): boolean => standsInBlob(row, inlineResultBytesMax);
  const progress = (row: Call): SQLInputValue[] => {
    const values = encode(callProgressColumns, row);
    if (large(row)) values[outputAt] = null;
    return values;
  };
  /** After the guard has held, so that a refused unit leaves no blob behind. */
  const keepLargeOutput = (row: Call): void => {
    if (large(row)) insertBlob.run(row.tenant, row.outputHash, Buffer.from(row.outputJson ?? "", "utf8"));
  };
  return {
    insert_call: ({ row }) => {
      if (insertCall.run(...encode(callIdentityColumns, row), ...progress(row)).changes !== 1) return false;
      keepLargeOutput(row);
      return true;
    },
    update_call: ({ expect, row }) => {
      const { changes } = updateCall.run(...progress(row), row.tenant, row.callId, expect.state, expect.fence);
      if (changes !== 1) return false;
      keepLargeOutput(row);
      return true;
    },
    insert_attempt: ({ row }) => {
      insertAttempt.run(...encode(attemptColumns, row));
      return true;
    },
    update_attempt: ({ row }) => {
      const values = encode(attemptProgressColumns, row);
      if (updateAttempt.run(...values, row.tenant, row.callId, row.fence).changes !== 1) {
        throw new Error(`attempt with fence ${row.fence} of call ${row.callId} was never inserted`);
      }
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
  append(event: CallEvent): void;
  /** Ends the unit: what was appended since gets its outbox row. */
  end(): void;
  /** Forgets what was appended since the last `end`, because it is being rolled back. */
  drop(): void;
}

/** Appends events without holes: a seq that does not follow the stored one is an error of the caller. */
export function eventWriter(db: DatabaseSync): EventWriter {
  const insertNext = db.prepare(insertSql("events", eventColumns));
  const insertFirst = db.prepare(
    `INSERT INTO events (${selectList(eventColumns)})
      SELECT ?1, ?2, CAST(?3 AS BIGINT), CAST(?4 AS BIGINT), ?5, ?6 WHERE CAST(?3 AS BIGINT) = 1
        OR EXISTS (SELECT 1 FROM events WHERE tenant = ?1 AND call_id = ?2 AND seq = CAST(?3 AS BIGINT) - 1)`,
  );
  const insertOutbox = db.prepare("INSERT INTO outbox (tenant, call_id, seq_from, seq_to) VALUES (?, ?, ?, ?)");
  let first: CallEvent | undefined;
  let last: CallEvent | undefined;
  const end = (): void => {
    if (first !== undefined && last !== undefined) insertOutbox.run(first.tenant, first.callId, first.seq, last.seq);
    first = last = undefined;
  };
  return {
    append(event) {
      const { tenant, callId, seq, at, type, dataJson } = event;
      if (last !== undefined && last.callId === callId && last.tenant === tenant) {
        if (seq !== last.seq + 1) throw new Error(`event ${seq} of call ${callId} does not follow event ${last.seq}`);
        insertNext.run(tenant, callId, seq, at, type, dataJson);
      } else {
        end();
        if (insertFirst.run(tenant, callId, seq, at, type, dataJson).changes !== 1) {
          throw new Error(`event ${seq} of call ${callId} does not follow a stored event`);
        }
        first = event;
      }
      last = event;
    },
    end,
    drop() {
      first = last = undefined;
    },
  };
}

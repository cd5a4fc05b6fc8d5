// Writes the rows of calls: inserts them under their keys, and updates them under their guard.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Attempt, Call } from "../../call/types.ts";
import type { Write } from "../../ledger/port.ts";
import { boundValue, changedColumns, columnsOf, type Columns, type ProgressColumn } from "./call-changes.ts";
import { freshValues, insertFreshSql, isFresh } from "./call-fresh.ts";
import { callColumns, encode, insertSql, standsInBlob } from "./columns.ts";
import { isNamed, rowName } from "./event-text.ts";
import { rangeOf, type EventRange } from "./unit-plan.ts";
import type { WritersOf } from "./writers-of.ts";

type UpdateCall = Extract<Write, { op: "update_call" }>;

/** Prepared updates that are kept, one for each set of columns; calls change in a dozen ways. */
const statementsMax = 64;

const outputAt = callColumns.findIndex(({ field }) => field === "outputJson");
const guard = "tenant = ? AND call_id = ? AND state = ? AND fence = ? AND event_seq = ?";
/** What the row tells of its last lease, see attempt-of.ts. */
const told = "lease_accepted_at = ?, lease_end_reason = ?";

interface Update {
  readonly columns: readonly ProgressColumn[];
  readonly statement: StatementSync;
}

/** What an update writes beside columns of the call. */
interface Beside {
  /** Events whose row the call names; a long stream's later ones are found by their index. */
  readonly named: EventRange | undefined;
  readonly attempt: Attempt | undefined;
}

function updates(db: DatabaseSync): (changed: Columns, beside: Beside) => Update {
  const kept = new Map<Columns, Update>();
  const prepare = (changed: Columns, { named, attempt }: Beside): Update => {
    const columns = columnsOf(changed);
    const sets = columns.map(({ name }) => `${name} = ?`);
    if (named !== undefined) sets.push("event_rows = event_rows || ?");
    if (attempt !== undefined) sets.push(told);
    return { columns, statement: db.prepare(`UPDATE calls SET ${sets.join(", ")} WHERE ${guard}`) };
  };
  return (changed, beside) => {
    const key = changed * 4 + (beside.named === undefined ? 0 : 2) + (beside.attempt === undefined ? 0 : 1);
    let update = kept.get(key);
    if (update === undefined) {
      update = prepare(changed, beside);
      if (kept.size < statementsMax) kept.set(key, update);
    }
    return update;
  };
}

type CallWrites = WritersOf<"insert_call" | "update_call">;

export function callWriters(db: DatabaseSync, inlineResultBytesMax: number): CallWrites {
  const insertFresh = db.prepare(insertFreshSql("ON CONFLICT DO NOTHING"));
  const insertWhole = db.prepare(
    insertSql("calls", [...callColumns, { name: "event_rows" }], "ON CONFLICT DO NOTHING"),
  );
  const insertBlob = db.prepare("INSERT INTO blobs (tenant, hash, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const withReplica = db.prepare("SELECT 1 FROM calls WHERE tenant = ? AND call_id = ? AND replica IS ?");
  const updateOf = updates(db);
  const large = (row: Call): boolean => standsInBlob(row, inlineResultBytesMax);
  /** After the guard has held, so that a refused unit leaves no blob behind. */
  const keepLargeOutput = (row: Call): void => {
    if (large(row)) insertBlob.run(row.tenant, row.outputHash, Buffer.from(row.outputJson ?? "", "utf8"));
  };
  const wholeValues = (row: Call): SQLInputValue[] => {
    const values = encode(callColumns, row);
    if (large(row)) values[outputAt] = null;
    return values;
  };
  const update = ({ row, expect, before }: UpdateCall, seq: number, beside: Beside): boolean => {
    const { columns, statement } = updateOf(changedColumns(before, row), beside);
    const values: SQLInputValue[] = [];
    for (const column of columns)
      values.push(column.field === "outputJson" && large(row) ? null : boundValue(column, row));
    const { named, attempt } = beside;
    if (named !== undefined) values.push(rowName(named));
    if (attempt !== undefined) values.push(attempt.acceptedAt, attempt.endReason);
    values.push(row.tenant, row.callId, expect.state, expect.fence, seq);
    return statement.run(...values).changes === 1;
  };
  return {
    insert_call: ({ row }, unit) => {
      const range = rangeOf(unit.ranges, row);
      const fresh = isFresh(row);
      const values = fresh ? freshValues(row) : wholeValues(row);
      values.push(range === undefined ? "" : rowName(range));
      if ((fresh ? insertFresh : insertWhole).run(...values).changes !== 1) return false;
      keepLargeOutput(row);
      return true;
    },
    update_call: (write, unit) => {
      const { row, expect } = write;
      const range = rangeOf(unit.ranges, row);
      const seq = range === undefined ? row.eventSeq : range.seqFrom - 1;
      const { toldByRow } = unit;
      const attempt = toldByRow?.callId === row.callId && toldByRow.tenant === row.tenant ? toldByRow : undefined;
      // One process writes here: what is read before the update still holds at the update.
      if (expect.replica !== undefined && withReplica.get(row.tenant, row.callId, expect.replica) === undefined) return false;
      if (!update(write, seq, { named: range !== undefined && isNamed(range) ? range : undefined, attempt })) return false;
      keepLargeOutput(row);
      return true;
    },
  };
}

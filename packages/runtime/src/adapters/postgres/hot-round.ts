// Writes many units that touch different calls by one statement for each table: guards first, then what hangs on those that held.
import type { Call } from "../../call/types.ts";
import type { CommitOutcome } from "../../ledger/port.ts";
import type { StreamChunk } from "../../stream/types.ts";
import { boundValue, changedColumns, columnsOf, type ProgressColumn } from "../sqlite/call-changes.ts";
import { attemptColumns, lateResultColumns, standsInBlob } from "../sqlite/columns.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import { callRecord, insertCallsSql, keepLargeOutput, seqBefore, toldAttempt, type CallWriteOptions, type UpdateCall } from "./call-writes.ts";
import { storable, type Db } from "./db.ts";
import { takesTag, takeTags } from "./fair-tags.ts";
import { callKey, rowOf } from "./hot-unit.ts";
import { recordColumns, recordOf, recordsSql, type RecordColumn } from "./records.ts";
import { keepChunks } from "./stream-store.ts";
import type { Gathered } from "./transaction.ts";
import { byCall, insertAttemptsSql, keepLateResultsSql, leaseRecords, renewLeasesSql, type Leases } from "./trail-writes.ts";

const applied: CommitOutcome = { applied: true };
const refused: CommitOutcome = { applied: false, write: 0 };

/** Texts of updates that are kept, one for each set of columns; calls change in a dozen ways. */
const textsMax = 256;
const updateTexts = new Map<string, string>();

const guardColumns: readonly RecordColumn[] = [
  { name: "tenant", type: "text" },
  { name: "call_id", type: "text" },
  { name: "was_state", type: "text" },
  { name: "was_fence", type: "bigint" },
  { name: "was_seq", type: "bigint" },
  { name: "asks_replica", type: "bigint" },
  { name: "was_with", type: "text" },
];
const toldColumns: readonly RecordColumn[] = [
  { name: "lease_accepted_at", type: "bigint" },
  { name: "lease_end_reason", type: "text" },
];

function updateText(changed: readonly ProgressColumn[], tells: boolean): string {
  const written: readonly RecordColumn[] = [...recordColumns(changed), ...(tells ? toldColumns : [])];
  const sets = written.map(({ name }) => `${name} = r.set_${name}`).join(", ");
  const columns = [...guardColumns, ...written.map(({ name, type }) => ({ name: `set_${name}`, type }))];
  return `UPDATE calls AS c SET ${sets} FROM ${recordsSql(columns)}
    WHERE c.tenant = r.tenant AND c.call_id = r.call_id AND c.state = r.was_state AND c.fence = r.was_fence AND c.event_seq = r.was_seq
      AND (r.asks_replica = 0 OR c.replica IS NOT DISTINCT FROM r.was_with)
    RETURNING c.tenant, c.call_id AS "callId"`;
}

interface Update {
  readonly write: UpdateCall;
  readonly unit: PlannedUnit;
}

function updateRecord({ write, unit }: Update, changed: readonly ProgressColumn[], large: boolean): Record<string, unknown> {
  const { row, expect } = write;
  const record: Record<string, unknown> = {
    tenant: row.tenant,
    call_id: row.callId,
    was_state: expect.state,
    was_fence: expect.fence,
    was_seq: seqBefore(unit, row),
    asks_replica: expect.replica === undefined ? 0 : 1,
    was_with: expect.replica ?? null,
  };
  for (const column of changed) {
    const value = column.field === "outputJson" && large ? null : boundValue(column, row);
    if (value !== null) record[`set_${column.name}`] = typeof value === "string" ? storable(value) : value;
  }
  const told = toldAttempt(unit, row);
  if (told !== undefined) {
    record["set_lease_accepted_at"] = told.acceptedAt;
    record["set_lease_end_reason"] = told.endReason;
  }
  return record;
}

type Name = { readonly tenant: string; readonly callId: string };

/** The calls whose guards held. */
async function update(tx: Db, updates: readonly Update[], inlineResultBytesMax: number): Promise<readonly Name[]> {
  const sets = new Map<string, { readonly columns: readonly ProgressColumn[]; readonly tells: boolean; readonly of: Update[] }>();
  for (const one of updates) {
    const { row, before } = one.write;
    const changed = changedColumns(before, row);
    const tells = toldAttempt(one.unit, row) !== undefined;
    const key = `${changed} ${tells}`;
    const set = sets.get(key) ?? { columns: columnsOf(changed), tells, of: [] };
    set.of.push(one);
    sets.set(key, set);
  }
  const sent = [...sets].map(([key, { columns, tells, of }]) => {
    const text = updateTexts.get(key) ?? updateText(columns, tells);
    if (updateTexts.size < textsMax) updateTexts.set(key, text);
    of.sort((a, b) => byCall(a.write.row, b.write.row));
    const records = of.map((one) => updateRecord(one, columns, standsInBlob(one.write.row, inlineResultBytesMax)));
    return tx.rows<Name>(text, [JSON.stringify(records)]);
  });
  return (await Promise.all(sent)).flat();
}

async function insert(tx: Db, rows: readonly Call[], { inlineResultBytesMax, keepTags }: CallWriteOptions): Promise<readonly Name[]> {
  if (rows.length === 0) return [];
  const tagged = keepTags ? [] : rows.filter(takesTag);
  const tags = tagged.length === 0 ? [] : await takeTags(tx, tagged);
  const tagOf = new Map(tagged.map((row, at) => [row, tags[at]]));
  const sorted = [...rows].sort(byCall);
  const records = sorted.map((row) => callRecord(row, tagOf.get(row) ?? row.startTag, inlineResultBytesMax));
  const found = await tx.rows<{ tenant: string; call_id: string }>(insertCallsSql, [JSON.stringify(records)]);
  return found.map(({ tenant, call_id: callId }) => ({ tenant, callId }));
}

/** What hangs on the calls of units whose guards have held. */
async function hang(tx: Db, units: readonly PlannedUnit[], inlineResultBytesMax: number): Promise<void> {
  const [attempts, late]: [unknown[], unknown[]] = [[], []];
  const leases: Leases[number][] = [];
  const chunks: StreamChunk[] = [];
  const sent: Promise<unknown>[] = [];
  for (const unit of units) {
    for (const write of unit.writes) {
      if (write.op === "end_attempt" && write.row !== unit.toldByRow) attempts.push(recordOf(attemptColumns, write.row));
      else if (write.op === "keep_late_result") late.push(recordOf(lateResultColumns, write.row));
      else if (write.op === "renew_leases") leases.push(...write.leases);
      else if (write.op === "append_stream") chunks.push(write.chunk);
      else if (write.op === "insert_call" || write.op === "update_call") sent.push(keepLargeOutput(tx, write.row, inlineResultBytesMax));
    }
  }
  if (attempts.length > 0) sent.push(tx.run(insertAttemptsSql, [JSON.stringify(attempts)]));
  if (late.length > 0) sent.push(tx.run(keepLateResultsSql, [JSON.stringify(late)]));
  if (leases.length > 0) sent.push(tx.run(renewLeasesSql, [leaseRecords(leases)]));
  if (chunks.length > 0) sent.push(keepChunks(tx, chunks));
  await Promise.all(sent);
}

/** @param units touch different calls, see {@link touchedBy} */
export function hotRound(options: CallWriteOptions) {
  return async (gathered: Gathered, units: readonly PlannedUnit[]): Promise<CommitOutcome[]> => {
    const { tx } = gathered;
    const inserts: Call[] = [];
    const updates: Update[] = [];
    for (const unit of units) {
      const [guard] = unit.writes;
      if (guard?.op === "insert_call") inserts.push(guard.row);
      else if (guard?.op === "update_call") updates.push({ write: guard, unit });
    }
    const held = new Set((await Promise.all([insert(tx, inserts, options), update(tx, updates, options.inlineResultBytesMax)])).flat().map(callKey));
    const holds = (unit: PlannedUnit): boolean => {
      const row = rowOf(unit.writes[0]);
      return row === undefined || held.has(callKey(row));
    };
    const left = units.filter(holds);
    await hang(tx, left, options.inlineResultBytesMax);
    for (const unit of left) {
      for (const write of unit.writes) gathered.take(write);
      gathered.tell(unit.ranges);
    }
    return units.map((unit) => (holds(unit) ? applied : refused));
  };
}

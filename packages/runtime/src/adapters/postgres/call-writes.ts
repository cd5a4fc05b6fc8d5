// Writes the rows of calls: inserts them under their keys, and updates them under their guard.
import type { Attempt, Call } from "../../call/types.ts";
import type { Write } from "../../ledger/port.ts";
import { boundValue, changedColumns, columnsOf } from "../sqlite/call-changes.ts";
import { callColumns, standsInBlob } from "../sqlite/columns.ts";
import { rangeOf, type PlannedUnit } from "../sqlite/unit-plan.ts";
import { type Db } from "./db.ts";
import { placingOf, takesTag, takeTags } from "./fair-tags.ts";
import { insertRecordsSql, recordColumns, recordOf } from "./records.ts";
import type { WritersOf } from "./writers-of.ts";

export type UpdateCall = Extract<Write, { op: "update_call" }>;

export interface CallWriteOptions {
  readonly inlineResultBytesMax: number;
  /** Rows keep the tag that they come with: for a copy of another ledger. */
  readonly keepTags: boolean;
}

export const insertCallsSql = insertRecordsSql(
  "calls",
  [
    ...recordColumns(callColumns),
    { name: "lane", type: "text" },
    { name: "class_offset", type: "bigint" },
    { name: "first_tag", type: "double precision" },
  ],
  "ON CONFLICT DO NOTHING RETURNING tenant, call_id",
);

export function callRecord(row: Call, startTag: number, inlineResultBytesMax: number): Record<string, unknown> {
  const record = { ...recordOf(callColumns, row), ...placingOf(row, startTag) };
  if (standsInBlob(row, inlineResultBytesMax)) delete (record as Record<string, unknown>)["output_json"];
  return record;
}

// One that is there already is held until the commit: retention, which lets go of what no call has, must not do so meanwhile.
const blobSql = `INSERT INTO blobs (tenant, hash, bytes) VALUES (?, ?, ?)
  ON CONFLICT (tenant, hash) DO UPDATE SET hash = excluded.hash`;

/** After the guard has held, so that a refused unit leaves no blob behind. */
export async function keepLargeOutput(tx: Db, row: Call, inlineResultBytesMax: number): Promise<void> {
  if (!standsInBlob(row, inlineResultBytesMax)) return;
  await tx.run(blobSql, [row.tenant, row.outputHash, Buffer.from(row.outputJson ?? "", "utf8")]);
}

/** The lease that the update settles its call with, where the row tells it. */
export function toldAttempt(unit: PlannedUnit, row: Call): Attempt | undefined {
  const { toldByRow } = unit;
  return toldByRow?.callId === row.callId && toldByRow.tenant === row.tenant ? toldByRow : undefined;
}

/** The seq that the stored row must count for the unit's events to follow. */
export function seqBefore(unit: PlannedUnit, row: Call): number {
  const range = rangeOf(unit.ranges, row);
  return range === undefined ? row.eventSeq : range.seqFrom - 1;
}

function updateSql({ row, expect, before }: UpdateCall, unit: PlannedUnit, large: boolean): { sql: string; params: unknown[] } {
  const sets: string[] = [];
  const params: unknown[] = [];
  for (const column of columnsOf(changedColumns(before, row))) {
    sets.push(`${column.name} = ?`);
    params.push(column.field === "outputJson" && large ? null : boundValue(column, row));
  }
  const told = toldAttempt(unit, row);
  if (told !== undefined) {
    sets.push("lease_accepted_at = ?", "lease_end_reason = ?");
    params.push(told.acceptedAt, told.endReason);
  }
  let guard = "tenant = ? AND call_id = ? AND state = ? AND fence = ? AND event_seq = ?";
  params.push(row.tenant, row.callId, expect.state, expect.fence, seqBefore(unit, row));
  if (expect.replica !== undefined) {
    guard += " AND replica IS NOT DISTINCT FROM ?";
    params.push(expect.replica);
  }
  return { sql: `UPDATE calls SET ${sets.join(", ")} WHERE ${guard}`, params };
}

export function callWriters({ inlineResultBytesMax, keepTags }: CallWriteOptions): WritersOf<"insert_call" | "update_call"> {
  return {
    async insert_call(tx, { row }) {
      const [taken] = takesTag(row) && !keepTags ? await takeTags(tx, [row]) : [];
      const record = callRecord(row, taken ?? row.startTag, inlineResultBytesMax);
      if ((await tx.run(insertCallsSql, [JSON.stringify([record])])) !== 1) return false;
      await keepLargeOutput(tx, row, inlineResultBytesMax);
      return true;
    },
    async update_call(tx, write, unit) {
      const { sql, params } = updateSql(write, unit, standsInBlob(write.row, inlineResultBytesMax));
      if ((await tx.run(sql, params)) !== 1) return false;
      await keepLargeOutput(tx, write.row, inlineResultBytesMax);
      return true;
    },
  };
}

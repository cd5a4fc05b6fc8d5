// Lists calls, the newest first.
import type { Ledger } from "../../ledger/port.ts";
import { callColumns } from "../sqlite/columns.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { callOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";
import { byTimeSql } from "./schema/calls.ts";

const listedCall = callColumns
  .map(({ name }) => (name === "input_json" || name === "output_json" ? `NULL AS ${name}` : name))
  .join(", ");

export function callLister(db: Db): Ledger["listCalls"] {
  return async ({ tenant, project, tool, principal, state, admittedFrom, admittedTo }, limit, cursor) => {
    const where = conditions()
      .also(byTimeSql)
      .equal("tenant", tenant)
      .equal("project", project)
      .equal("tool", tool)
      .equal("principal", principal)
      .equal("state", state)
      .range("admitted_at", admittedFrom, admittedTo)
      .before(["admitted_at", "call_id"], fittingCursor(cursor, "number", "text"));
    // Word for word the condition of the index over the few calls that are in such a state.
    if (state !== undefined && state !== "succeeded") where.also(notSucceededSql);
    const found = await db.rows(
      `SELECT ${listedCall} FROM calls WHERE ${where.sql()} ORDER BY admitted_at DESC, call_id DESC LIMIT ?`,
      [...where.values(), limit + 1],
    );
    return pageOf(found.map(callOf), limit, (call) => [call.admittedAt, call.callId]);
  };
}

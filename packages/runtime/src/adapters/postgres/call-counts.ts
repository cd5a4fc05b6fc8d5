// Counts admitted calls for the rules that ask how many there were, and guards a commit by such a count.
import type { CallCount, Ledger } from "../../ledger/port.ts";
import { admittedSql, inSessionSql } from "../sqlite/governance-schema.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import { firstRow, type Db } from "./db.ts";
import { byTimeSql } from "./schema/calls.ts";
import type { WritersOf } from "./writers-of.ts";

/** @param without ids of calls that are not counted */
async function countOf(db: Db, of: CallCount, without: readonly string[]): Promise<number> {
  const terms = ["tenant = ?", "tool = ?", "principal = ?", admittedSql];
  const params: unknown[] = [of.tenant, of.tool, of.principal];
  const { within } = of;
  if (within.kind === "window") {
    terms.push("admitted_at >= ?", byTimeSql);
    params.push(within.from);
  } else {
    terms.push("session_id = ?", inSessionSql);
    params.push(within.sessionId);
  }
  if (within.kind === "turn") {
    terms.push("turn = ?");
    params.push(within.turn);
  }
  if (without.length > 0) {
    terms.push("call_id <> ALL (?)");
    params.push(without);
  }
  const row = await firstRow<{ calls: number }>(db, `SELECT count(*) AS calls FROM calls WHERE ${terms.join(" AND ")}`, params);
  return row?.calls ?? 0;
}

export function callCounts(db: Db): Pick<Ledger, "countCalls"> {
  return { countCalls: (of) => countOf(db, of, []) };
}

/** A rule is asked how many there were before: the calls of the unit itself do not count, wherever in it they stand. */
function insertedBy(unit: PlannedUnit, tenant: string): string[] {
  return unit.writes.flatMap((write) => (write.op === "insert_call" && write.row.tenant === tenant ? [write.row.callId] : []));
}

/** That nobody else inserts by such a count until the commit is the business of the unit's lock. */
export const countWriters: WritersOf<"expect_count"> = {
  expect_count: async (tx, { of, calls }, unit) => (await countOf(tx, of, insertedBy(unit, of.tenant))) === calls,
};

// Counts admitted calls for the rules that ask how many there were, and guards a commit by such a count.
import type { CallCount, Ledger } from "../../ledger/port.ts";
import { admittedSql, inSessionSql } from "../sqlite/governance-schema.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import { firstRow, type Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

/** @param without ids of calls that are not counted */
async function countOf(db: Db, of: CallCount, without: readonly string[]): Promise<number> {
  const terms = ["tenant = ?", "tool = ?", "principal = ?", admittedSql];
  const params: unknown[] = [of.tenant, of.tool, of.principal];
  const { within } = of;
  if (within.kind === "window") {
    terms.push("admitted_at >= ?");
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

/** Numbers that name the locks under which calls are counted. */
const countLock = 0x5167_6e62;

/** Till the end of the transaction nobody else may count, and so nobody insert by a count, of the same tenant, tool and principal. */
export function lockCounted(tx: Db, { tenant, tool, principal }: CallCount): Promise<unknown> {
  return tx.rows("SELECT pg_advisory_xact_lock(?, hashtext(?))", [countLock, JSON.stringify([tenant, tool, principal])]);
}

export const countWriters: WritersOf<"expect_count"> = {
  async expect_count(tx, { of, calls }, unit) {
    await lockCounted(tx, of);
    return (await countOf(tx, of, insertedBy(unit, of.tenant))) === calls;
  },
};

// Counts admitted calls for the rules that ask how many there were, and guards a commit by such a count.
import type { SQLInputValue } from "node:sqlite";
import type { CallCount } from "../../ledger/port.ts";
import { admittedSql, inSessionSql } from "./governance-schema.ts";
import type { PlannedUnit } from "./unit-plan.ts";
import type { Prepared } from "./reads.ts";
import type { WritersOf } from "./writers-of.ts";

/** @param without ids of calls that are not counted */
function countOf(prepared: Prepared, of: CallCount, without: readonly string[]): number {
  const terms = ["tenant = ?", "tool = ?", "principal = ?", admittedSql];
  const values: SQLInputValue[] = [of.tenant, of.tool, of.principal];
  const { within } = of;
  if (within.kind === "window") {
    terms.push("admitted_at >= ?");
    values.push(within.from);
  } else {
    terms.push("session_id = ?", inSessionSql);
    values.push(within.sessionId);
  }
  if (within.kind === "turn") {
    terms.push("turn = ?");
    values.push(within.turn);
  }
  if (without.length > 0) {
    terms.push(`call_id NOT IN (${without.map(() => "?").join(", ")})`);
    values.push(...without);
  }
  const row = prepared(`SELECT count(*) AS calls FROM calls WHERE ${terms.join(" AND ")}`).get(...values);
  return Number(row?.["calls"]);
}

export function callCounts(prepared: Prepared) {
  return { countCalls: (of: CallCount): number => countOf(prepared, of, []) };
}

/** A rule is asked how many there were before: the calls of the unit itself do not count, wherever in it they stand. */
function insertedBy(unit: PlannedUnit, tenant: string): string[] {
  return unit.writes.flatMap((write) =>
    write.op === "insert_call" && write.row.tenant === tenant ? [write.row.callId] : [],
  );
}

export function countWriters(prepared: Prepared): WritersOf<"expect_count"> {
  return {
    expect_count: ({ of, calls }, unit) => countOf(prepared, of, insertedBy(unit, of.tenant)) === calls,
  };
}

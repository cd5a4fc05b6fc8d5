// What a unit needs to itself until its commit: with several writers a guard that looks at other rows is only true while nobody else changes them.
import type { Unit, Write } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { holdSessions } from "./session-locks.ts";

function lockOf(write: Write): readonly string[] | undefined {
  switch (write.op) {
    case "expect_count":
      return ["count", write.of.tenant, write.of.tool, write.of.principal];
    case "expect_workspace_file":
    case "expect_workspace_room":
    case "remove_workspace_file":
      return ["workspace", write.place.tenant, write.place.project];
    case "put_workspace_file":
      return ["workspace", write.row.tenant, write.row.project];
    // At most one version of a name is active.
    case "insert_policy":
      return ["policy", write.row.tenant, write.row.name];
    case "set_policy_status":
      return ["policy", write.tenant, write.name];
    default:
      return undefined;
  }
}

/** Names of the locks of a unit; the same thing has the same name. */
export function locksOf(unit: Unit): string[] {
  return unit.writes.flatMap((write) => {
    const lock = lockOf(write);
    return lock === undefined ? [] : [JSON.stringify(lock)];
  });
}

// All at once and in one order, before any row is touched: two writers then wait for one another and never both.
const takeSql = `SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest(?::text[]) AS name ORDER BY key
  ) AS ordered`;

/**
 * Waits until this transaction has what its units need to themselves, and holds it to its end. A statement that comes
 * after sees what the writer before it has committed.
 */
export async function takeLocks(tx: Db, units: readonly Unit[]): Promise<void> {
  const names = units.flatMap(locksOf);
  if (names.length > 0) await tx.rows(takeSql, [names]);
  await holdSessions(tx, units);
}

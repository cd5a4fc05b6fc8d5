// Writes policies, of which at most one version of a name is active, and what a level says where none matches.
import { encode, insertSql } from "../sqlite/columns.ts";
import { documentColumns, policyColumns, policyDefaultColumns } from "../sqlite/governance-columns.ts";
import { countIndexes } from "../sqlite/governance-schema.ts";
import type { Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

export type PolicyWriters = WritersOf<"insert_policy" | "set_policy_status" | "put_policy_default">;

const stored = [...policyColumns, ...documentColumns];
const insert = insertSql("policies", stored, "ON CONFLICT DO NOTHING");
const setStatus = "UPDATE policies SET status = ? WHERE tenant = ? AND name = ? AND version = ?";
// That nobody activates another version meanwhile is the business of the unit's lock.
const supersede = `UPDATE policies SET status = 'superseded'
  WHERE tenant = ? AND name = ? AND version <> ? AND status = 'active'`;
const putDefault = insertSql(
  "policy_defaults",
  policyDefaultColumns,
  `ON CONFLICT (tenant, project) DO UPDATE SET decision = excluded.decision, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by`,
);
const dropDefault = "DELETE FROM policy_defaults WHERE tenant = ? AND project = ?";

/** Looks first: making an index waits for everybody who writes to the table, also where there is one already. */
async function makeCountIndexes(tx: Db): Promise<void> {
  const [there] = await tx.rows<{ readonly made: boolean }>(
    "SELECT to_regclass('calls_by_session') IS NOT NULL AND to_regclass('calls_by_window') IS NOT NULL AS made",
    [],
  );
  if (there?.made === true) return;
  for (const index of countIndexes) await tx.run(index, []);
}

export const policyWriters: PolicyWriters = {
  async insert_policy(tx, { row }) {
    if ((await tx.run(insert, encode(stored, row))) !== 1) return false;
    if (row.status === "active") await tx.run(supersede, [row.tenant, row.name, row.version]);
    // Every condition that counts says this. One that says it in a text alone costs an index that nobody uses.
    if (row.when?.includes("calls.") === true) await makeCountIndexes(tx);
    return true;
  },
  async set_policy_status(tx, { tenant, name, version, status }) {
    if ((await tx.run(setStatus, [status, tenant, name, version])) !== 1) return false;
    if (status === "active") await tx.run(supersede, [tenant, name, version]);
    return true;
  },
  async put_policy_default(tx, { row }) {
    if (row.decision === null) await tx.run(dropDefault, [row.tenant, row.project]);
    else await tx.run(putDefault, encode(policyDefaultColumns, row));
    return true;
  },
};

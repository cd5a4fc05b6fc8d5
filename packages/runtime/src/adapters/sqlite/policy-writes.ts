// Writes policies, of which at most one version of a name is active, and what a level says where none matches.
import type { DatabaseSync } from "node:sqlite";
import { encode, insertSql } from "./columns.ts";
import { documentColumns, policyColumns, policyDefaultColumns } from "./governance-columns.ts";
import { countIndexes } from "./governance-schema.ts";
import type { WritersOf } from "./writers-of.ts";

type PolicyWriters = WritersOf<"insert_policy" | "set_policy_status" | "put_policy_default">;

export function policyWriters(db: DatabaseSync): PolicyWriters {
  const stored = [...policyColumns, ...documentColumns];
  const insert = db.prepare(insertSql("policies", stored, "ON CONFLICT DO NOTHING"));
  const setStatus = db.prepare("UPDATE policies SET status = ? WHERE tenant = ? AND name = ? AND version = ?");
  const supersede = db.prepare(
    "UPDATE policies SET status = 'superseded' WHERE tenant = ? AND name = ? AND version <> ? AND status = 'active'",
  );
  const putDefault = db.prepare(
    insertSql(
      "policy_defaults",
      policyDefaultColumns,
      `ON CONFLICT (tenant, project) DO UPDATE SET decision = excluded.decision, changed_at = excluded.changed_at,
        changed_by = excluded.changed_by`,
    ),
  );
  const dropDefault = db.prepare("DELETE FROM policy_defaults WHERE tenant = ? AND project = ?");
  return {
    insert_policy: ({ row }) => {
      if (insert.run(...encode(stored, row)).changes !== 1) return false;
      if (row.status === "active") supersede.run(row.tenant, row.name, row.version);
      // Every condition that counts says this. One that says it in a text alone costs an index that nobody uses.
      if (row.when?.includes("calls.") === true) for (const index of countIndexes) db.exec(index);
      return true;
    },
    set_policy_status: ({ tenant, name, version, status }) => {
      if (setStatus.run(status, tenant, name, version).changes !== 1) return false;
      if (status === "active") supersede.run(tenant, name, version);
      return true;
    },
    put_policy_default: ({ row }) => {
      if (row.decision === null) dropDefault.run(row.tenant, row.project);
      else putDefault.run(...encode(policyDefaultColumns, row));
      return true;
    },
  };
}

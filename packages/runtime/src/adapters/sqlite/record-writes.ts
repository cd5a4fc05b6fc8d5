// Writes who may ask: tenants, projects, keys and grants.
import type { DatabaseSync } from "node:sqlite";
import { encode, grantColumns, insertSql, keyColumns, projectColumns, tenantColumns } from "./columns.ts";
import type { WritersOf } from "./writers-of.ts";

export type TenancyWriters = WritersOf<
  | "insert_tenant"
  | "update_tenant"
  | "insert_project"
  | "put_project"
  | "insert_key"
  | "revoke_key"
  | "touch_key"
  | "insert_grant"
  | "revoke_grant"
>;

export function tenancyWriters(db: DatabaseSync): TenancyWriters {
  const unlessThere = "ON CONFLICT DO NOTHING";
  const insertTenant = db.prepare(insertSql("tenants", tenantColumns, unlessThere));
  const updateTenant = db.prepare(
    "UPDATE tenants SET weight = ?, suspended_at = ?, suspended_by = ?, suspended_reason = ? WHERE tenant = ?",
  );
  const insertProject = db.prepare(insertSql("projects", projectColumns, unlessThere));
  const putProject = db.prepare(
    insertSql(
      "projects",
      projectColumns,
      "ON CONFLICT (tenant, project) DO UPDATE SET environment = excluded.environment",
    ),
  );
  const insertKey = db.prepare(insertSql("keys", keyColumns, unlessThere));
  const insertGrant = db.prepare(insertSql("grants", grantColumns, unlessThere));
  const revokeKey = db.prepare("UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND key_id = ?");
  const touchKey = db.prepare(
    "UPDATE keys SET last_used_at = ? WHERE tenant = ? AND key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
  );
  const revokeGrant = db.prepare(
    "UPDATE grants SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND grant_id = ?",
  );
  return {
    insert_tenant: ({ row }) => insertTenant.run(...encode(tenantColumns, row)).changes === 1,
    update_tenant: ({ row: { tenant, weight, suspendedAt, suspendedBy, suspendedReason } }) =>
      updateTenant.run(weight, suspendedAt, suspendedBy, suspendedReason, tenant).changes === 1,
    insert_project: ({ row }) => insertProject.run(...encode(projectColumns, row)).changes === 1,
    put_project: ({ row }) => {
      putProject.run(...encode(projectColumns, row));
      return true;
    },
    insert_key: ({ row }) => insertKey.run(...encode(keyColumns, row)).changes === 1,
    revoke_key: ({ at, tenant, keyId }) => revokeKey.run(at, tenant, keyId).changes === 1,
    touch_key: ({ at, tenant, keyId }) => {
      touchKey.run(at, tenant, keyId, at);
      return true;
    },
    insert_grant: ({ row }) => insertGrant.run(...encode(grantColumns, row)).changes === 1,
    revoke_grant: ({ at, tenant, grantId }) => revokeGrant.run(at, tenant, grantId).changes === 1,
  };
}

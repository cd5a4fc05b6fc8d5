// Writes who may ask: tenants, projects, keys and grants.
import { encode, grantColumns, insertSql, keyColumns, projectColumns, tenantColumns } from "../sqlite/columns.ts";
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

const unlessThere = "ON CONFLICT DO NOTHING";
const insertTenant = insertSql("tenants", tenantColumns, unlessThere);
const insertProject = insertSql("projects", projectColumns, unlessThere);
const insertKey = insertSql("keys", keyColumns, unlessThere);
const insertGrant = insertSql("grants", grantColumns, unlessThere);
const updateTenant =
  "UPDATE tenants SET weight = ?, suspended_at = ?, suspended_by = ?, suspended_reason = ? WHERE tenant = ?";
const putProject = insertSql(
  "projects",
  projectColumns,
  "ON CONFLICT (tenant, project) DO UPDATE SET environment = excluded.environment",
);
const revokeKey = "UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND key_id = ?";
const touchKey = `UPDATE keys SET last_used_at = ?
  WHERE tenant = ? AND key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)`;
const revokeGrant = "UPDATE grants SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND grant_id = ?";

export const tenancyWriters: TenancyWriters = {
  insert_tenant: async (tx, { row }) => (await tx.run(insertTenant, encode(tenantColumns, row))) === 1,
  async update_tenant(tx, { row }) {
    const { tenant, weight, suspendedAt, suspendedBy, suspendedReason } = row;
    return (await tx.run(updateTenant, [weight, suspendedAt, suspendedBy, suspendedReason, tenant])) === 1;
  },
  insert_project: async (tx, { row }) => (await tx.run(insertProject, encode(projectColumns, row))) === 1,
  async put_project(tx, { row }) {
    await tx.run(putProject, encode(projectColumns, row));
    return true;
  },
  insert_key: async (tx, { row }) => (await tx.run(insertKey, encode(keyColumns, row))) === 1,
  revoke_key: async (tx, { at, tenant, keyId }) => (await tx.run(revokeKey, [at, tenant, keyId])) === 1,
  async touch_key(tx, { at, tenant, keyId }) {
    await tx.run(touchKey, [at, tenant, keyId, at]);
    return true;
  },
  insert_grant: async (tx, { row }) => (await tx.run(insertGrant, encode(grantColumns, row))) === 1,
  revoke_grant: async (tx, { at, tenant, grantId }) => (await tx.run(revokeGrant, [at, tenant, grantId])) === 1,
};

// Writes what calls refer to: tenants, projects, keys, grants, tools and their versions.
import type { DatabaseSync } from "node:sqlite";
import type { ToolVersion } from "../../registry/types.ts";
import { encode, grantColumns, insertSql, keyColumns, projectColumns, tenantColumns } from "./columns.ts";
import type { WritersOf } from "./writers-of.ts";

export type TenancyWriters = WritersOf<
  "insert_tenant" | "insert_project" | "insert_key" | "revoke_key" | "insert_grant" | "revoke_grant"
>;
export type RegistryWriters = WritersOf<"insert_tool_version" | "activate_tool">;

export function tenancyWriters(db: DatabaseSync): TenancyWriters {
  const unlessThere = "ON CONFLICT DO NOTHING";
  const insertTenant = db.prepare(insertSql("tenants", tenantColumns, unlessThere));
  const insertProject = db.prepare(insertSql("projects", projectColumns, unlessThere));
  const insertKey = db.prepare(insertSql("keys", keyColumns, unlessThere));
  const insertGrant = db.prepare(insertSql("grants", grantColumns, unlessThere));
  const revokeKey = db.prepare("UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND key_id = ?");
  const revokeGrant = db.prepare(
    "UPDATE grants SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant = ? AND grant_id = ?",
  );
  return {
    insert_tenant: ({ row }) => insertTenant.run(...encode(tenantColumns, row)).changes === 1,
    insert_project: ({ row }) => insertProject.run(...encode(projectColumns, row)).changes === 1,
    insert_key: ({ row }) => insertKey.run(...encode(keyColumns, row)).changes === 1,
    revoke_key: ({ at, tenant, keyId }) => revokeKey.run(at, tenant, keyId).changes === 1,
    insert_grant: ({ row }) => insertGrant.run(...encode(grantColumns, row)).changes === 1,
    revoke_grant: ({ at, tenant, grantId }) => revokeGrant.run(at, tenant, grantId).changes === 1,
  };
}

const versionNames = [
  "tenant",
  "tool",
  "version",
  "metadata_json",
  "spec_json",
  "manifest_digest",
  "trust",
  "status",
  "published_at",
  "published_by",
  "description",
  "side_effect_class",
  "executor_type",
];

function versionValues(row: ToolVersion): (string | number)[] {
  return [
    row.tenant,
    row.tool,
    row.version,
    JSON.stringify(row.metadata),
    JSON.stringify(row.spec),
    row.manifestDigest,
    row.trust,
    row.status,
    row.publishedAt,
    row.publishedBy,
    row.metadata.description,
    row.spec.sideEffectClass,
    row.spec.executor.type,
  ];
}

export function registryWriters(db: DatabaseSync): RegistryWriters {
  const insertVersion = db.prepare(
    `INSERT INTO tool_versions (${versionNames.join(", ")}) VALUES (${versionNames.map(() => "?").join(", ")})
      ON CONFLICT DO NOTHING`,
  );
  const insertTool = db.prepare(
    `INSERT INTO tools (tenant, tool, active_version, description, side_effect_class, executor_type, created_at)
      VALUES (?, ?, NULL, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  // What a list of tools shows is what the active version says.
  const activate = db.prepare(
    `UPDATE tools SET active_version = v.version, description = v.description,
        side_effect_class = v.side_effect_class, executor_type = v.executor_type
      FROM tool_versions AS v
      WHERE tools.tenant = ? AND tools.tool = ? AND v.tenant = tools.tenant AND v.tool = tools.tool AND v.version = ?`,
  );
  const activateTool = (tenant: string, tool: string, version: string): boolean =>
    activate.run(tenant, tool, version).changes === 1;
  return {
    insert_tool_version: ({ row, activate: becomesActive }) => {
      if (insertVersion.run(...versionValues(row)).changes !== 1) return false;
      const { description } = row.metadata;
      const { sideEffectClass, executor } = row.spec;
      insertTool.run(row.tenant, row.tool, description, sideEffectClass, executor.type, row.publishedAt);
      if (becomesActive) activateTool(row.tenant, row.tool, row.version);
      return true;
    },
    activate_tool: ({ tenant, tool, version }) => activateTool(tenant, tool, version),
  };
}

// Reads tenants with their projects, keys and grants.
import type { Ledger } from "../../ledger/port.ts";
import type { Grant, Key, Project, Tenant } from "../../tenancy/types.ts";
import { grantColumns, keyColumns, projectColumns, tenantColumns } from "../sqlite/columns.ts";
import { rowsOf } from "./call-reads.ts";
import type { Db } from "./db.ts";

export type TenancyReads = Pick<Ledger, "tenants" | "tenant" | "projects" | "keyByHash" | "keys" | "grants">;

export function tenancyReads(db: Db): TenancyReads {
  return {
    tenants: () => rowsOf<Tenant>(db, tenantColumns, "tenants ORDER BY tenant"),
    tenant: async (tenant) =>
      (await rowsOf<Tenant>(db, tenantColumns, "tenants WHERE tenant = ?", tenant)).at(0),
    projects: (tenant) =>
      rowsOf<Project>(db, projectColumns, "projects WHERE tenant = ? ORDER BY project", tenant),
    keyByHash: async (hash) => (await rowsOf<Key>(db, keyColumns, "keys WHERE hash = ?", hash)).at(0),
    keys: (tenant) =>
      rowsOf<Key>(db, keyColumns, "keys WHERE tenant = ? ORDER BY created_at, key_id", tenant),
    grants: (tenant) =>
      rowsOf<Grant>(db, grantColumns, "grants WHERE tenant = ? ORDER BY created_at, grant_id", tenant),
  };
}

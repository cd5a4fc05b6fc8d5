// Reads policies: all of them for the decisions, one with its document, and lists of a tenant's.
import type { Ledger } from "../../ledger/port.ts";
import type { PolicyDefault, PolicyVersion, StoredPolicy } from "../../policy/types.ts";
import { documentColumns, policyColumns, policyDefaultColumns } from "../sqlite/governance-columns.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { rowsOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";

export type PolicyReads = Pick<Ledger, "policies" | "policy" | "listPolicies" | "policyDefaults">;

export function policyReads(db: Db): PolicyReads {
  return {
    policies: () =>
      rowsOf<PolicyVersion>(db, policyColumns, "policies ORDER BY tenant, name, published_at, version"),
    async policy(tenant, name, version) {
      const columns = [...policyColumns, ...documentColumns];
      const rest = "policies WHERE tenant = ? AND name = ? AND version = ?";
      return (await rowsOf<StoredPolicy>(db, columns, rest, tenant, name, version)).at(0);
    },
    async listPolicies(filter, limit, cursor) {
      const where = conditions()
        .equal("tenant", filter.tenant)
        .equal("level", filter.level)
        .equal("project", filter.project)
        .equal("name", filter.name)
        .equal("status", filter.status)
        .behind("name", ["published_at", "version"], fittingCursor(cursor, "text", "number", "text"));
      const rest = `policies WHERE ${where.sql()} ORDER BY name, published_at DESC, version DESC LIMIT ?`;
      const found = await rowsOf<PolicyVersion>(db, policyColumns, rest, ...where.values(), limit + 1);
      return pageOf(found, limit, ({ name, publishedAt, version }) => [name, publishedAt, version]);
    },
    policyDefaults: () =>
      rowsOf<PolicyDefault>(db, policyDefaultColumns, "policy_defaults ORDER BY tenant, project"),
  };
}

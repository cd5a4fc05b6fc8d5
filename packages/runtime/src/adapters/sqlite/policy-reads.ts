// Reads policies: all of them for the decisions, one with its document, and lists of a tenant's.
import type { Page, PolicyFilter } from "../../ledger/port.ts";
import type { PolicyDefault, PolicyVersion, StoredPolicy } from "../../policy/types.ts";
import { documentColumns, policyColumns, policyDefaultColumns } from "./governance-columns.ts";
import { conditions, pageOf } from "./paging.ts";
import { rowReader, type Prepared } from "./reads.ts";

export function policyReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    policies: () => rows<PolicyVersion>(policyColumns, "policies ORDER BY tenant, name, published_at, version"),
    policy: (tenant: string, name: string, version: string) =>
      rows<StoredPolicy>(
        [...policyColumns, ...documentColumns],
        "policies WHERE tenant = ? AND name = ? AND version = ?",
        tenant,
        name,
        version,
      ).at(0),
    listPolicies(filter: PolicyFilter, limit: number, cursor?: string): Page<PolicyVersion> {
      const where = conditions()
        .equal("tenant", filter.tenant)
        .equal("level", filter.level)
        .equal("project", filter.project)
        .equal("name", filter.name)
        .equal("status", filter.status)
        .behind("name", ["published_at", "version"], cursor);
      const found = rows<PolicyVersion>(
        policyColumns,
        `policies WHERE ${where.sql()} ORDER BY name, published_at DESC, version DESC LIMIT ?`,
        ...where.values(),
        limit + 1,
      );
      return pageOf(found, limit, ({ name, publishedAt, version }) => [name, publishedAt, version]);
    },
    policyDefaults: () => rows<PolicyDefault>(policyDefaultColumns, "policy_defaults ORDER BY tenant, project"),
  };
}

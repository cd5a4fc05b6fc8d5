// Reads tools and their versions, which version answers, who may use them, and the brakes on them.
import type { Page } from "../../ledger/port.ts";
import type {
  Activation,
  Freeze,
  ListedVersion,
  ProjectTool,
  ToolMetadata,
  ToolPin,
  ToolQuery,
  ToolRecord,
  ToolSpec,
  ToolVersion,
} from "../../registry/types.ts";
import { decode, selectList, toolColumns, type SqlRow } from "./columns.ts";
import { activationColumns, freezeColumns, projectToolColumns, toolPinColumns } from "./governance-columns.ts";
import { conditions, pageOf } from "./paging.ts";
import { rowReader, type Prepared } from "./reads.ts";
import { toolMatcher } from "./tool-query.ts";

export function toolVersionOf(row: SqlRow): ToolVersion {
  const spec = JSON.parse(String(row["spec_json"])) as ToolSpec;
  return {
    tenant: String(row["tenant"]),
    tool: String(row["tool"]),
    version: String(row["version"]),
    metadata: JSON.parse(String(row["metadata_json"])) as ToolMetadata,
    // JSON has no undefined: an output schema that was not given comes back without its key.
    spec: { ...spec, output: spec.output },
    manifestDigest: String(row["manifest_digest"]),
    packageDigest: row["package_digest"] === null ? null : String(row["package_digest"]),
    trust: row["trust"] as ToolVersion["trust"],
    status: row["status"] as ToolVersion["status"],
    publishedAt: Number(row["published_at"]),
    publishedBy: String(row["published_by"]),
  };
}

export function registryReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    tool: (tenant: string, tool: string) =>
      rows<ToolRecord>(toolColumns, "tools WHERE tenant = ? AND tool = ?", tenant, tool).at(0),
    toolVersion(tenant: string, tool: string, version: string): ToolVersion | undefined {
      const row = prepared("SELECT * FROM tool_versions WHERE tenant = ? AND tool = ? AND version = ?").get(
        tenant,
        tool,
        version,
      );
      return row === undefined ? undefined : toolVersionOf(row);
    },
    toolVersions: (tenant: string, tool: string) =>
      prepared("SELECT version, status FROM tool_versions WHERE tenant = ? AND tool = ? ORDER BY published_at, version")
        .all(tenant, tool)
        .map((row): ListedVersion => ({
          version: String(row["version"]),
          status: row["status"] as ListedVersion["status"],
        })),
    /** Words and labels are looked for here: SQL's idea of upper and lower case ends with ASCII. */
    listTools(tenant: string, limit: number, cursor?: string, query: ToolQuery = {}): Page<ToolRecord> {
      const where = conditions()
        .equal("tenant", tenant)
        .equal("category", query.category)
        .equal("owner", query.owner)
        .after(["tool"], cursor);
      const matches = toolMatcher(query);
      const found: ToolRecord[] = [];
      const sql = `SELECT ${selectList(toolColumns)} FROM tools WHERE ${where.sql()} ORDER BY tool`;
      for (const row of prepared(sql).iterate(...where.values())) {
        const record = decode<ToolRecord>(toolColumns, row);
        if (matches(record) && found.push(record) > limit) break;
      }
      return pageOf(found, limit, (record) => [record.tool]);
    },
    activations: (tenant: string, tool: string, limit: number) =>
      rows<Activation>(
        activationColumns,
        "activations WHERE tenant = ? AND tool = ? ORDER BY id DESC LIMIT ?",
        tenant,
        tool,
        limit,
      ),
    toolPins: (tenant: string) => rows<ToolPin>(toolPinColumns, "tool_pins WHERE tenant = ? ORDER BY tool", tenant),
    projectTools: (tenant: string) =>
      rows<ProjectTool>(projectToolColumns, "project_tools WHERE tenant = ? ORDER BY project, tool", tenant),
    freezes: () => rows<Freeze>(freezeColumns, "freezes ORDER BY tenant, tool"),
  };
}

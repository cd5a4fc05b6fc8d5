// Reads tools and their versions, which version answers, who may use them, and the brakes on them.
import type { Ledger } from "../../ledger/port.ts";
import type {
  Activation,
  Freeze,
  ListedVersion,
  ProjectTool,
  ToolPin,
  ToolQuery,
  ToolRecord,
} from "../../registry/types.ts";
import { toolColumns } from "../sqlite/columns.ts";
import { activationColumns, freezeColumns, projectToolColumns, toolPinColumns } from "../sqlite/governance-columns.ts";
import { conditions, pageOf, writeCursor } from "../sqlite/paging.ts";
import { toolVersionOf } from "../sqlite/registry-reads.ts";
import { toolMatcher } from "../sqlite/tool-query.ts";
import { rowsOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";

// By their names: the plan of "all columns", made on a connection before a newer build has added one, fails on it ever after.
const wholeVersion = `SELECT tenant, tool, version, metadata_json, spec_json, manifest_digest, package_digest, trust, status, published_at, published_by
  FROM tool_versions WHERE tenant = ? AND tool = ? AND version = ?`;

/** Tools that one statement of a search looks at. */
const searchedAtOnce = 500;

function toolLister(db: Db): Ledger["listTools"] {
  const nextTools = (tenant: string, query: ToolQuery, cursor: string | undefined): Promise<ToolRecord[]> => {
    const where = conditions()
      .equal("tenant", tenant)
      .equal("category", query.category)
      .equal("owner", query.owner)
      .after(["tool"], cursor);
    const rest = `tools WHERE ${where.sql()} ORDER BY tool LIMIT ?`;
    return rowsOf<ToolRecord>(db, toolColumns, rest, ...where.values(), searchedAtOnce);
  };
  /** Words and labels are looked for here, so that both ledgers have one idea of upper and lower case. */
  return async (tenant, limit, cursor, query = {}) => {
    const matches = toolMatcher(query);
    const found: ToolRecord[] = [];
    for (let after = fittingCursor(cursor, "text"); ;) {
      const looked = await nextTools(tenant, query, after);
      for (const record of looked) if (found.length <= limit && matches(record)) found.push(record);
      const last = looked.at(-1);
      if (last === undefined || looked.length < searchedAtOnce || found.length > limit) break;
      after = writeCursor([last.tool]);
    }
    return pageOf(found, limit, (record) => [record.tool]);
  };
}

export type RegistryReads = Pick<
  Ledger,
  "tool" | "toolVersion" | "toolVersions" | "listTools" | "activations" | "toolPins" | "projectTools" | "freezes"
>;

export function registryReads(db: Db): RegistryReads {
  return {
    tool: async (tenant, tool) =>
      (await rowsOf<ToolRecord>(db, toolColumns, "tools WHERE tenant = ? AND tool = ?", tenant, tool)).at(0),
    async toolVersion(tenant, tool, version) {
      const [row] = await db.rows(wholeVersion, [tenant, tool, version]);
      return row === undefined ? undefined : toolVersionOf(row);
    },
    toolVersions: (tenant, tool) =>
      db.rows<ListedVersion>(
        "SELECT version, status FROM tool_versions WHERE tenant = ? AND tool = ? ORDER BY published_at, version",
        [tenant, tool],
      ),
    listTools: toolLister(db),
    activations: (tenant, tool, limit) =>
      rowsOf<Activation>(
        db,
        activationColumns,
        "activations WHERE tenant = ? AND tool = ? ORDER BY id DESC LIMIT ?",
        tenant,
        tool,
        limit,
      ),
    toolPins: (tenant) =>
      rowsOf<ToolPin>(db, toolPinColumns, "tool_pins WHERE tenant = ? ORDER BY tool", tenant),
    projectTools: (tenant) =>
      rowsOf<ProjectTool>(db, projectToolColumns, "project_tools WHERE tenant = ? ORDER BY project, tool", tenant),
    freezes: () => rowsOf<Freeze>(db, freezeColumns, "freezes ORDER BY tenant, tool"),
  };
}

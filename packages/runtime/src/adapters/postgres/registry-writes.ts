// Writes tools and their versions, which version answers, who may use them, and the brakes on them.
import type { ToolVersion } from "../../registry/types.ts";
import { encode, insertSql } from "../sqlite/columns.ts";
import { activationColumns, freezeColumns, projectToolColumns, toolPinColumns } from "../sqlite/governance-columns.ts";
import type { Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

type VersionWriters = WritersOf<"insert_tool_version" | "activate_tool" | "set_tool_status">;
type ChoiceWriters = WritersOf<"put_tool_pin" | "put_project_tool" | "put_freeze" | "lift_freeze">;
export type RegistryWriters = VersionWriters & ChoiceWriters;

/** What a list of tools shows; it stands beside each version and in the record of the active one. */
const shownNames = ["description", "side_effect_class", "executor_type", "owner", "category", "labels_json"];

function shownValues({ metadata, spec }: ToolVersion): string[] {
  const { description, owner, category, labels } = metadata;
  return [description, spec.sideEffectClass, spec.executor.type, owner, category, JSON.stringify(labels)];
}

const versionNames = [
  "tenant",
  "tool",
  "version",
  "metadata_json",
  "spec_json",
  "manifest_digest",
  "package_digest",
  "trust",
  "status",
  "published_at",
  "published_by",
  ...shownNames,
];

function versionValues(row: ToolVersion): (string | number | null)[] {
  return [
    row.tenant,
    row.tool,
    row.version,
    JSON.stringify(row.metadata),
    JSON.stringify(row.spec),
    row.manifestDigest,
    row.packageDigest,
    row.trust,
    row.status,
    row.publishedAt,
    row.publishedBy,
    ...shownValues(row),
  ];
}

const named = (names: readonly string[]): { readonly name: string }[] => names.map((name) => ({ name }));

const unlessThere = "ON CONFLICT DO NOTHING";
const insertVersion = insertSql("tool_versions", named(versionNames), unlessThere);
const insertTool = insertSql("tools", named(["tenant", "tool", "created_at", ...shownNames]), unlessThere);
// Held till the end of the commit: of two replicas that activate at once, the second sees what the first has made active.
const activeVersion = "SELECT active_version FROM tools WHERE tenant = ? AND tool = ? FOR UPDATE";
const activate = `UPDATE tools SET active_version = v.version, ${shownNames.map((name) => `${name} = v.${name}`).join(", ")}
  FROM tool_versions AS v
  WHERE tools.tenant = ? AND tools.tool = ? AND v.tenant = tools.tenant AND v.tool = tools.tool AND v.version = ?`;
const insertActivation = insertSql("activations", activationColumns);
const setStatus = `UPDATE tool_versions SET status = ?
  WHERE tenant = ? AND tool = ? AND version = ? AND status = ?`;

interface Activating {
  readonly tenant: string;
  readonly tool: string;
  readonly version: string;
  readonly at: number;
  readonly by: string;
}

async function activateTool(tx: Db, { tenant, tool, version, at, by }: Activating): Promise<boolean> {
  const [before] = await tx.rows<{ readonly active_version: string | null }>(activeVersion, [tenant, tool]);
  if ((await tx.run(activate, [tenant, tool, version])) !== 1) return false;
  if (before?.active_version !== version) await tx.run(insertActivation, [tenant, tool, version, at, by]);
  return true;
}

const versionWriters: VersionWriters = {
  async insert_tool_version(tx, { row, activate: becomesActive }) {
    if ((await tx.run(insertVersion, versionValues(row))) !== 1) return false;
    await tx.run(insertTool, [row.tenant, row.tool, row.publishedAt, ...shownValues(row)]);
    if (becomesActive) await activateTool(tx, { ...row, at: row.publishedAt, by: row.publishedBy });
    return true;
  },
  activate_tool: (tx, write) => activateTool(tx, write),
  set_tool_status: async (tx, { tenant, tool, version, from, status }) =>
    (await tx.run(setStatus, [status, tenant, tool, version, from])) === 1,
};

const putPin = insertSql(
  "tool_pins",
  toolPinColumns,
  `ON CONFLICT (tenant, tool) DO UPDATE SET requested = excluded.requested, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by`,
);
const dropPin = "DELETE FROM tool_pins WHERE tenant = ? AND tool = ?";
const putProjectTool = insertSql(
  "project_tools",
  projectToolColumns,
  `ON CONFLICT (tenant, project, tool) DO UPDATE SET enabled = excluded.enabled, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by`,
);
const putFreeze = insertSql(
  "freezes",
  freezeColumns,
  `ON CONFLICT (tenant, tool) DO UPDATE SET reason = excluded.reason, at = excluded.at,
    changed_by = excluded.changed_by`,
);
const liftFreeze = "DELETE FROM freezes WHERE tenant = ? AND tool = ?";

const choiceWriters: ChoiceWriters = {
  async put_tool_pin(tx, { row }) {
    if (row.requested === null) await tx.run(dropPin, [row.tenant, row.tool]);
    else await tx.run(putPin, encode(toolPinColumns, row));
    return true;
  },
  async put_project_tool(tx, { row }) {
    await tx.run(putProjectTool, encode(projectToolColumns, row));
    return true;
  },
  async put_freeze(tx, { row }) {
    await tx.run(putFreeze, encode(freezeColumns, row));
    return true;
  },
  async lift_freeze(tx, { tenant, tool }) {
    await tx.run(liftFreeze, [tenant, tool]);
    return true;
  },
};

export const registryWriters: RegistryWriters = { ...versionWriters, ...choiceWriters };

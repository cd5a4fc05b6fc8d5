// Writes tools and their versions, which version answers, who may use them, and the brakes on them.
import type { DatabaseSync } from "node:sqlite";
import type { ToolVersion } from "../../registry/types.ts";
import { encode, insertSql } from "./columns.ts";
import { activationColumns, freezeColumns, projectToolColumns, toolPinColumns } from "./governance-columns.ts";
import type { WritersOf } from "./writers-of.ts";

type VersionWriters = WritersOf<"insert_tool_version" | "activate_tool" | "set_tool_status">;
type ChoiceWriters = WritersOf<"put_tool_pin" | "put_project_tool" | "put_freeze" | "lift_freeze">;

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

export function versionWriters(db: DatabaseSync): VersionWriters {
  const insertVersion = db.prepare(insertSql("tool_versions", named(versionNames), "ON CONFLICT DO NOTHING"));
  const insertTool = db.prepare(
    insertSql("tools", named(["tenant", "tool", "created_at", ...shownNames]), "ON CONFLICT DO NOTHING"),
  );
  const activeVersion = db.prepare("SELECT active_version FROM tools WHERE tenant = ? AND tool = ?");
  const activate = db.prepare(
    `UPDATE tools SET active_version = v.version, ${shownNames.map((name) => `${name} = v.${name}`).join(", ")}
      FROM tool_versions AS v
      WHERE tools.tenant = ? AND tools.tool = ? AND v.tenant = tools.tenant AND v.tool = tools.tool AND v.version = ?`,
  );
  const insertActivation = db.prepare(insertSql("activations", activationColumns));
  const setStatus = db.prepare(
    "UPDATE tool_versions SET status = ? WHERE tenant = ? AND tool = ? AND version = ? AND status = ?",
  );

  const activateTool = (tenant: string, tool: string, version: string, at: number, by: string): boolean => {
    const before = activeVersion.get(tenant, tool)?.["active_version"];
    if (activate.run(tenant, tool, version).changes !== 1) return false;
    if (before !== version) insertActivation.run(tenant, tool, version, at, by);
    return true;
  };
  return {
    insert_tool_version: ({ row, activate: becomesActive }) => {
      if (insertVersion.run(...versionValues(row)).changes !== 1) return false;
      insertTool.run(row.tenant, row.tool, row.publishedAt, ...shownValues(row));
      if (becomesActive) activateTool(row.tenant, row.tool, row.version, row.publishedAt, row.publishedBy);
      return true;
    },
    activate_tool: ({ tenant, tool, version, at, by }) => activateTool(tenant, tool, version, at, by),
    set_tool_status: ({ tenant, tool, version, from, status }) =>
      setStatus.run(status, tenant, tool, version, from).changes === 1,
  };
}

export function choiceWriters(db: DatabaseSync): ChoiceWriters {
  const putPin = db.prepare(
    insertSql(
      "tool_pins",
      toolPinColumns,
      `ON CONFLICT (tenant, tool) DO UPDATE SET requested = excluded.requested, changed_at = excluded.changed_at,
        changed_by = excluded.changed_by`,
    ),
  );
  const dropPin = db.prepare("DELETE FROM tool_pins WHERE tenant = ? AND tool = ?");
  const putProjectTool = db.prepare(
    insertSql(
      "project_tools",
      projectToolColumns,
      `ON CONFLICT (tenant, project, tool) DO UPDATE SET enabled = excluded.enabled,
        changed_at = excluded.changed_at, changed_by = excluded.changed_by`,
    ),
  );
  const putFreeze = db.prepare(
    insertSql(
      "freezes",
      freezeColumns,
      `ON CONFLICT (tenant, tool) DO UPDATE SET reason = excluded.reason, at = excluded.at,
        changed_by = excluded.changed_by`,
    ),
  );
  const liftFreeze = db.prepare("DELETE FROM freezes WHERE tenant = ? AND tool = ?");
  return {
    put_tool_pin: ({ row }) => {
      if (row.requested === null) dropPin.run(row.tenant, row.tool);
      else putPin.run(...encode(toolPinColumns, row));
      return true;
    },
    put_project_tool: ({ row }) => {
      putProjectTool.run(...encode(projectToolColumns, row));
      return true;
    },
    put_freeze: ({ row }) => {
      putFreeze.run(...encode(freezeColumns, row));
      return true;
    },
    lift_freeze: ({ tenant, tool }) => {
      liftFreeze.run(tenant, tool);
      return true;
    },
  };
}

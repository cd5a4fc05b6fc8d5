// Holds an agent against the tools and the policies that there are when it is published.
import { SignalboxError } from "@signalbox/protocol";
import type { Problem } from "../../document/problems.ts";
import { missingPermissions, parsePermission } from "../../policy/permission.ts";
import { looserThanTool } from "../../registry/agents/tighten.ts";
import type { AgentSpec, ToolBinding } from "../../registry/agents/types.ts";
import type { ToolVersion } from "../../registry/types.ts";
import { storable } from "../invoke.ts";
import type { AgentPorts } from "./ports.ts";

/** A binding whose version there is. */
export interface BoundVersion {
  /** Like `spec.tools[0]`. */
  readonly path: string;
  readonly binding: ToolBinding;
  readonly tool: ToolVersion;
}

export interface Findings {
  readonly bound: readonly BoundVersion[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** A version that nobody registered is a warning: it may come, and until then the model is told that there is none. */
export async function checkBindings(ports: Pick<AgentPorts, "ledger" | "catalog">, tenant: string, { tools, permissions }: AgentSpec): Promise<Findings> {
  const bound: BoundVersion[] = [];
  const problems: Problem[] = permissions.flatMap((text, index) => permissionProblem(text, `spec.permissions[${index}]`));
  const warnings: Problem[] = [];
  for (const [index, binding] of tools.entries()) {
    const path = `spec.tools[${index}]`;
    const tool = await versionBound(ports, tenant, binding);
    if (tool === undefined) {
      const message = `${binding.tool}@${binding.version} is not registered here: the model is told tool_not_found until it is`;
      warnings.push({ path: `${path}.tool`, message, hint: `'signalbox tools show ${binding.tool}' tells its versions` });
      continue;
    }
    bound.push({ path, binding, tool });
    problems.push(...looserThanTool(binding, tool.spec, path));
    warnings.push(...standingOf(tool, path), ...ceilingOf(tool, permissions, path));
  }
  return { bound, problems, warnings };
}

function permissionProblem(text: string, path: string): readonly Problem[] {
  const parsed = parsePermission(text);
  return parsed.ok ? [] : [{ path, message: parsed.reason }];
}

/** The tenant's own tool hides the platform's of the same name, as it does for a call. */
async function versionBound({ ledger, catalog }: Pick<AgentPorts, "ledger" | "catalog">, tenant: string, { tool, version }: ToolBinding): Promise<ToolVersion | undefined> {
  const home = await storable(catalog.home(tenant, tool));
  return home === undefined ? undefined : storable(ledger.toolVersion(home.tenant, tool, version));
}

function standingOf({ tool, version, status }: ToolVersion, path: string): readonly Problem[] {
  if (status === "active") return [];
  const what = status === "quarantined" ? "is quarantined: no call of it runs" : "is deprecated";
  return [{ path: `${path}.tool`, message: `${tool}@${version} ${what}` }];
}

function ceilingOf({ tool, spec }: ToolVersion, permissions: readonly string[], path: string): readonly Problem[] {
  const missing = missingPermissions(permissions, [`tool:invoke:${tool}`, ...spec.permissions]);
  if (missing.length === 0) return [];
  return [{ path: `${path}.tool`, message: `needs ${missing.join(", ")}, which is beyond spec.permissions: every call of it is denied` }];
}

/**
 * Problems for policies that are not published, or not in force.
 * @throws SignalboxError policy_error when it names any while they cannot be read
 */
export function checkAgentPolicies({ policies }: Pick<AgentPorts, "policies">, tenant: string, { tools, defaultPolicies }: AgentSpec): readonly Problem[] {
  const named = [
    ...defaultPolicies.map((reference, index) => ({ reference, path: `spec.default_policies[${index}]` })),
    ...tools.flatMap((binding, tool) => binding.policies.map((reference, index) => ({ reference, path: `spec.tools[${tool}].policies[${index}]` }))),
  ];
  if (named.length === 0) return [];
  const book = policies.current();
  if (!book.ok) throw new SignalboxError("policy_error", `${book.failure}; an agent that names policies is not published until they are`);
  return named
    .filter(({ reference }) => book.set.find({ tenant, reference }) === undefined)
    .map(({ reference, path }) => ({
      path,
      message: `names the policy ${reference}, and none of that name is in force in this tenant`,
      hint: "publish it first: signalbox policies publish <file>",
    }));
}

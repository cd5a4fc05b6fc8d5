// What an agent's model is shown, and what the turn machine knows of its tools: the bindings, with what their tools' versions say.
import type { AgentVersion, ToolBinding } from "../../registry/agents/types.ts";
import type { ToolVersion } from "../../registry/types.ts";
import { platformTenant } from "../../tenancy/types.ts";
import type { ShownTool } from "../../session/model.ts";
import type { BoundTool } from "../../session/turn/types.ts";
import type { Ledger } from "../../ledger/port.ts";

export interface Surface {
  /** All that the agent was given, in its order; whether a version is there shows when it is called. */
  readonly bound: readonly BoundTool[];
  /** Without those whose version is not there. */
  readonly shown: readonly ShownTool[];
  /** Names of tools whose manifests ask for the session's projection. */
  readonly projecting: ReadonlySet<string>;
}

export async function surfaceOf(ledger: Pick<Ledger, "toolVersion">, agent: AgentVersion): Promise<Surface> {
  const versions = await Promise.all(agent.spec.tools.map((binding) => versionOf(ledger, agent.tenant, binding)));
  const bound = agent.spec.tools.map(({ alias, tool, version, scheduling }, at) => ({ alias, tool, version, scheduling: scheduling ?? versions[at]?.spec.scheduling ?? "parallel" }));
  const shown = agent.spec.tools.flatMap((binding, at) => {
    const version = versions[at];
    return version === undefined || version.status === "quarantined" ? [] : [shownTool(binding, version)];
  });
  const projecting = agent.spec.tools.flatMap(({ tool }, at) => (versions[at]?.spec.context?.includes("projection") === true ? [tool] : []));
  return { bound, shown, projecting: new Set(projecting) };
}

async function versionOf(ledger: Pick<Ledger, "toolVersion">, tenant: string, { tool, version }: ToolBinding): Promise<ToolVersion | undefined> {
  return (await ledger.toolVersion(tenant, tool, version)) ?? (await ledger.toolVersion(platformTenant, tool, version));
}

function shownTool({ alias, input }: ToolBinding, { metadata, spec }: ToolVersion): ShownTool {
  const schema = input === undefined ? spec.input : { type: "object", allOf: [spec.input, input] };
  return { name: alias, description: metadata.description, input: schema };
}

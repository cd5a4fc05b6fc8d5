// Describes a call to the policies: who asks, for what tool, in which project, as which agent.
import { agentOf } from "../policy/agent.ts";
import type { Subject, Trigger } from "../policy/types.ts";
import type { ToolVersion } from "../registry/types.ts";

export interface SubjectFacts {
  readonly tenant: string;
  readonly project: string;
  readonly environment: string;
  readonly tool: Pick<ToolVersion, "tenant" | "tool" | "version" | "spec" | "metadata">;
  readonly principal: string;
  readonly roles: readonly string[];
  readonly context: Readonly<Record<string, unknown>>;
  readonly trigger: Trigger | null;
  /** References that the agent brings, beside the tool's own. */
  readonly attached?: Subject["attached"];
}

export function subjectOf(facts: SubjectFacts): Subject {
  const { tool, tenant, project, environment, principal, roles, context, trigger, attached = [] } = facts;
  return {
    tenant,
    project,
    environment,
    tool: { name: tool.tool, version: tool.version, class: tool.spec.sideEffectClass, labels: tool.metadata.labels },
    agent: agentOf(principal, context),
    principal: { name: principal, roles },
    context,
    attached: [...tool.spec.defaultPolicies.map((reference) => ({ tenant: tool.tenant, reference })), ...attached],
    trigger,
  };
}

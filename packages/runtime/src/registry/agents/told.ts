// An agent's version as it is told outside: the names of its manifest, defaults filled in, times in ms.
import type { AgentLimits, AgentSpec, AgentVersion, ToolBinding } from "./types.ts";

/** Of secrets the references; there are no values to tell. */
export function toldSpec({ model, instructions, tools, defaultPolicies, permissions, limits, secrets }: AgentSpec): Readonly<Record<string, unknown>> {
  return {
    model: {
      provider: model.provider,
      name: model.name,
      max_output_tokens: model.maxOutputTokens,
      temperature: model.temperature ?? null,
    },
    instructions,
    tools: tools.map(toldBinding),
    default_policies: defaultPolicies,
    permissions,
    limits: toldLimits(limits),
    secrets,
  };
}

function toldBinding({ tool, version, alias, input, scheduling, sideEffectClass, policies }: ToolBinding): Readonly<Record<string, unknown>> {
  return { tool, version, as: alias, input, scheduling: scheduling ?? null, side_effect_class: sideEffectClass ?? null, policies };
}

function toldLimits(limits: AgentLimits): Readonly<Record<string, unknown>> {
  return {
    max_steps: limits.stepsMax,
    max_tokens: limits.tokensMax,
    max_wall_clock_ms: limits.wallClockMsMax,
    max_tool_calls: limits.toolCallsMax,
    max_approval_wait_ms: limits.approvalWaitMsMax,
    max_concurrent_calls: limits.concurrentCallsMax,
    on_limit: limits.onLimit,
  };
}

/** What two versions are compared by: tools by their names, so that another order is no difference. */
export function comparable({ metadata, spec, children }: AgentVersion): Readonly<Record<string, unknown>> {
  const { owner, description, labels } = metadata;
  const tools = Object.fromEntries(spec.tools.map((binding) => [binding.tool, { ...toldBinding(binding), tool: undefined }]));
  return { metadata: { owner, description, labels }, spec: { ...toldSpec(spec), tools }, children };
}

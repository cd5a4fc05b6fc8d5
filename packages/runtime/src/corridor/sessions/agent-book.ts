// The agent versions that sessions run, in memory: they never change. Makes of a tool what an agent's binding leaves of it.
import type { ReadyTool } from "../catalog.ts";
import type { AgentVersion, ToolBinding } from "../../registry/agents/types.ts";
import type { Bound } from "./bound.ts";
import { compileSchema, type CompiledSchema, type InputVerdict } from "../../registry/schema.ts";

/** Versions, and tools as they are bound, that are remembered at most; over it all are read again. */
const rememberedMax = 2_000;

export interface AgentReads {
  agentVersion(tenant: string, agent: string, version: string): Promise<AgentVersion | undefined>;
}

/** As much of a call as says which agent made it. */
export interface MadeBy {
  readonly tenant: string;
  readonly sessionId: string;
  readonly contextJson: string;
}

export class AgentBook {
  readonly #reads: AgentReads;
  readonly #versions = new Map<string, AgentVersion>();
  readonly #bound = new Map<string, ReadyTool>();

  constructor(reads: AgentReads) {
    this.#reads = reads;
  }

  async version(tenant: string, agent: string, version: string): Promise<AgentVersion | undefined> {
    const key = `${tenant}\n${agent}\n${version}`;
    const known = this.#versions.get(key);
    if (known !== undefined) return known;
    const read = await this.#reads.agentVersion(tenant, agent, version);
    if (read !== undefined) remember(this.#versions, key, read);
    return read;
  }

  /** The tool as the agent of this call has it; a call outside of every session has it as it is. */
  async toolFor(call: MadeBy, ready: ReadyTool): Promise<ReadyTool> {
    if (call.sessionId === "") return ready;
    const { agent, agent_version: version } = JSON.parse(call.contextJson) as { readonly agent?: unknown; readonly agent_version?: unknown };
    const row = await this.version(call.tenant, String(agent), String(version));
    if (row === undefined) throw new Error(`the agent ${String(agent)}@${String(version)} of a session's call is not in the ledger`);
    return this.bind(row, ready);
  }

  bind(agent: AgentVersion, ready: ReadyTool): ReadyTool {
    const { tool, manifestDigest } = ready.version;
    const key = `${agent.tenant}\n${agent.versionId}\n${tool}\n${manifestDigest}`;
    const known = this.#bound.get(key);
    if (known !== undefined) return known;
    const made = boundTool(agent, agent.spec.tools.find((one) => one.tool === tool), ready);
    remember(this.#bound, key, made);
    return made;
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size >= rememberedMax) map.clear();
  map.set(key, value);
}

/** Without a binding nothing is allowed: no agent calls what it was not given. */
function boundTool(agent: AgentVersion, binding: ToolBinding | undefined, ready: ReadyTool): ReadyTool {
  const { tenant, spec } = agent;
  const attached = [...spec.defaultPolicies, ...(binding?.policies ?? [])].map((reference) => ({ tenant, reference }));
  const bound: Bound = { agent: agent.agent, attached, ceiling: binding === undefined ? [] : spec.permissions };
  if (binding === undefined) return { ...ready, bound };
  const sideEffectClass = (binding.sideEffectClass ?? ready.version.spec.sideEffectClass) as ReadyTool["version"]["spec"]["sideEffectClass"];
  const scheduling = binding.scheduling ?? ready.version.spec.scheduling;
  const version = { ...ready.version, spec: { ...ready.version.spec, sideEffectClass, scheduling } };
  return { ...ready, version, input: binding.input === undefined ? ready.input : both(ready.input, tighter(agent, binding)), bound };
}

function tighter(agent: AgentVersion, binding: ToolBinding): CompiledSchema {
  const compiled = compileSchema(binding.input, "input");
  if (!compiled.ok) throw new Error(`the input schema that ${agent.agent}@${agent.version} binds ${binding.tool} with no longer compiles`);
  return compiled;
}

/** What the tool's own schema makes of the value is what the binding's must take. */
function both(first: CompiledSchema, second: CompiledSchema): CompiledSchema {
  return {
    ...first,
    validate: (value) => {
      const verdict = first.validate(value);
      return verdict.ok ? second.validate(value) : verdict;
    },
    validateInput(value): InputVerdict {
      const verdict = first.validateInput(value);
      if (!verdict.ok) return verdict;
      const again = second.validate(verdict.value);
      return again.ok ? verdict : again;
    },
  };
}

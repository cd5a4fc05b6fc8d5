// An agent and its versions as data: what a manifest of kind Agent says once it has been read, checked and pinned.

export const limitActions = ["halt", "escalate"] as const;
export type LimitAction = (typeof limitActions)[number];

/** Which model, and how it is asked. */
export interface ModelChoice {
  /** `anthropic`, `openai`, `scripted`, or the name under which the operator configured an OpenAI-compatible server. */
  readonly provider: string;
  readonly name: string;
  readonly maxOutputTokens: number;
  /** Undefined: the provider's own default. */
  readonly temperature: number | undefined;
}

/** A tool that the agent may call. It may only tighten what the tool's version says. */
export interface ToolBinding {
  readonly tool: string;
  /** Exact. */
  readonly version: string;
  /** What the model calls it; 1 … 64 of `A-Z a-z 0-9 _ -`, unique in the agent. */
  readonly alias: string;
  /** A second JSON Schema that the input must match as well; undefined = none. */
  readonly input: unknown;
  /** Undefined: the tool's own. Else `parallel`, `serial(template)` or `exclusive`, never looser than the tool's. */
  readonly scheduling: string | undefined;
  /** Undefined: the tool's own; else one that is at least as strict. */
  readonly sideEffectClass: string | undefined;
  /** `name@version` of published policies; a name alone is whatever version is in force. */
  readonly policies: readonly string[];
}

/** Budgets of one turn; times in ms. */
export interface AgentLimits {
  readonly stepsMax: number;
  /** Input and output together. */
  readonly tokensMax: number;
  /** Without the time in which people were waited for. */
  readonly wallClockMsMax: number;
  readonly toolCallsMax: number;
  /** How long one question may be waited for; always halts. */
  readonly approvalWaitMsMax: number;
  /** Calls of one batch that run at once. */
  readonly concurrentCallsMax: number;
  readonly onLimit: LimitAction;
}

export interface AgentSpec {
  readonly model: ModelChoice;
  readonly instructions: string;
  readonly tools: readonly ToolBinding[];
  readonly defaultPolicies: readonly string[];
  /** What its calls may need at most, whoever started it (`domain:action:resource`, or `*`). */
  readonly permissions: readonly string[];
  readonly limits: AgentLimits;
  /** Names and `secret://…` or `env:NAME` references, never values. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface AgentMetadata {
  readonly name: string;
  readonly version: string;
  readonly owner: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** `deprecated`: goes on where it runs, and starts nowhere. `retired`: the same, and never comes back. */
export const agentStatuses = ["published", "deprecated", "retired"] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/** One immutable published version. */
export interface AgentVersion {
  readonly tenant: string;
  readonly agent: string;
  readonly version: string;
  /** `agv_…`: stands in the ids of its calls. */
  readonly versionId: string;
  readonly metadata: AgentMetadata;
  readonly spec: AgentSpec;
  /** Agents that its tools run, each pinned when this version was published: name → version. */
  readonly children: Readonly<Record<string, string>>;
  /** SHA-256 (hex) of the canonical manifest. */
  readonly manifestDigest: string;
  readonly status: AgentStatus;
  readonly publishedAt: number;
  readonly publishedBy: string;
}

export interface AgentRecord {
  readonly tenant: string;
  readonly agent: string;
  /** What a session runs that names no version; null = none is deployed. */
  readonly deployedVersion: string | null;
  readonly latestVersion: string;
  readonly description: string;
  readonly owner: string;
  readonly createdAt: number;
  /** An archived agent starts no sessions; its versions and history stay. */
  readonly archivedAt: number | null;
}

export const agentActions = ["publish", "deploy", "roll_back", "deprecate", "undeprecate", "retire", "archive", "unarchive"] as const;

/** One thing that was done to an agent, kept for ever. */
export interface AgentChange {
  readonly tenant: string;
  readonly agent: string;
  readonly action: (typeof agentActions)[number];
  /** Empty where the whole agent is meant. */
  readonly version: string;
  readonly at: number;
  readonly by: string;
  readonly comment: string;
}

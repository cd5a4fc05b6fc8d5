// The client's part for agents: publish, choose which version runs, take versions out of use, look back.
import { documentRequest, segment, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import { lister } from "./paged.ts";
import type { Lister } from "./paged.ts";
import type { Page, PageQuery } from "./types.ts";

/** Instants are ISO 8601 text. */
export interface Agent {
  readonly agent: string;
  /** What a session runs that names no version. */
  readonly deployed_version: string | null;
  /** The one that was published last. */
  readonly latest_version: string;
  readonly description: string;
  readonly owner: string;
  readonly created_at: string;
  /** An archived agent starts no sessions. */
  readonly archived_at: string | null;
}

export type AgentStatus = "published" | "deprecated" | "retired";

export interface ToolBinding {
  readonly tool: string;
  readonly version: string;
  /** What the model calls it. */
  readonly as: string;
  /** JSON Schema that the input must match beside the tool's own. */
  readonly input?: unknown;
  /** Null: as the tool says. */
  readonly scheduling: string | null;
  readonly side_effect_class: string | null;
  readonly policies: readonly string[];
}

export interface AgentSpec {
  readonly model: { readonly provider: string; readonly name: string; readonly max_output_tokens: number; readonly temperature: number | null };
  readonly instructions: string;
  readonly tools: readonly ToolBinding[];
  readonly default_policies: readonly string[];
  readonly permissions: readonly string[];
  readonly limits: {
    readonly max_steps: number;
    readonly max_tokens: number;
    readonly max_wall_clock_ms: number;
    readonly max_tool_calls: number;
    readonly max_approval_wait_ms: number;
    readonly max_concurrent_calls: number;
    readonly on_limit: "halt" | "escalate";
  };
  /** References, by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** What a line of a list of versions and a whole version have in common. */
interface AgentVersionFacts {
  readonly agent: string;
  readonly version: string;
  readonly version_id: string;
  readonly status: AgentStatus;
  readonly deployed: boolean;
  readonly manifest_digest: string;
  readonly published_at: string;
  readonly published_by: string;
}

export interface AgentVersion extends AgentVersionFacts {
  readonly owner: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Agents that its tools run: name → version. */
  readonly children: Readonly<Record<string, string>>;
  readonly spec: AgentSpec;
}

export interface AgentVersionLine extends AgentVersionFacts {
  /** `provider/name` */
  readonly model: string;
  readonly tools: number;
}

export interface PublishedAgent extends AgentVersion {
  /** The same manifest was published before; nothing has changed. */
  readonly already_there: boolean;
  readonly dry_run: boolean;
  readonly warnings: readonly { readonly path: string; readonly message: string; readonly hint?: string }[];
}

export interface AgentDetail extends Agent {
  readonly versions: readonly string[];
  readonly version: AgentVersion;
}

export interface RolledBackAgent extends Agent {
  /** The version that was deployed before. */
  readonly from: string;
}

export interface AgentDiff {
  readonly agent: string;
  readonly from: string;
  readonly to: string;
  /** Null: it is not there. */
  readonly differences: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** That were found and are not told. */
  readonly more: number;
}

export interface AgentChange {
  readonly agent: string;
  readonly action: "publish" | "deploy" | "roll_back" | "deprecate" | "undeprecate" | "retire" | "archive" | "unarchive";
  /** Null: the whole agent was meant. */
  readonly version: string | null;
  readonly at: string;
  readonly by: string;
  readonly comment: string;
}

/** Kept with the change and in the audit. */
export interface Commented {
  readonly comment?: string;
}

export interface AgentsClient {
  /** The same manifest again changes nothing. @param manifest as data, or as YAML text */
  publish(manifest: object | string, how?: Commented & { readonly dryRun?: boolean }, options?: AskOptions): Promise<PublishedAgent>;
  readonly list: Lister<Agent>;
  /** Without a version: the deployed one, else the one that was published last. */
  get(agent: string, query?: { readonly version?: string }, options?: AskOptions): Promise<AgentDetail>;
  /** Newest first. */
  versions(agent: string, query?: PageQuery, options?: AskOptions): Promise<Page<AgentVersionLine>>;
  deploy(agent: string, version: string, how?: Commented, options?: AskOptions): Promise<Agent>;
  /** Without a version: to the one that was deployed before. */
  rollBack(agent: string, how?: Commented & { readonly version?: string }, options?: AskOptions): Promise<RolledBackAgent>;
  /** It starts no more sessions; `deprecated: false` lets it again. */
  deprecate(agent: string, version: string, how?: Commented & { readonly deprecated?: boolean }, options?: AskOptions): Promise<AgentVersion>;
  /** The same, for good. */
  retire(agent: string, version: string, how?: Commented, options?: AskOptions): Promise<AgentVersion>;
  archive(agent: string, how?: Commented, options?: AskOptions): Promise<Agent>;
  unarchive(agent: string, how?: Commented, options?: AskOptions): Promise<Agent>;
  diff(agent: string, from: string, to: string, options?: AskOptions): Promise<AgentDiff>;
  /** The newest changes first; there is no second page. */
  history(agent: string, options?: AskOptions): Promise<Page<AgentChange>>;
}

export function agents(ask: Ask): AgentsClient {
  const { get, post } = verbsOf(ask);
  const place = (agent: string, verb = ""): string => `/v1/agents/${segment(agent)}${verb}`;
  return {
    async publish(manifest, { dryRun, comment } = {}, how) {
      return (await ask(documentRequest(ask, "/v1/agents", manifest, { dry_run: dryRun, comment }), how)).body as PublishedAgent;
    },
    list: lister(async (query, how) => (await get("/v1/agents", { ...query }, how)) as Page<Agent>),
    get: async (agent, query = {}, how) => (await get(place(agent), { ...query }, how)) as AgentDetail,
    versions: async (agent, query = {}, how) => (await get(place(agent, "/versions"), { ...query }, how)) as Page<AgentVersionLine>,
    deploy: async (agent, version, more, how) => (await post(place(agent, "/deploy"), { ...more, version }, true, how)) as Agent,
    // Said twice it would go back twice.
    rollBack: async (agent, more = {}, how) => (await post(place(agent, "/rollback"), { ...more }, false, how)) as RolledBackAgent,
    deprecate: async (agent, version, more, how) => (await post(place(agent, "/deprecate"), { ...more, version }, true, how)) as AgentVersion,
    retire: async (agent, version, more, how) => (await post(place(agent, "/retire"), { ...more, version }, true, how)) as AgentVersion,
    archive: async (agent, more = {}, how) => (await post(place(agent, "/archive"), { ...more }, true, how)) as Agent,
    unarchive: async (agent, more = {}, how) => (await post(place(agent, "/unarchive"), { ...more }, true, how)) as Agent,
    diff: async (agent, from, to, how) => (await get(place(agent, "/diff"), { from, to }, how)) as AgentDiff,
    history: async (agent, how) => (await get(place(agent, "/history"), undefined, how)) as Page<AgentChange>,
  };
}

// What a front door can ask about agents: publish, choose which version sessions run, take versions out of use, look back.
import type { Problem } from "./document/problems.ts";
import type { Page } from "./ledger/port.ts";
import type { Difference } from "./registry/agents/diff.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "./registry/agents/types.ts";
import type { Asked } from "./tenancy/types.ts";

export interface PublishedAgent {
  readonly version: AgentVersion;
  /** True when the same manifest was published before; nothing has changed then. */
  readonly alreadyThere: boolean;
  /** Whether it is the version that new sessions run. */
  readonly deployed: boolean;
  readonly warnings: readonly Problem[];
}

export interface AgentView {
  readonly record: AgentRecord;
  readonly version: AgentVersion;
  /** The names of all versions, in the order in which they were published. */
  readonly versions: readonly string[];
}

export interface AgentDiff {
  readonly from: AgentVersion;
  readonly to: AgentVersion;
  readonly differences: readonly Difference[];
  /** That were found and are not told. */
  readonly more: number;
}

/** What was done to a version, and whether new sessions run it (or would, were it not for that). */
export interface ChangedVersion {
  readonly version: AgentVersion;
  readonly deployed: boolean;
}

/** Reading asks for the scope tools:read or sessions:read, changing for tools:write. `comment` is kept with the change. */
export interface AgentService {
  /** @param document parsed YAML or JSON. `dryRun` checks and stores nothing. */
  publishAgent(asked: Asked, document: unknown, options: { readonly dryRun?: boolean; readonly comment?: string }): Promise<PublishedAgent>;
  /** By name. */
  listAgents(asked: Asked, limit: number, cursor?: string): Promise<Page<AgentRecord>>;
  /** None given = the deployed version, else the one that was published last. */
  getAgent(asked: Asked, agent: string, version?: string): Promise<AgentView>;
  /** In the order in which they were published. */
  agentVersions(asked: Asked, agent: string): Promise<{ readonly record: AgentRecord; readonly versions: readonly AgentVersion[] }>;
  deployAgent(asked: Asked, agent: string, version: string, comment: string): Promise<AgentRecord>;
  /** To the version that was deployed before, unless one is named. */
  rollBackAgent(asked: Asked, agent: string, version: string | undefined, comment: string): Promise<{ readonly record: AgentRecord; readonly from: string }>;
  deprecateAgent(asked: Asked, agent: string, version: string, deprecated: boolean, comment: string): Promise<ChangedVersion>;
  /** For good. */
  retireAgent(asked: Asked, agent: string, version: string, comment: string): Promise<ChangedVersion>;
  /** Doing it again changes nothing and is no error. */
  archiveAgent(asked: Asked, agent: string, archived: boolean, comment: string): Promise<AgentRecord>;
  diffAgent(asked: Asked, agent: string, from: string, to: string): Promise<AgentDiff>;
  /** The newest changes first. */
  agentHistory(asked: Asked, agent: string): Promise<readonly AgentChange[]>;
}

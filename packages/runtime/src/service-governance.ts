// What a front door can ask about policies, approvals, the registry and the brakes; the part of the service that people use.
import type { Call } from "./call/types.ts";
import type { Problem } from "./document/problems.ts";
import type { Page } from "./ledger/port.ts";
import type { Delivery, Webhook } from "./ledger/webhooks.ts";
import type { CaseResult } from "./policy/cases.ts";
import type { Explanation } from "./policy/explain.ts";
import type { RouteProgress } from "./policy/approval/machine.ts";
import type { Approval, ApprovalState, Vote, VoteDecision } from "./policy/approval/types.ts";
import type { PolicyDefault, PolicyLevel, PolicyVersion, StoredPolicy, Trigger } from "./policy/types.ts";
import type { Activation, Freeze, ProjectTool, ToolPin, ToolRecord, ToolVersion } from "./registry/types.ts";
import type { Asked, Project } from "./tenancy/types.ts";

export interface PublishedPolicy {
  readonly policy: StoredPolicy;
  /** True when the same document was published before; nothing has changed then. */
  readonly alreadyThere: boolean;
  readonly warnings: readonly Problem[];
  /** Known tools that the policy's patterns name. */
  readonly toolsHit: readonly string[];
}

export interface PolicyQuery {
  readonly level?: PolicyLevel;
  readonly project?: string;
  readonly name?: string;
  readonly status?: PolicyVersion["status"];
  /** The platform's policies, which a tenant may read: they bind its calls. */
  readonly platform?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

/** A call that nobody makes; what is left out is the caller's own. */
export interface PolicyQuestion {
  readonly tool: string;
  readonly version?: string;
  readonly project?: string;
  /** Parsed JSON; absent: only rules that read no arguments are heard. */
  readonly input?: unknown;
  readonly context?: Readonly<Record<string, unknown>>;
  /** Another than the caller needs the scope policies:write. */
  readonly principal?: string;
  readonly roles?: readonly string[];
  readonly agent?: string;
  readonly environment?: string;
  readonly trigger?: Trigger;
  /** Calls so far; absent: what the ledger counts for windows, and none in turn and session. */
  readonly counts?: { readonly turn?: number; readonly session?: number; readonly windows?: Readonly<Record<string, number>> };
  /** Wall clock, ms since 1970; absent: now. */
  readonly now?: number;
}

export interface PolicyAnswer {
  readonly explanation: Explanation;
  /** The same for a terminal. */
  readonly lines: readonly string[];
  /** Permissions that the call would need and the principal lacks: it would be denied before any rule is heard. */
  readonly missingPermissions: readonly string[];
  /** Why the input does not match the tool's schema; null = it does, or none was given. */
  readonly inputErrors: readonly unknown[] | null;
}

export interface PolicyService {
  /** Scope policies:write. @param document parsed YAML or JSON. `dryRun` checks and stores nothing. */
  publishPolicy(asked: Asked, document: unknown, options: { readonly dryRun?: boolean }): Promise<PublishedPolicy>;
  listPolicies(asked: Asked, query: PolicyQuery): Promise<Page<PolicyVersion>>;
  /** None given = the active version, else the newest. `platform` reads the platform's. */
  getPolicy(asked: Asked, name: string, version: string | undefined, platform: boolean): Promise<{ readonly policy: StoredPolicy; readonly versions: readonly string[] }>;
  /** `active`: puts an older version in force again. `withdrawn`: takes it out of force. */
  setPolicyStatus(asked: Asked, name: string, version: string, status: "active" | "withdrawn"): Promise<PolicyVersion>;
  /** The caller's tenant's, and the platform's. */
  policyDefaults(asked: Asked): Promise<readonly PolicyDefault[]>;
  setPolicyDefault(asked: Asked, project: string, decision: "allow" | "deny" | null): Promise<PolicyDefault>;
  explainPolicy(asked: Asked, question: PolicyQuestion): Promise<PolicyAnswer>;
  /** @param candidates policy documents that are tried as if they were published */
  testPolicies(asked: Asked, cases: unknown, candidates: readonly unknown[]): Promise<readonly CaseResult[]>;
}

export interface ApprovalQuery {
  readonly project?: string;
  readonly status?: ApprovalState;
  readonly tool?: string;
  readonly executionId?: string;
  readonly requester?: string;
  /** Only what the caller itself could decide now. */
  readonly mine?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ApprovalDetail {
  readonly approval: Approval;
  readonly votes: readonly Vote[];
  readonly progress: readonly RouteProgress[];
  /** The call it is about; undefined for another kind of question. */
  readonly call: Call | undefined;
  /** Why the asking principal has no vote here; null = it has one. */
  readonly mayNotVote: string | null;
}

export interface NewVote {
  readonly decision: VoteDecision;
  /** Of the arguments that the voter saw; a vote on other arguments is refused. */
  readonly argsHash: string;
  readonly comment?: string;
  /** Changed arguments, parsed JSON; only with `approve`. */
  readonly args?: unknown;
  /** The voter says that it has understood what it allows. */
  readonly comprehended?: boolean;
}

export interface VoteAnswer extends ApprovalDetail {
  readonly said: "counted" | "repeated" | "stored_outcome";
}

export interface ApprovalService {
  /** Scope approvals:decide or calls:read, like `getApproval`. */
  listApprovals(asked: Asked, query: ApprovalQuery): Promise<Page<Approval>>;
  getApproval(asked: Asked, approvalId: string): Promise<ApprovalDetail>;
  /** Scope approvals:decide. Resolves when the vote, and what follows from it, is stored. */
  vote(asked: Asked, approvalId: string, vote: NewVote): Promise<VoteAnswer>;
}

export interface RegistryService {
  /** An exact version or a range for callers that name none; null takes the pin away. */
  pinTool(asked: Asked, tool: string, requested: string | null): Promise<ToolPin>;
  toolPins(asked: Asked): Promise<readonly ToolPin[]>;
  /** Back to the version that was active before; or to `to`. */
  rollBackTool(asked: Asked, tool: string, to: string | undefined): Promise<{ readonly record: ToolRecord; readonly from: string }>;
  activations(asked: Asked, tool: string): Promise<readonly Activation[]>;
  deprecateTool(asked: Asked, tool: string, version: string, deprecated: boolean): Promise<ToolVersion>;
  /** One version, or all of them; denies what is queued and parked. `released` lifts it. */
  quarantineTool(
    asked: Asked,
    tool: string,
    version: string | undefined,
    options: { readonly released: boolean; readonly reason: string },
  ): Promise<{ readonly versions: readonly string[]; readonly denied: number }>;
  enableTool(asked: Asked, project: string, tool: string, enabled: boolean): Promise<ProjectTool>;
  projectTools(asked: Asked): Promise<readonly ProjectTool[]>;
  listProjects(asked: Asked): Promise<readonly Project[]>;
  /** Makes a project, or changes its label `environment`. */
  putProject(asked: Asked, project: string, environment: string): Promise<Project>;
}

export interface BrakeService {
  /**
   * Stops dispatch of the caller's tenant (or of one tool in it) at once. The platform's operator stops every tenant, or
   * the one that is named.
   */
  freeze(asked: Asked, tool: string, reason: string, tenant?: string): Promise<Freeze>;
  unfreeze(asked: Asked, tool: string, tenant?: string): Promise<{ readonly lifted: boolean }>;
  listFreezes(asked: Asked): Promise<readonly Freeze[]>;
}

export interface WebhookService {
  /** The secret is shown once. */
  addWebhook(asked: Asked, url: string, types: readonly string[]): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  listWebhooks(asked: Asked): Promise<readonly Webhook[]>;
  removeWebhook(asked: Asked, webhookId: string): Promise<void>;
  listDeliveries(
    asked: Asked,
    filter: { readonly webhookId?: string; readonly state?: Delivery["state"] },
    limit: number,
    cursor?: string,
  ): Promise<Page<Delivery>>;
}

export interface GovernanceService extends PolicyService, ApprovalService, RegistryService, BrakeService, WebhookService {}

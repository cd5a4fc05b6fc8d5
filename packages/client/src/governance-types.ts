// What the REST API says and takes about policies, approvals, projects, freezes and webhooks, field for field.
import type { Execution, ExecutionPolicy, MatchedRule, PageQuery } from "./types.ts";

export type PolicyDecision = "allow" | "deny" | "require_approval";
export type PolicyLevel = "platform" | "tenant" | "project" | "attached";
export type PolicyStatus = "active" | "superseded" | "withdrawn";

/** Whom a rule concerns; an empty list is anybody or anything. */
export interface PolicyMatch {
  readonly tools: readonly string[];
  readonly agents: readonly string[];
  readonly principals: readonly string[];
  readonly environments: readonly string[];
  readonly triggers: readonly string[];
}

/** Who is asked before a call may run, and what happens when nobody answers. */
export interface PolicyApproval {
  /** The role that a voter must hold. */
  readonly route: string;
  /** How many distinct people must approve. */
  readonly approvals: number;
  readonly distinct_from_requester: boolean;
  readonly timeout_ms: number;
  readonly on_timeout: "deny" | "allow" | "escalate";
  readonly on_reject: "return_to_agent" | "fail";
  readonly escalate_to: string | null;
  readonly comprehension: boolean;
}

/** What all matching rules together ask for: every route its quorum. */
export interface ApprovalRequirements extends Omit<PolicyApproval, "route" | "approvals"> {
  readonly routes: readonly ApprovalRoute[];
  readonly reason: string;
}

/** What a call that may run must keep to; an absent part demands nothing, an empty list leaves nothing. */
export interface PolicyObligations {
  readonly limits: Readonly<Record<string, number>>;
  readonly sandbox?: string;
  readonly egress?: readonly string[];
  readonly paths?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
}

/** One published version of a policy, or what would be published. Instants are ISO 8601 text. */
export interface Policy {
  readonly name: string;
  readonly version: string;
  readonly level: PolicyLevel;
  /** Empty but for level `project`. */
  readonly project: string;
  readonly mode: "enforce" | "observe";
  readonly status: PolicyStatus;
  readonly digest: string;
  readonly match: PolicyMatch;
  /** The source of the condition; null = always. */
  readonly when: string | null;
  readonly missing: "match" | "skip" | "deny" | null;
  readonly decision: PolicyDecision;
  readonly reason: string;
  /** Set exactly when the decision is `require_approval`. */
  readonly approval: PolicyApproval | null;
  readonly obligations: PolicyObligations;
  readonly published_at: string;
  readonly published_by: string;
  /** Whose policy it is: a tenant, or `platform`. */
  readonly tenant: string;
}

export interface PolicyWarning {
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

export interface PublishedPolicy extends Policy {
  /** True when the same document was published before. */
  readonly already_there: boolean;
  readonly dry_run: boolean;
  /** Known tools that the policy's patterns name. */
  readonly tools_hit: readonly string[];
  readonly warnings: readonly PolicyWarning[];
}

export interface PolicyDetail extends Policy {
  /** As it was published. */
  readonly document: unknown;
  readonly versions: readonly string[];
}

/** `platform`: the platform's policies, which bind every tenant's calls. */
export interface PolicyQuery extends PageQuery {
  readonly level?: PolicyLevel;
  readonly project?: string;
  readonly name?: string;
  readonly status?: PolicyStatus;
  readonly platform?: boolean;
}

/** What a level says where none of its rules matches; `project` empty = the whole tenant's (or platform's) level. */
export interface PolicyDefault {
  readonly tenant: string;
  readonly project: string;
  /** Null: nothing is set, which is `allow`. */
  readonly decision: "allow" | "deny" | null;
  readonly changed_at: string;
  readonly changed_by: string;
}

/** A call that nobody makes; what is left out is the caller's own. */
export interface PolicyQuestion {
  readonly tool: string;
  readonly version?: string;
  readonly project?: string;
  /** Absent: only rules that read no arguments are heard. */
  readonly input?: unknown;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly principal?: string;
  readonly roles?: readonly string[];
  readonly agent?: string;
  readonly environment?: string;
  readonly trigger?: string;
  /** Calls so far; windows by their length: `{"10m": 3}`. */
  readonly counts?: {
    readonly turn?: number;
    readonly session?: number;
    readonly windows?: Readonly<Record<string, number>>;
  };
  /** An RFC 3339 instant; absent: now. */
  readonly now?: string;
}

export interface ExplainedRule {
  readonly policy: string;
  readonly version: string;
  readonly tenant: string;
  readonly level: PolicyLevel;
  readonly mode: "enforce" | "observe";
  readonly verdict: "matched" | "not_matched" | "failed" | "waiting";
  readonly outcome: PolicyDecision;
  readonly reason: string;
  readonly when: string | null;
  /** One sentence each: the parts of the condition that decided, with the values they had. */
  readonly because: readonly string[];
}

/** What would happen to a call, and why. */
export interface PolicyExplanation {
  /** Null: a trigger on which no rule has a say. */
  readonly decision: PolicyDecision | null;
  readonly reason: string | null;
  /** The error code of a denial; null when it is none. */
  readonly code: string | null;
  /** The rule that the reason comes from. */
  readonly deciding: MatchedRule | null;
  readonly rules: readonly ExplainedRule[];
  readonly approval: ApprovalRequirements | null;
  readonly obligations: PolicyObligations | null;
  /** The same for a terminal. */
  readonly lines: readonly string[];
  /** Permissions that the principal lacks: the call would be denied before any rule is heard. */
  readonly missing_permissions: readonly string[];
  /** Why the input does not match the tool's schema; null = it does, or none was given. */
  readonly input_errors: readonly unknown[] | null;
}

export interface PolicyCaseResult {
  readonly name: string;
  readonly passed: boolean;
  readonly failures: readonly string[];
  readonly explanation: readonly string[];
}

export interface PolicyTestResult {
  readonly passed: number;
  readonly failed: number;
  readonly items: readonly PolicyCaseResult[];
}

export type ApprovalStatus = "pending" | "approved" | "rejected" | "expired" | "cancelled" | "escalated";

/** So many distinct people who hold this role must approve. */
export interface ApprovalRoute {
  /** Empty = everybody who may decide. */
  readonly route: string;
  readonly quorum: number;
  /** Who counts there by now; told of one approval, not in lists. */
  readonly voters?: readonly string[];
}

/** A question put to people. Instants are ISO 8601 text. */
export interface Approval {
  readonly approval_id: string;
  readonly status: ApprovalStatus;
  /** `call`: may it run; `resolve`: how did it end; `limit`: may the session go on. */
  readonly kind: "call" | "resolve" | "limit";
  readonly execution_id: string | null;
  readonly session_id: string | null;
  readonly project: string;
  readonly tool: string;
  readonly version: string;
  readonly requester: string;
  /** For whom an agent asked; empty when nobody stands behind it. */
  readonly on_behalf_of: string;
  readonly reason: string;
  readonly routes: readonly ApprovalRoute[];
  readonly distinct_from_requester: boolean;
  readonly comprehension: boolean;
  readonly on_timeout: "deny" | "allow" | "escalate";
  readonly on_reject: "return_to_agent" | "fail";
  readonly escalate_to: string | null;
  readonly depth: number;
  readonly escalated_from: string | null;
  readonly escalated_to: string | null;
  /** SHA-256 (hex) of the arguments that voters see; every vote names it. */
  readonly args_hash: string;
  /** True when a person changed the arguments. */
  readonly edited: boolean;
  readonly opened_at: string;
  readonly expires_at: string;
  readonly closed_at: string | null;
  readonly closed_by: string | null;
  readonly outcome: string | null;
}

export interface Vote {
  readonly voter: string;
  readonly decision: "approve" | "reject";
  readonly args_hash: string;
  readonly comment: string;
  /** True when the vote changed the arguments. */
  readonly edited: boolean;
  readonly comprehended: boolean;
  readonly at: string;
  /** It came after the close and counts nowhere. */
  readonly late: boolean;
}

export interface ApprovalDetail extends Approval {
  /** Parsed by `JSON.parse`: numbers beyond 2^53 are rounded here; `argsText` of the client's answers keeps them. */
  readonly args: unknown;
  readonly votes: readonly Vote[];
  /** The call that it is about; null for another kind of question. */
  readonly execution: Execution | null;
  /** What the policies said of the call, and which rules matched. */
  readonly policy: ExecutionPolicy | null;
  /** Why this key's principal has no vote here; null = it has one. */
  readonly may_not_vote: string | null;
}

export interface VoteAnswer extends ApprovalDetail {
  /** `repeated`: the same vote was there; `stored_outcome`: it was closed with that decision already. */
  readonly said: "counted" | "repeated" | "stored_outcome";
}

export interface ApprovalQuery extends PageQuery {
  readonly project?: string;
  readonly status?: ApprovalStatus;
  readonly tool?: string;
  readonly execution_id?: string;
  readonly requester?: string;
  /** Only what this key's principal could decide now. */
  readonly mine?: boolean;
}

export interface Project {
  readonly project: string;
  /** The label that policies match. */
  readonly environment: string;
  readonly created_at: string;
}

/** Stops dispatch; what runs goes on. */
export interface Freeze {
  /** `platform`: of every tenant. */
  readonly tenant: string;
  /** Empty: all tools. */
  readonly tool: string;
  readonly reason: string;
  readonly at: string;
  readonly by: string;
}

export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  /** Types of notices it wants; empty = all. */
  readonly types: readonly string[];
  readonly created_at: string;
  readonly created_by: string;
}

export interface CreatedWebhook extends Webhook {
  /** Signs every delivery; in this answer and nowhere else, ever. */
  readonly secret: string;
}

export type DeliveryState = "pending" | "delivered" | "dead";

/** One notice on its way to one webhook. */
export interface Delivery {
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly type: string;
  readonly approval_id: string;
  /** When it happened. */
  readonly at: string;
  /** Hashes, names and counts, never arguments. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly next_at: string | null;
  readonly ended_at: string | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

export interface DeliveryQuery extends PageQuery {
  readonly webhook_id?: string;
  readonly state?: DeliveryState;
}

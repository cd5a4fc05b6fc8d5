// A policy as data: what a document says once it has been read, and what a call looks like to it.
import type { SideEffectClass } from "@signalbox/protocol";

export const outcomes = ["allow", "deny", "require_approval"] as const;
export type Outcome = (typeof outcomes)[number];

/** `attached`: no level of its own; it applies only where a tool, an agent or a binding names it. */
export const policyLevels = ["platform", "tenant", "project", "attached"] as const;
export type PolicyLevel = (typeof policyLevels)[number];

export const policyModes = ["enforce", "observe"] as const;
export type PolicyMode = (typeof policyModes)[number];

/** What a condition that reads an absent field comes to. */
export const absences = ["match", "skip", "deny"] as const;
export type Absence = (typeof absences)[number];

/** What may go wrong with a call or a session after it was allowed; only rules that name it apply then. */
export const triggers = [
  "dispatch.no_handler",
  "dispatch.capacity_exhausted",
  "dispatch.lease_expired",
  "dispatch.indeterminate",
  "limit.steps",
  "limit.tokens",
  "limit.wall_clock",
  "limit.tool_calls",
] as const;
export type Trigger = (typeof triggers)[number];

/** Isolation backends that a rule may demand, with their ranks; a stronger one always does. */
export const sandboxRanks = { native: 10, container: 30, gvisor: 40, wasm: 40, microvm: 50 } as const;
export type SandboxName = keyof typeof sandboxRanks;
export const sandboxNames = Object.keys(sandboxRanks) as readonly SandboxName[];

/**
 * Whom a rule concerns; an empty list is anybody or anything. Names are exact, or end in `*` after one of `. : / -`
 * (`payments.*`, `user:*`); environments are exact.
 */
export interface Match {
  readonly tools: readonly string[];
  readonly agents: readonly string[];
  readonly principals: readonly string[];
  readonly environments: readonly string[];
  /** Empty: the ordinary decision before a call. */
  readonly triggers: readonly Trigger[];
}

export type OnTimeout = "deny" | "allow" | "escalate";
export type OnReject = "return_to_agent" | "fail";

export interface ApprovalDemand {
  /** The role that a voter must hold. */
  readonly route: string;
  readonly approvals: number;
  readonly distinctFromRequester: boolean;
  readonly timeoutMs: number;
  readonly onTimeout: OnTimeout;
  readonly onReject: OnReject;
  /** The route that takes over; null unless `onTimeout` is `escalate`. */
  readonly escalateTo: string | null;
  /** Voters must say that they have understood. */
  readonly comprehension: boolean;
}

export const obligedLimits = [
  "timeoutMs",
  "cpu",
  "cpuSeconds",
  "memoryBytes",
  "diskBytes",
  "pids",
  "fds",
  "outputBytes",
  "egressBytes",
] as const;
export type ObligedLimit = (typeof obligedLimits)[number];

/** What a call that may run must keep to; an absent part demands nothing, an empty list leaves nothing. */
export interface Obligations {
  readonly limits: Readonly<Partial<Record<ObligedLimit, number>>>;
  readonly sandbox?: SandboxName;
  /** `host:port` patterns. */
  readonly egress?: readonly string[];
  readonly paths?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
}

/** What a policy document says. */
export interface Policy {
  readonly name: string;
  readonly version: string;
  readonly level: PolicyLevel;
  /** Empty but for level `project`. */
  readonly project: string;
  readonly mode: PolicyMode;
  readonly match: Match;
  /** The source of the condition; null = always. */
  readonly when: string | null;
  /** Null where the condition reads nothing that may be absent. */
  readonly missing: Absence | null;
  /** What the document says under `then`; that word itself would make a policy look like a promise. */
  readonly decision: Outcome;
  readonly reason: string;
  /** Set exactly when the decision is `require_approval`. */
  readonly approval: ApprovalDemand | null;
  readonly obligations: Obligations;
}

/** One immutable published version. */
export interface PolicyVersion extends Policy {
  /** Whose policy it is: a tenant, or `platform`. */
  readonly tenant: string;
  /** SHA-256 (hex) of the canonical document. */
  readonly digest: string;
  readonly publishedAt: number;
  readonly publishedBy: string;
  /**
   * `active`: in force, at most one version of a name. `superseded`: in force only where a reference pins it.
   * `withdrawn`: nowhere in force; a reference that pins it denies.
   */
  readonly status: "active" | "superseded" | "withdrawn";
}

/** A version together with its document as it was published (JSON text), for people to read. */
export interface StoredPolicy extends PolicyVersion {
  readonly documentJson: string;
}

/** What a level says where none of its rules matches; `project` empty = the tenant's (or the platform's) own level. */
export interface PolicyDefault {
  readonly tenant: string;
  readonly project: string;
  /** Null: nothing is set, which is `allow`. */
  readonly decision: "allow" | "deny" | null;
  readonly changedAt: number;
  readonly changedBy: string;
}

/** A reference from a tool, an agent or a binding: `name` or `name@version`, of one tenant's (or `platform`'s) policies. */
export interface Attachment {
  readonly tenant: string;
  readonly reference: string;
}

/** What is known of a call before its arguments are looked at. Empty texts stand for "none". */
export interface Subject {
  readonly tenant: string;
  readonly project: string;
  /** The project's label `environment`. */
  readonly environment: string;
  /** Of a `limit.*` trigger: empty name, version and labels. */
  readonly tool: {
    readonly name: string;
    readonly version: string;
    readonly class: SideEffectClass;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly agent: string;
  readonly principal: { readonly name: string; readonly roles: readonly string[] };
  /** The caller's context as parsed JSON. */
  readonly context: unknown;
  readonly attached: readonly Attachment[];
  readonly trigger: Trigger | null;
}

/**
 * How many calls of the same tool the same principal has had admitted before this one, by the ledger's own count:
 * in this turn, in this session, and in the time before now.
 */
export interface CallCounts {
  readonly turn: number;
  readonly session: number;
  /** Length of the window in ms → calls. */
  readonly windows: ReadonlyMap<number, number>;
}

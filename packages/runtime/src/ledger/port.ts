// The ledger's port: what every store of calls, attempts, events and audit must do; one conformance suite runs against each adapter.
import type { Attempt, Call, CallEvent, CallState, LateResult } from "../call/types.ts";
import type { Approval, ApprovalState, ApprovalWithVotes, Vote } from "../policy/approval/types.ts";
import type { PolicyDefault, PolicyLevel, PolicyVersion, StoredPolicy } from "../policy/types.ts";
import type { Limit, LimitKey, UsageDelta, UsageQuery, UsageRow } from "../schedule/types.ts";
import type { StreamChunk } from "../stream/types.ts";
import type { Grant, Key, Project, Tenant } from "../tenancy/types.ts";
import type { Activation, Freeze, ListedVersion, ProjectTool, ToolPin, ToolQuery, ToolRecord, ToolStatus, ToolVersion } from "../registry/types.ts";
import type { AuditDraft, AuditFilter, AuditRecord, AuditVerdict } from "./audit.ts";
import type { Delivery, DueDelivery, Notice, Webhook } from "./webhooks.ts";
import type { Page } from "./page.ts";
import type { Trimmed, WantedContent } from "./retention.ts";
import type { SessionGuard, SessionReads, SessionWrite } from "./sessions.ts";
import type { WorkspaceFile, WorkspacePage, WorkspacePlace, WorkspaceQuery } from "./workspace.ts";

/** Writes whose condition decides whether their unit happens at all; they stand first in a unit. */
export type GuardedWrite =
  /** Refused when (tenant, callId) or (tenant, project, idempotencyKey) exists. */
  | { readonly op: "insert_call"; readonly row: Call }
  /**
   * Refused unless the stored row still has this state and fence, and the events that are told in the unit follow those that are
   * stored; a settled row is never expected. `replica`: nor unless the call is with this replica (null: with none); left out, it
   * is not asked. Afterwards the row's CallProgress is stored, whole. `before`: the row as this writer handed it over last,
   * renewals of its lease aside; a ledger may then write only what differs from it.
   */
  | {
      readonly op: "update_call";
      readonly expect: { readonly state: CallState; readonly fence: number; readonly replica?: string | null };
      readonly before?: Call;
      readonly row: Call;
    }
  | { readonly op: "insert_tenant"; readonly row: Tenant }
  /** Refused when the tenant is unknown. Its weight and suspension become those of the row. */
  | { readonly op: "update_tenant"; readonly row: Tenant }
  | { readonly op: "insert_project"; readonly row: Project }
  | { readonly op: "insert_key"; readonly row: Key }
  /** Refused when the key is unknown in the tenant; revoking twice keeps the first instant. */
  | { readonly op: "revoke_key"; readonly tenant: string; readonly keyId: string; readonly at: number }
  | { readonly op: "insert_grant"; readonly row: Grant }
  | { readonly op: "revoke_grant"; readonly tenant: string; readonly grantId: string; readonly at: number }
  /**
   * Refused when this (tenant, tool, version) exists: versions are immutable. Creates the tool's record when it is the
   * first. `activate` adds to the tool's activations, at `publishedAt` by `publishedBy`.
   */
  | { readonly op: "insert_tool_version"; readonly row: ToolVersion; readonly activate: boolean }
  /** Refused when the version is unknown. Adds to the tool's activations unless this version is the active one already. */
  | {
      readonly op: "activate_tool";
      readonly tenant: string;
      readonly tool: string;
      readonly version: string;
      readonly at: number;
      readonly by: string;
    }
  /** Refused when the version is unknown, or has another status than `from`. */
  | {
      readonly op: "set_tool_status";
      readonly tenant: string;
      readonly tool: string;
      readonly version: string;
      readonly from: ToolStatus;
      readonly status: ToolStatus;
    }
  /**
   * Refused when (tenant, name, version) exists: versions are immutable. A row that is `active` makes the version of its
   * name that was active `superseded`.
   */
  | { readonly op: "insert_policy"; readonly row: StoredPolicy }
  /** Refused when the version is unknown. `active` supersedes the one that was. */
  | {
      readonly op: "set_policy_status";
      readonly tenant: string;
      readonly name: string;
      readonly version: string;
      readonly status: PolicyVersion["status"];
    }
  /** Refused when the id exists. */
  | { readonly op: "insert_approval"; readonly row: Approval }
  /** Refused unless the stored approval is pending with this revision. Afterwards the whole row is stored. */
  | { readonly op: "update_approval"; readonly expect: { readonly revision: number }; readonly row: Approval }
  /** Refused unless exactly so many calls are counted now, inside the commit. */
  | { readonly op: "expect_count"; readonly of: CallCount; readonly calls: number }
  /** Refused when the id exists. */
  | { readonly op: "insert_webhook"; readonly row: Webhook }
  /** Refused when it is unknown. What is on its way to it is dead, and its last error says why. */
  | { readonly op: "remove_webhook"; readonly tenant: string; readonly webhookId: string; readonly at: number }
  /** Refused when there is none. */
  | { readonly op: "remove_limit"; readonly key: LimitKey }
  /** Refused unless the path names this content (null: no file), or what this call has put there already. */
  | { readonly op: "expect_workspace_file"; readonly place: WorkspacePlace; readonly digest: string | null; readonly callId: string }
  /** Refused when a file is a folder of this path, or this path a folder of a file. */
  | { readonly op: "expect_workspace_room"; readonly place: WorkspacePlace }
  /** Refused when it would be one more than `filesMax` of its project. Takes the place of what the path named. */
  | { readonly op: "put_workspace_file"; readonly row: WorkspaceFile; readonly filesMax: number }
  | SessionGuard;

/** Calls of one tool by one principal that were admitted (also if they ended since), by where or when. */
export interface CallCount {
  readonly tenant: string;
  readonly tool: string;
  readonly principal: string;
  readonly within:
    | { readonly kind: "turn"; readonly sessionId: string; readonly turn: number }
    | { readonly kind: "session"; readonly sessionId: string }
    /** Admitted at or after this instant (ms since 1970). */
    | { readonly kind: "window"; readonly from: number };
}

export type PlainWrite =
  /** A counted vote twice is an error; a late one that is there already is left alone. */
  | { readonly op: "store_vote"; readonly row: Vote }
  /** Kept, together with a delivery (due at once) for every webhook of the tenant that wants its type. */
  | { readonly op: "append_notice"; readonly notice: Notice }
  /** After an attempt to deliver; of a delivery that is pending still, else left alone. */
  | { readonly op: "put_delivery"; readonly row: Delivery }
  /** Kept for late readers; what lies before `dropBefore` goes. */
  | { readonly op: "append_stream"; readonly chunk: StreamChunk; readonly dropBefore: number }
  /** Of a key that is there; an earlier instant than the one that is kept changes nothing. */
  | { readonly op: "touch_key"; readonly tenant: string; readonly keyId: string; readonly at: number }
  /** Makes the project, or changes its environment. */
  | { readonly op: "put_project"; readonly row: Project }
  /** `decision` null takes the default away. */
  | { readonly op: "put_policy_default"; readonly row: PolicyDefault }
  /** `requested` null takes the pin away. */
  | { readonly op: "put_tool_pin"; readonly row: ToolPin }
  | { readonly op: "put_project_tool"; readonly row: ProjectTool }
  /** Takes the place of the one with the same key. */
  | { readonly op: "put_limit"; readonly row: Limit }
  /** In the unit that settles a call, once: adds to what its tenant used that day. */
  | { readonly op: "add_usage"; readonly row: UsageDelta }
  /** One a scope; a second one in the same scope takes the place of the first. */
  | { readonly op: "put_freeze"; readonly row: Freeze }
  | { readonly op: "lift_freeze"; readonly tenant: string; readonly tool: string }
  /** A lease is recorded once, when it has ended; while it runs, the call's row tells of it. A second end is an error. */
  | { readonly op: "end_attempt"; readonly row: Attempt }
  /**
   * Of a call that is there, numbered from 1 without a gap or a repeat, in a unit as in the ledger: anything else is an
   * error. A row that is written in the same unit counts them in `eventSeq`.
   */
  | { readonly op: "append_event"; readonly event: CallEvent }
  | { readonly op: "append_audit"; readonly draft: AuditDraft }
  /** A path that names nothing stays so. */
  | { readonly op: "remove_workspace_file"; readonly place: WorkspacePlace }
  | { readonly op: "keep_late_result"; readonly row: LateResult }
  /** Fence-guarded one by one; a lease that moved on is left alone. */
  | {
      readonly op: "renew_leases";
      readonly leases: readonly {
        readonly tenant: string;
        readonly callId: string;
        readonly fence: number;
        readonly leaseExpiresAt: number;
      }[];
    }
  | SessionWrite;

export type Write = GuardedWrite | PlainWrite;

/** Writes that happen together or not at all. Guarded writes first. The events that it tells of one call are one row of the outbox. */
export interface Unit {
  readonly writes: readonly Write[];
  /** A lazy unit rides with the next commit, or goes alone after `lazyWriteMs`; nobody waits for it. */
  readonly lazy?: boolean;
}

export type CommitOutcome =
  | { readonly applied: true }
  /** Somebody was first: the guard of this write (index into `writes`) did not hold; nothing of the unit was written. */
  | { readonly applied: false; readonly write: number };

export type { Page };

export interface CallFilter {
  readonly tenant: string;
  readonly project?: string;
  readonly tool?: string;
  readonly state?: CallState;
  readonly principal?: string;
  readonly admittedFrom?: number;
  readonly admittedTo?: number;
}

export interface ApprovalFilter {
  readonly tenant: string;
  readonly project?: string;
  readonly state?: ApprovalState;
  readonly tool?: string;
  readonly callId?: string;
  readonly requester?: string;
}

export interface PolicyFilter {
  readonly tenant: string;
  readonly level?: PolicyLevel;
  readonly project?: string;
  readonly name?: string;
  readonly status?: PolicyVersion["status"];
}

export interface OutboxRow {
  readonly id: number;
  readonly tenant: string;
  readonly callId: string;
  readonly seqFrom: number;
  readonly seqTo: number;
}

/** What `commit` rejects with when the store cannot write (full disk, lost connection): nothing of the unit is stored. */
export class LedgerUnavailable extends Error {
  override readonly name = "LedgerUnavailable";
  /** What an operator does about it, where that is not the same for every store that fails. */
  readonly next: string | undefined;

  constructor(message: string, { next, ...options }: ErrorOptions & { readonly next?: string } = {}) {
    super(message, options);
    this.next = next;
  }
}

export interface Ledger extends SessionReads {
  /** Units are applied in the order of these calls. Resolves after the fsync. Rejects with LedgerUnavailable. */
  commit(unit: Unit): Promise<CommitOutcome>;
  /** Writes what is waiting, lazy units included. */
  flush(): Promise<void>;
  close(): Promise<void>;
  /** Cheap write-and-read probe for readiness; rejects with LedgerUnavailable. */
  probe(): Promise<void>;

  getCall(tenant: string, callId: string): Promise<Call | undefined>;
  getCallByKey(tenant: string, project: string, idempotencyKey: string): Promise<Call | undefined>;
  /** The newest call of this key that succeeded by a run of its own and settled at or after `settledFrom`, whole. */
  cachedResult(tenant: string, cacheKey: string, settledFrom: number): Promise<Call | undefined>;
  /** Newest first; the cursor is stable under inserts. Rows come without inputJson and outputJson. */
  listCalls(filter: CallFilter, limit: number, cursor?: string): Promise<Page<Call>>;
  /** Every open call, in queue order (startTag, admittedAt), whole; for recovery. */
  openCalls(): AsyncIterable<Call>;
  /** By fence: the ended ones, and the running one as the call's row tells of it. */
  attempts(tenant: string, callId: string): Promise<readonly Attempt[]>;
  lateResults(tenant: string, callId: string): Promise<readonly LateResult[]>;
  events(tenant: string, callId: string, afterSeq: number, limit: number): Promise<readonly CallEvent[]>;
  /** In the order in which the units were written. */
  outbox(afterId: number, limit: number): Promise<readonly OutboxRow[]>;
  /** Open calls of a tenant by state; for limits and metrics. */
  countOpen(tenant: string): Promise<Readonly<Partial<Record<CallState, number>>>>;

  /** By name. */
  tenants(): Promise<readonly Tenant[]>;
  tenant(tenant: string): Promise<Tenant | undefined>;
  projects(tenant: string): Promise<readonly Project[]>;
  keyByHash(hash: string): Promise<Key | undefined>;
  keys(tenant: string): Promise<readonly Key[]>;
  grants(tenant: string): Promise<readonly Grant[]>;

  /** The tool's record in this tenant alone; the resolver asks again with `platform`. */
  tool(tenant: string, tool: string): Promise<ToolRecord | undefined>;
  toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined>;
  /** In the order in which they were published. */
  toolVersions(tenant: string, tool: string): Promise<readonly ListedVersion[]>;
  /** By name; `query` narrows. */
  listTools(tenant: string, limit: number, cursor?: string, query?: ToolQuery): Promise<Page<ToolRecord>>;
  /** Newest first. */
  activations(tenant: string, tool: string, limit: number): Promise<readonly Activation[]>;
  toolPins(tenant: string): Promise<readonly ToolPin[]>;
  projectTools(tenant: string): Promise<readonly ProjectTool[]>;
  /** Of all tenants. */
  freezes(): Promise<readonly Freeze[]>;

  /** Every version of every tenant, withdrawn ones included, without their documents. */
  policies(): Promise<readonly PolicyVersion[]>;
  policy(tenant: string, name: string, version: string): Promise<StoredPolicy | undefined>;
  /** By name, then newest first. */
  listPolicies(filter: PolicyFilter, limit: number, cursor?: string): Promise<Page<PolicyVersion>>;
  /** Of all tenants. */
  policyDefaults(): Promise<readonly PolicyDefault[]>;
  countCalls(of: CallCount): Promise<number>;

  approval(tenant: string, approvalId: string): Promise<ApprovalWithVotes | undefined>;
  /** Newest first. Rows come without `argsJson` (empty text). */
  listApprovals(filter: ApprovalFilter, limit: number, cursor?: string): Promise<Page<Approval>>;
  /** Pending approvals of all tenants whose instant is at or before `until`, earliest first. */
  dueApprovals(until: number, limit: number): Promise<readonly { readonly tenant: string; readonly approvalId: string }[]>;
  /** The earliest instant of a pending approval; undefined when none is pending. */
  nextApprovalAt(): Promise<number | undefined>;

  /** The first kept runs of a call's stream that end behind `afterSeq`, in order. */
  streamChunks(tenant: string, callId: string, afterSeq: number, limit: number): Promise<readonly StreamChunk[]>;
  /** The last seq of a call's stream that is kept, or that of its end where that is marked; 0 when nothing is. */
  lastStreamSeq(tenant: string, callId: string): Promise<number>;

  /** Of one tenant, or of all. */
  limits(tenant?: string): Promise<readonly Limit[]>;
  /** In the order of what is grouped by; the cursor is of the same query only. Without groups one row, of sums. */
  usage(query: UsageQuery, limit: number, cursor?: string): Promise<Page<UsageRow>>;

  workspaceFile(place: WorkspacePlace): Promise<WorkspaceFile | undefined>;
  workspaceFiles(query: WorkspaceQuery, limit: number): Promise<WorkspacePage>;

  webhooks(tenant: string): Promise<readonly Webhook[]>;
  /** Pending deliveries of all tenants whose instant is at or before `until`, earliest first. */
  dueDeliveries(until: number, limit: number): Promise<readonly DueDelivery[]>;
  /** The earliest instant of a pending delivery. */
  nextDeliveryAt(): Promise<number | undefined>;
  /** Newest first. */
  listDeliveries(tenant: string, filter: { readonly webhookId?: string; readonly state?: Delivery["state"] }, limit: number, cursor?: string): Promise<Page<Delivery>>;

  /**
   * Removes calls of a tenant that settled before `before`, sessions that ended before it, each with its children and with their calls, and
   * webhook deliveries that are over; at most `limit` of each. A session's calls go with it, not before. Audit stays, and so do agents.
   */
  trim(tenant: string, before: number, limit: number): Promise<Trimmed>;
  wantedContent(tenant: string): Promise<WantedContent>;

  /** Newest first. */
  listAudit(filter: AuditFilter, limit: number, cursor?: string): Promise<Page<AuditRecord>>;
  /** Walks every lane of the tenant (or of all tenants) and checks chain, keys and heads. */
  verifyAudit(tenant?: string): Promise<AuditVerdict>;
}

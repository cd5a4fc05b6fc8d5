// What the runtime's REST API says and takes, field for field: data keeps the API's own names.
import type { ErrorBody, SideEffectClass } from "@signalbox/protocol";

export type ExecutionStatus =
  | "awaiting_approval"
  | "queued"
  | "dispatched"
  | "running"
  | "indeterminate"
  | "denied"
  | "succeeded"
  | "failed"
  | "timed_out"
  | "cancelled";

/** Where and how long a call ran. Times in ms. */
export interface ExecutionBlock {
  readonly sandbox: string | null;
  readonly worker: string | null;
  readonly attempt: number;
  readonly queued_ms: number | null;
  readonly start_ms: number | null;
  readonly duration_ms: number | null;
  readonly resources: Readonly<Record<string, number | null>>;
  readonly decision_id: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly routing_outcome?: string;
  readonly ill_formed_text_replaced?: boolean;
}

export interface MatchedRule {
  readonly policy: string;
  readonly version: string;
  readonly level: string;
  readonly outcome: string;
  readonly reason: string;
  /** True for a rule in observe mode: recorded, without effect. */
  readonly observed: boolean;
}

/** What the policies said of a call, with every rule that matched. */
export interface ExecutionPolicy {
  readonly decision: string;
  readonly reason: string;
  readonly rules: readonly MatchedRule[];
  /** What the call must keep to: limits, sandbox, egress, paths. */
  readonly obligations?: Readonly<Record<string, unknown>>;
}

/** A person changed the arguments before the call ran. */
export interface ExecutionEdit {
  readonly by: string;
  /** What ran in place of what was sent; lists leave it out. */
  readonly args?: unknown;
  /** The same in words, for the model that made the call. */
  readonly note?: string;
}

/** One call's record. Instants are ISO 8601 text. */
export interface Execution<Output = unknown> {
  readonly execution_id: string;
  readonly tool: string;
  readonly version: string;
  readonly status: ExecutionStatus;
  readonly project: string;
  readonly principal: string;
  readonly side_effect_class: SideEffectClass;
  readonly idempotency_key: string | null;
  readonly created_at: string;
  readonly settled_at: string | null;
  readonly cancel_requested_at: string | null;
  readonly approval_id: string | null;
  readonly input_hash: string;
  readonly output_hash: string | null;
  readonly request_id: string;
  readonly execution: ExecutionBlock;
  readonly policy?: ExecutionPolicy;
  readonly edited?: ExecutionEdit;
  /** Parsed by `JSON.parse`: numbers beyond 2^53 are rounded here; `outputText` of the client's answers keeps them. */
  readonly output?: Output;
  readonly error?: ErrorBody;
}

/** A record, and its output as the worker wrote it: the source text, with every digit; null when it has none. */
export type WithOutputText<Record> = Record & { readonly outputText: string | null };

export interface InvokeRequest {
  readonly tool: string;
  readonly version?: string;
  readonly tenant?: string;
  readonly project?: string;
  readonly input?: unknown;
  readonly context?: Readonly<Record<string, unknown>>;
  /** For tools that run in a box: what stands in its `/workspace`, read-only. */
  readonly files?: readonly InputFile[];
  readonly limits?: { readonly timeout_ms?: number; readonly max_output_bytes?: number };
  readonly mode?: "sync" | "async";
  readonly wait_ms?: number;
  readonly deadline_ms?: number;
  readonly cancel_on_disconnect?: boolean;
  readonly priority?: "interactive" | "normal" | "batch";
  /** Names the call: under one key it runs once, however often it is asked for. Without it the client makes one. */
  readonly idempotency_key?: string;
}

/** A stored file by its digest (see `client.files.put`), or a short text. `path` is relative to `/workspace`. */
export type InputFile =
  | { readonly path: string; readonly ref: string }
  | { readonly path: string; readonly content: string };

/** One lease of one call. */
export interface Attempt {
  readonly attempt: number;
  readonly fence: number;
  readonly worker: string;
  readonly dispatched_at: string;
  readonly accepted_at: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly end_reason: string | null;
  readonly error: ErrorBody | null;
  readonly duration_ms: number | null;
}

/** A result that came after its lease was lost: evidence for the person who resolves the call. */
export interface LateResult {
  readonly fence: number;
  readonly at: string;
  readonly worker: string;
  readonly status: string;
  readonly output: unknown;
  readonly error: unknown;
}

export interface Decision {
  readonly id: string;
  readonly outcome: string;
  readonly reason: string;
  readonly rules: readonly MatchedRule[];
}

export interface ExecutionDetail<Output = unknown> extends Execution<Output> {
  readonly attempts: readonly Attempt[];
  readonly late_results: readonly LateResult[];
  readonly decision?: Decision;
}

export interface CallEvent {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One page of a list. `next_cursor` is null on the last one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** Events in order; the next page starts after `next_after_seq`, which is null on the last one. */
export interface EventPage {
  readonly items: readonly CallEvent[];
  readonly next_after_seq: number | null;
}

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface EventQuery {
  readonly after_seq?: number;
  readonly limit?: number;
}

/** `from` and `to` are RFC 3339 instants. */
export interface ExecutionQuery extends PageQuery {
  readonly tool?: string;
  readonly status?: ExecutionStatus;
  readonly principal?: string;
  readonly project?: string;
  readonly from?: string;
  readonly to?: string;
}

/** `output` goes with `confirm`; without it a late result counts, if there is one. */
export interface ResolveRequest {
  readonly verdict: "confirm" | "retry" | "fail";
  readonly output?: unknown;
  readonly comment?: string;
}

/** Which calls of unknown end; every part that is given must hold. `confirm` takes each call's own late result. */
export interface ResolveManyRequest {
  readonly filter: {
    readonly tool?: string;
    readonly project?: string;
    readonly routing_outcome?: "lease_expired" | "indeterminate";
    readonly worker?: string;
    readonly older_than_ms?: number;
  };
  readonly verdict: "confirm" | "retry" | "fail";
  readonly comment?: string;
  /** Nothing is resolved; what would be is counted and shown. */
  readonly dry_run?: boolean;
  readonly limit?: number;
}

/** What a call said last. */
export interface LastOutput {
  /** Of its last attempt, oldest first. */
  readonly lines: readonly { readonly channel: "stdout" | "stderr" | "partial" | "log" | "progress"; readonly text: string }[];
  /** More was said before: follow the call. */
  readonly cut: boolean;
  /** `lost`: something among it or behind it is not kept. `elsewhere`: another replica may not have written the rest yet; ask again. */
  readonly missing: "lost" | "elsewhere" | null;
}

/** What is known of a call whose end is not. */
export interface UnknownEnd {
  readonly execution_id: string;
  readonly tool: string;
  readonly version: string;
  readonly project: string;
  readonly principal: string;
  readonly side_effect_class: SideEffectClass;
  readonly created_at: string;
  readonly routing_outcome: string | null;
  readonly may_have_executed: boolean;
  readonly attempts: readonly Attempt[];
  readonly late_results: readonly LateResult[];
  readonly last_output: LastOutput;
}

export interface ResolvedMany {
  readonly dry_run: boolean;
  readonly matched: number;
  readonly shown: readonly UnknownEnd[];
  readonly resolved: readonly { readonly execution_id: string; readonly status: ExecutionStatus }[];
  readonly failed: readonly { readonly execution_id: string; readonly code: string; readonly message: string }[];
  readonly remaining: number;
  readonly more: boolean;
}

/** A call that has ended is made once more, as a new one. */
export interface ReplayRequest {
  /** That an unsafe call may have had its effect is known, and it is wanted again. */
  readonly acknowledge_may_have_executed?: boolean;
  readonly mode?: "sync" | "async";
  readonly wait_ms?: number;
  readonly idempotency_key?: string;
}

export interface Tool {
  readonly tool: string;
  readonly active_version: string | null;
  readonly description: string;
  readonly side_effect_class: SideEffectClass;
  readonly executor: string;
  /** Who is responsible for it, as its manifest says. */
  readonly owner?: string;
  readonly category?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The tenant, or `platform` for what all tenants share. */
  readonly owned_by: string;
  readonly created_at: string;
}

export interface ToolVersion {
  readonly tool: string;
  readonly version: string;
  readonly owner: string;
  readonly description: string;
  readonly category: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly trust: string;
  readonly status: string;
  readonly manifest_digest: string;
  readonly published_at: string;
  readonly published_by: string;
  readonly spec: ToolSpec;
}

/** What a version asks for; defaults filled in, secrets and environment by name only. */
export interface ToolSpec {
  readonly executor: Readonly<Record<string, unknown>>;
  readonly input: unknown;
  readonly output: unknown;
  readonly side_effect_class: SideEffectClass;
  readonly permissions: readonly string[];
  readonly timeout_ms: number;
  readonly on_indeterminate: "ask" | "fail";
  readonly [field: string]: unknown;
}

export interface ToolDetail extends Tool {
  readonly versions: readonly string[];
  /** Workers connected now that serve the shown version. */
  readonly workers: number;
  readonly version: ToolVersion;
}

export interface RegisteredTool extends ToolVersion {
  readonly active: boolean;
  /** True when the same manifest was registered before. */
  readonly already_there: boolean;
  readonly warnings: readonly string[];
}

export interface Key {
  readonly key_id: string;
  readonly label: string;
  readonly principal: string;
  readonly project: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** Exact to a minute; null: never. */
  readonly last_used_at: string | null;
}

export interface KeyQuery extends PageQuery {
  readonly principal?: string;
  readonly project?: string;
  readonly status?: "active" | "expired" | "revoked";
}

export interface CreatedKey extends Key {
  readonly secret: string;
}

export interface NewKey {
  readonly label: string;
  /** `user:…`, `service:…` or `agent:…`. */
  readonly principal: string;
  readonly project?: string;
  readonly scopes: readonly string[];
  readonly roles?: readonly string[];
  readonly expires_at?: string;
}

export interface Grant {
  readonly grant_id: string;
  readonly subject: string;
  /** Empty: every project of the tenant. */
  readonly project: string;
  readonly permissions: readonly string[];
  readonly roles: readonly string[];
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

export interface NewGrant {
  readonly subject: string;
  readonly project?: string;
  readonly permissions: readonly string[];
  readonly roles?: readonly string[];
  readonly expires_at?: string;
}

/** Facts that a record lacks are left out. */
export interface AuditRecord {
  readonly lane: string;
  readonly seq: number;
  readonly ts: string;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly action: string;
  readonly tool?: string;
  readonly execution_id?: string;
  readonly status?: string;
  readonly error_code?: string;
  readonly prev_hash: string;
  readonly hash: string;
  readonly [fact: string]: unknown;
}

export interface AuditQuery extends PageQuery {
  readonly principal?: string;
  readonly action?: string;
  readonly execution_id?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface AuditProblem {
  readonly tenant: string;
  readonly lane: string;
  readonly seq: number;
  readonly kind: string;
  readonly message: string;
}

export interface AuditVerdict {
  readonly ok: boolean;
  readonly records: number;
  readonly lanes: number;
  readonly problems: readonly AuditProblem[];
}

export interface Worker {
  readonly worker_id: string;
  readonly incarnation: string;
  readonly state: "ready" | "silent" | "draining" | "away";
  readonly capacity: number;
  readonly holding: number;
  readonly handlers: readonly { readonly tool: string; readonly version: string; readonly max_concurrency: number }[];
  /** Kinds of boxes that a sandbox worker has proved. */
  readonly boxes: readonly string[];
  readonly connected_at: string;
  readonly last_heard_at: string;
}

export interface RuntimeStatus {
  readonly version: string;
  readonly replica: string;
  readonly started_at: string;
  readonly ready: boolean;
  readonly draining: boolean;
  /** Why it is not ready. */
  readonly reasons: readonly string[];
  readonly calls: Readonly<Partial<Record<ExecutionStatus, number>>>;
  readonly workers: number;
}

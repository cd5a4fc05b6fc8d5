// What a front door can ask of the runtime, in one shape for REST, gRPC, MCP and the CLI.
import type { SignalboxError } from "@signalbox/protocol";
import type { Attempt, Call, CallEvent, CallState, LateResult, Priority } from "./call/types.ts";
import type { AuditFilter, AuditRecord, AuditVerdict } from "./ledger/audit.ts";
import type { Page } from "./ledger/port.ts";
import type { ToolQuery, ToolRecord, ToolVersion } from "./registry/types.ts";
import type { BreakerView } from "./dispatch/breakers.ts";
import type { LastOutput } from "./stream/last-output.ts";
import type { Batch } from "./stream/types.ts";
import type { AskedFile } from "./corridor/files.ts";
import type { FilesService } from "./corridor/files-service.ts";
import type { RateStanding } from "./corridor/limits.ts";
import type { AgentService } from "./service-agents.ts";
import type { GovernanceService } from "./service-governance.ts";
import type { LimitService } from "./service-limits.ts";
import type { SessionService } from "./service-sessions.ts";
import type { TenantService } from "./service-tenants.ts";
import type { Asked, Grant, Key, KeyQuery, NewKey, Principal } from "./tenancy/types.ts";

export type { Asked, KeyQuery, KeyStatus, NewKey } from "./tenancy/types.ts";

/** An invoke request whose shape a door has checked; what the fields mean is design 04's table. */
export interface InvokeRequest {
  readonly tool: string;
  readonly version?: string;
  readonly tenant?: string;
  readonly project?: string;
  /** Parsed JSON; numbers that a double would round are `JSON.rawJSON` values. */
  readonly input: unknown;
  /** Input files of a sandbox tool, mounted read-only below `/workspace`. */
  readonly files?: readonly AskedFile[];
  readonly context?: Readonly<Record<string, unknown>>;
  readonly limits?: { readonly timeoutMs?: number; readonly maxOutputBytes?: number };
  readonly mode: "sync" | "async";
  readonly waitMs?: number;
  readonly deadlineMs?: number;
  readonly cancelOnDisconnect?: boolean;
  readonly priority?: Priority;
  readonly idempotencyKey?: string;
  readonly traceparent?: string;
}

/** `settled`: terminal. `parked`: waits for a person. `waiting`: async, or it outlived `waitMs`. */
export interface InvokeAnswer {
  readonly call: Call;
  readonly progress: "settled" | "parked" | "waiting";
  /** True when an idempotency key named a call that existed. */
  readonly replayed: boolean;
  /** How the tightest rate stands that the call has passed; absent where none applies. */
  readonly rate?: RateStanding;
}

/** A call that has ended is made once more. */
export interface ReplayRequest {
  /** Whoever asks knows that an unsafe call may have had its effect, and wants it again. */
  readonly acknowledgeMayHaveExecuted?: boolean;
  readonly mode: "sync" | "async";
  readonly waitMs?: number;
  readonly idempotencyKey?: string;
}

/** Which parked calls of unknown end; every part that is given must hold. */
export interface ResolveFilter {
  readonly tool?: string;
  readonly project?: string;
  readonly routingOutcome?: "lease_expired" | "indeterminate";
  /** Who had it last. */
  readonly worker?: string;
  /** Made at least so long ago. */
  readonly olderThanMs?: number;
}

export interface ResolveManyRequest {
  readonly filter: ResolveFilter;
  /** `confirm` takes each call's own late result. */
  readonly verdict: "confirm" | "retry" | "fail";
  readonly comment?: string;
  /** Nothing is resolved; what would be is shown. */
  readonly dryRun: boolean;
  readonly limit: number;
}

/** What is known of a call whose end is not. */
export interface UnknownEnd {
  readonly call: Call;
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly lastOutput: LastOutput;
}

export interface ResolvedMany {
  readonly dryRun: boolean;
  readonly matched: number;
  /** Of a dry run alone; the first of them. */
  readonly shown: readonly UnknownEnd[];
  readonly resolved: readonly Call[];
  readonly failed: readonly { readonly callId: string; readonly error: SignalboxError }[];
  /** That match and were left for another request. */
  readonly remaining: number;
  /** There may be others that this request has not looked at. */
  readonly more: boolean;
}

export interface ExecutionDetail {
  readonly call: Call;
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly events: readonly CallEvent[];
}

export interface CallFollower {
  /** True where the reader has everything, the end included. */
  readonly over: boolean;
  /** Waits for what is new, at most `ms`; an empty batch = nothing came in time. Not asked again after the end, or when the runtime leaves. */
  next(ms: number): Promise<Batch>;
  close(): void;
  /** Cancels the call, for who went away and had asked for that. */
  abandon(): void;
}

export interface ExecutionQuery {
  readonly project?: string;
  readonly tool?: string;
  readonly status?: CallState;
  readonly principal?: string;
  readonly from?: number;
  readonly to?: number;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ToolView {
  readonly record: ToolRecord;
  readonly version: ToolVersion;
  readonly versions: readonly string[];
  /** Workers connected now that serve the shown version. */
  readonly workers: number;
  /** Of the shown version, for the asking tenant. */
  readonly breaker: BreakerView;
}

export interface NewGrant {
  readonly subject: string;
  readonly project?: string;
  readonly permissions: readonly string[];
  readonly roles?: readonly string[];
  readonly expiresAt?: number;
}

export interface WorkerView {
  readonly workerId: string;
  readonly incarnation: string;
  readonly tenant: string;
  readonly state: "ready" | "silent" | "draining" | "away";
  readonly capacity: number;
  readonly holding: number;
  readonly handlers: readonly { readonly tool: string; readonly version: string; readonly maxConcurrency: number }[];
  readonly connectedAt: number;
  readonly lastHeardAt: number;
}

export interface RuntimeStatus {
  readonly version: string;
  readonly replica: string;
  readonly startedAt: number;
  readonly ready: boolean;
  readonly draining: boolean;
  /** Why it is not ready; empty when it is. */
  readonly reasons: readonly string[];
  readonly calls: Readonly<Partial<Record<CallState, number>>>;
  readonly workers: number;
}

/** Every method throws SignalboxError with a code of the one error table, and nothing else on purpose. */
export interface Service extends GovernanceService, FilesService, TenantService, LimitService, AgentService, SessionService {
  /**
   * A key of a suspended tenant is refused: `forbidden`, with the reason `tenant_suspended`.
   * @param token the credential as the caller sent it, without `Bearer `.
   */
  authenticate(token: string | undefined, requestId: string): Promise<Principal>;

  invoke(asked: Asked, request: InvokeRequest): Promise<InvokeAnswer>;
  getExecution(asked: Asked, executionId: string): Promise<ExecutionDetail>;
  /** The ordered events after a seq, oldest first. */
  listEvents(asked: Asked, executionId: string, afterSeq: number, limit: number): Promise<readonly CallEvent[]>;
  /**
   * Follows the ordered stream of a call from behind a seq on (0: from the beginning); whoever has enough closes it.
   * @param how `answering`: it is the answer to an invoke of this caller, and no more right is asked for
   */
  follow(asked: Asked, executionId: string, afterSeq: number, how?: { readonly answering?: boolean }): Promise<CallFollower>;
  listExecutions(asked: Asked, query: ExecutionQuery): Promise<Page<Call>>;
  /** Idempotent. `stopping` is true while the worker has yet to confirm. */
  cancel(asked: Asked, executionId: string): Promise<{ readonly call: Call; readonly stopping: boolean }>;
  /** A person's word on an indeterminate call. `outputJson` goes with `confirm`; none = the late result, if there is one. */
  resolve(
    asked: Asked,
    executionId: string,
    answer: { readonly verdict: "confirm" | "retry" | "fail"; readonly outputJson?: string; readonly comment?: string },
  ): Promise<Call>;

  /** The same word on many. */
  resolveMany(asked: Asked, request: ResolveManyRequest): Promise<ResolvedMany>;
  /** A new call through every stage, which names the old one in `context.causation_id`. */
  replay(asked: Asked, executionId: string, how: ReplayRequest): Promise<InvokeAnswer>;

  /** @param document a parsed manifest (YAML or JSON). `alreadyThere` when the same digest was registered before. */
  registerTool(
    asked: Asked,
    document: unknown,
    /** `package`: digest of the code that a sandbox tool runs; it must have been put before. */
    options: { readonly activate?: boolean; readonly package?: string },
  ): Promise<{ readonly version: ToolVersion; readonly alreadyThere: boolean; readonly active: boolean; readonly warnings: readonly string[] }>;
  listTools(asked: Asked, limit: number, cursor?: string, query?: ToolQuery): Promise<Page<ToolRecord>>;
  getTool(asked: Asked, tool: string, version?: string): Promise<ToolView>;
  activateTool(asked: Asked, tool: string, version: string): Promise<ToolRecord>;

  createKey(asked: Asked, key: NewKey): Promise<{ readonly key: Key; readonly secret: string }>;
  listKeys(asked: Asked, query?: KeyQuery): Promise<readonly Key[]>;
  revokeKey(asked: Asked, keyId: string): Promise<Key>;
  createGrant(asked: Asked, grant: NewGrant): Promise<Grant>;
  listGrants(asked: Asked): Promise<readonly Grant[]>;
  revokeGrant(asked: Asked, grantId: string): Promise<Grant>;

  listAudit(asked: Asked, filter: Omit<AuditFilter, "tenant">, limit: number, cursor?: string): Promise<Page<AuditRecord>>;
  verifyAudit(asked: Asked): Promise<AuditVerdict>;
  listWorkers(asked: Asked): Promise<readonly WorkerView[]>;

  /** @param asked whose calls and workers are counted; left out, or the platform's: everybody's */
  status(asked?: Asked): RuntimeStatus;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

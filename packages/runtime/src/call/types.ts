// A tool call as data: the row that the ledger keeps and that only the call machine changes.
import type { ErrorBody, SideEffectClass, Usage } from "@signalbox/protocol";

export const openStates = ["awaiting_approval", "queued", "dispatched", "running", "indeterminate"] as const;
export const terminalStates = ["denied", "succeeded", "failed", "timed_out", "cancelled"] as const;
export const callStates = [...openStates, ...terminalStates] as const;

export type OpenState = (typeof openStates)[number];
export type TerminalState = (typeof terminalStates)[number];
export type CallState = OpenState | TerminalState;

export function isTerminal(state: CallState): state is TerminalState {
  return (terminalStates as readonly CallState[]).includes(state);
}

/** It waits for people, and holds no slot. */
export function isParked({ state }: { readonly state: CallState }): boolean {
  return state === "awaiting_approval" || state === "indeterminate";
}

export const routingOutcomes = ["no_handler", "capacity_exhausted", "lease_expired", "indeterminate"] as const;
export type RoutingOutcome = (typeof routingOutcomes)[number];

export type Priority = "interactive" | "normal" | "batch";
export type ExecutorType = "worker" | "mcp" | "sandbox" | "agent";
/** Why a running call was told to stop; the first reason wins. */
export type StopReason = "cancel" | "timeout" | "total_deadline";

/** One rule that matched, as it is kept with the call. */
export interface MatchedRule {
  readonly policy: string;
  readonly version: string;
  readonly level: string;
  readonly outcome: "allow" | "deny" | "require_approval";
  readonly reason: string;
  /** True for a rule in observe mode: it is recorded and changes nothing. */
  readonly observed: boolean;
}

/** The recorded outcome of the authorize and decide stages. */
export interface Decision {
  readonly id: string;
  readonly outcome: "allow" | "deny" | "require_approval";
  readonly reason: string;
  readonly rules: readonly MatchedRule[];
  /** What the rules oblige the call to, where they do (JSON data: limits, sandbox, egress, paths). */
  readonly obligations?: Readonly<Record<string, unknown>>;
  readonly spentMicros: number;
}

/** Time and size that are left to a call; a person's edit can cut them, for other arguments have other rules. */
export interface CallAllowance {
  readonly timeoutMs: number;
  readonly resultBytesMax: number;
}

/** What never changes after admission. Times are wall clock, ms since 1970. */
export interface CallIdentity extends CallAllowance {
  readonly tenant: string;
  readonly callId: string;
  readonly project: string;
  readonly tool: string;
  /** Whose tool it is: the caller's tenant, or `platform`. */
  readonly toolTenant: string;
  /** The pinned version that runs. */
  readonly version: string;
  /** The version as the caller wrote it; empty when it gave none. */
  readonly requestedVersion: string;
  readonly manifestDigest: string;
  readonly executor: ExecutorType;
  /** The isolation backend that was chosen at admission; null for a call that needs none of ours. */
  readonly sandbox: string | null;
  /** What its box is made of and held to (JSON text); null with `sandbox`. */
  readonly boxJson: string | null;
  /** Its input files (JSON text of path, digest and bytes); `[]` for none. */
  readonly filesJson: string;
  readonly sideEffectClass: SideEffectClass;
  readonly onIndeterminate: "ask" | "fail";
  readonly principal: string;
  readonly onBehalfOf: string;
  readonly sessionId: string;
  readonly turn: number;
  readonly step: number;
  readonly index: number;
  /** JSON text: workflow_id, agent, correlation_id, locality and what else the caller gave. */
  readonly contextJson: string;
  readonly traceparent: string;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /** SHA-256 (hex) over canonical JSON of tool, version as requested and input as sent. */
  readonly fingerprint: string;
  readonly inputHash: string;
  /** JSON text as sent (source digits kept); null on a denied row, which keeps hashes only. */
  readonly inputJson: string | null;
  readonly priority: Priority;
  readonly decision: Decision;
  readonly admittedAt: number;
  readonly graceMs: number;
  readonly totalDeadlineAt: number | null;
  /** Names everything its result hangs on (SHA-256, hex); null: the result neither comes from an earlier call nor serves a later one. */
  readonly cacheKey: string | null;
  /** The tool's policy of retries as it was at admission (JSON text); null: a failed attempt is the call's end. */
  readonly retryJson: string | null;
}

/** What the machine moves. */
export interface CallProgress extends CallAllowance {
  readonly state: CallState;
  readonly routingOutcome: RoutingOutcome | null;
  readonly fence: number;
  readonly attempt: number;
  /** Leases so far that ended before any code could run. */
  readonly placements: number;
  /** True when code of the current attempt may have run; decides what a lost lease means. */
  readonly mayHaveRun: boolean;
  /** Arguments after a person's edit; JSON text, null = as sent. */
  readonly effectiveArgsJson: string | null;
  /** The person whose arguments run in place of those that were sent; null when nobody changed them. */
  readonly argsEditedBy: string | null;
  readonly approvalId: string | null;
  /** Who let it go on, and when (ms since 1970); nobody, where a timeout did. Null: nobody was asked, or nobody answered yet. */
  readonly approval: { readonly by: readonly string[]; readonly at: number } | null;
  /** Fair-queue tag: as it is given at admission while the call waits; once a worker has it, of the turn that its tenant took for it. */
  readonly startTag: number;
  readonly notBefore: number;
  readonly enqueuedAt: number;
  readonly queueDeadlineAt: number | null;
  readonly startDeadlineAt: number | null;
  readonly provisionDeadlineAt: number | null;
  readonly runDeadlineAt: number | null;
  readonly leaseExpiresAt: number | null;
  readonly graceDeadlineAt: number | null;
  readonly dispatchedAt: number | null;
  readonly startedAt: number | null;
  readonly settledAt: number | null;
  readonly workerId: string | null;
  readonly incarnation: string | null;
  /** The control-plane process that holds the worker's stream. */
  readonly replica: string | null;
  readonly cancelRequestedAt: number | null;
  readonly cancelRequestedBy: string | null;
  readonly stopReason: StopReason | null;
  /** JSON text of the result; over 256 KiB it stands in the blob table under `outputHash`. */
  readonly outputJson: string | null;
  readonly outputHash: string | null;
  readonly outputBytes: number;
  /** Text parts of the result that were not well-formed and were replaced by U+FFFD. */
  readonly outputIllFormed: boolean;
  readonly error: ErrorBody | null;
  readonly usage: Usage | null;
  /** The call whose result this one was answered with, in place of a run of its own. */
  readonly cachedFrom: string | null;
  /** The last seq given in this call's event stream; gap-free from 1. */
  readonly eventSeq: number;
}

export interface Call extends CallIdentity, CallProgress {}

export const callEventTypes = [
  "requested",
  "denied",
  "approval_requested",
  "approved",
  "queued",
  "dispatched",
  "started",
  "progress",
  "retried",
  "succeeded",
  "failed",
  "timed_out",
  "cancelled",
  "cancel_requested",
  "indeterminate",
  "resolved",
  "late_result",
] as const;
export type CallEventType = (typeof callEventTypes)[number];

/** One line of a call's ordered stream; written in the commit of the change it tells. */
export interface CallEvent {
  readonly tenant: string;
  readonly callId: string;
  readonly seq: number;
  readonly at: number;
  readonly type: CallEventType;
  /** JSON text: hashes, sizes and names, never inputs or outputs. */
  readonly dataJson: string;
}

/** One lease of one call. */
export interface Attempt {
  readonly tenant: string;
  readonly callId: string;
  readonly fence: number;
  readonly attempt: number;
  readonly workerId: string;
  readonly incarnation: string;
  readonly replica: string;
  readonly dispatchedAt: number;
  readonly acceptedAt: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** succeeded, failed, cancelled, timed_out, nack, start_deadline, lease_expired, indeterminate … */
  readonly endReason: string | null;
  readonly error: ErrorBody | null;
  readonly usage: Usage | null;
}

/** A result that came with an old fence; kept so that the person who resolves the call can see it. */
export interface LateResult {
  readonly tenant: string;
  readonly callId: string;
  readonly fence: number;
  readonly at: number;
  readonly workerId: string;
  readonly status: "succeeded" | "failed" | "cancelled";
  readonly outputJson: string | null;
  readonly errorJson: string | null;
}

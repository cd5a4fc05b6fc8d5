// The Work protocol as plain data: what a worker and the runtime say to each other, over any transport.
import type { SideEffectClass } from "./side-effects.ts";

/** Names one lease of one call; every message about a call carries both parts. */
export interface Lease {
  readonly callId: string;
  /** Grows by one with every lease of the call; a message with an old fence changes nothing. */
  readonly fence: number;
}

export interface HandlerOffer {
  readonly tool: string;
  /** Exact tool version this handler serves. */
  readonly version: string;
  readonly maxConcurrency: number;
  /** SHA-256 (hex) of the descriptor that the worker was built against; empty if it does not know. */
  readonly descriptorHash: string;
}

/** `accepted`: not in user code yet. `running`: in user code. `done`: a result is held until acknowledged. */
export type InFlightState = "accepted" | "running" | "done";

export interface InFlight extends Lease {
  readonly state: InFlightState;
}

export interface Usage {
  readonly durationMs: number;
  readonly cpuMs?: number;
  readonly peakMemoryBytes?: number;
  /** Of a box: it stood ready before the call came. */
  readonly warm?: boolean;
  /** Of which no more than the beginning was passed on. */
  readonly truncated?: readonly ("stdout" | "stderr")[];
}

export interface WorkError {
  /** The tool's own code, e.g. `invalid_args`; never one of the runtime's. */
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** JSON text of an object, or undefined. */
  readonly detailsJson?: string;
}

export interface Register {
  readonly type: "register";
  readonly workerId: string;
  /** New for every process start; the owner identity of leases. */
  readonly incarnation: string;
  readonly imageDigest: string;
  readonly pool: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly handlers: readonly HandlerOffer[];
  readonly backends: readonly string[];
  /** Calls the worker runs at once, over all handlers. */
  readonly capacity: number;
  readonly inFlight: readonly InFlight[];
  /** Memory that calls could still use where the worker runs; absent = it does not say. */
  readonly freeMemoryBytes?: number;
}
export interface Heartbeat {
  readonly type: "heartbeat";
  /** 0 (idle) to 1 (full). */
  readonly load: number;
  readonly inFlight: readonly InFlight[];
  readonly freeMemoryBytes?: number;
}
export interface Accepted extends Lease {
  readonly type: "accepted";
}
export interface Started extends Lease {
  readonly type: "started";
}
export interface Output extends Lease {
  readonly type: "output";
  readonly seq: number;
  readonly channel: "stdout" | "stderr" | "partial" | "log";
  readonly chunk: Uint8Array;
}
export interface Progress extends Lease {
  readonly type: "progress";
  /** 0 to 100. */
  readonly percent: number;
  readonly message: string;
}
export interface Emit extends Lease {
  readonly type: "emit";
  /** Counts the attempt's events from 1: the same ordinal again is the same event. */
  readonly ordinal: number;
  readonly eventType: string;
  readonly payloadJson: string;
  /** Why it cannot be taken, in words: an event never costs its call, so it is left out. Its payload is `null` then. Never sent. */
  readonly refused?: string;
}
export interface SecretRequest extends Lease {
  readonly type: "secret_request";
  readonly names: readonly string[];
}
export interface Result extends Lease {
  readonly type: "result";
  /** `cancelled`: the handler stopped because it was told to (the confirmed stop). */
  readonly status: "succeeded" | "failed" | "cancelled";
  /** JSON text; present when succeeded. Ill-formed bytes arrive as U+FFFD with `illFormed` set. */
  readonly outputJson?: string;
  readonly illFormed?: boolean;
  readonly error?: WorkError;
  readonly usage: Usage;
}
/** Code of a nack by a sandbox worker: the box could not be made, so no code of the tool has run. */
export const boxNotProvisioned = "box_not_provisioned";

export interface Nack extends Lease {
  readonly type: "nack";
  readonly reason: "retry_elsewhere" | "reject";
  readonly code: string;
  readonly message: string;
}
export interface Draining {
  readonly type: "draining";
}
/** What a transport hands over instead of throwing when a message makes no sense. */
export interface Malformed {
  readonly type: "malformed";
  readonly reason: string;
  /** Known when the broken message still named its call. */
  readonly lease?: Lease;
}

export type WorkerMessage =
  | Register
  | Heartbeat
  | Accepted
  | Started
  | Output
  | Progress
  | Emit
  | SecretRequest
  | Result
  | Nack
  | Draining
  | Malformed;

export interface Resync extends Lease {
  /** `keep`: go on. `drop`: the lease is lost, stop and forget. `acked`: the result is stored, forget it. */
  readonly verdict: "keep" | "drop" | "acked";
}
export interface Registered {
  readonly type: "registered";
  readonly leaseTtlMs: number;
  readonly heartbeatMs: number;
  readonly resync: readonly Resync[];
  /** Handlers the runtime will send no calls for, and why. */
  readonly refused: readonly { readonly tool: string; readonly version: string; readonly reason: string }[];
}
export interface FileRef {
  readonly path: string;
  readonly digest: string;
  readonly bytes: number;
}
export interface Invoke extends Lease {
  readonly type: "invoke";
  /** 1 on the first try; grows only when code may have run. */
  readonly attempt: number;
  /** The same on all attempts (= callId). */
  readonly idempotencyKey: string;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly tool: string;
  readonly version: string;
  /** UTF-8 JSON text; keeps the digits of numbers beyond 2^53. */
  readonly argsJson: string;
  readonly contextJson: string;
  readonly files: readonly FileRef[];
  /** Longest run, counted from `Started`. */
  readonly timeoutMs: number;
  /** Wall-clock instant (ms since 1970) after which nobody waits any more; 0 = none. */
  readonly deadlineAtMs: number;
  readonly sideEffectClass: SideEffectClass;
  /** True for unsafe classes: the handler starts on `Go`, not on `Invoke`. */
  readonly needsGo: boolean;
  readonly traceparent: string;
  /** Of a call that runs in a box: what the box is made of and held to (JSON text). Absent for an application's handler. */
  readonly boxJson?: string;
}
export interface Go extends Lease {
  readonly type: "go";
}
export interface Cancel extends Lease {
  readonly type: "cancel";
  readonly graceMs: number;
  /** `lost`: the lease is gone; stop, and no result is expected. */
  readonly reason: "cancel" | "timeout" | "lost";
}
export interface SecretGrant extends Lease {
  readonly type: "secret_grant";
  readonly secrets: Readonly<Record<string, string>>;
  readonly refused: readonly string[];
}
export interface ResultAck extends Lease {
  readonly type: "result_ack";
  readonly verdict: "stored" | "lease_lost";
}
export interface HeartbeatAck {
  readonly type: "heartbeat_ack";
}
export interface Drain {
  readonly type: "drain";
}
export interface GoAway {
  readonly type: "go_away";
  readonly reason: string;
  /** Empty: the same address again, after a back-off. */
  readonly reconnectTo: string;
}

export type RuntimeMessage =
  | Registered
  | Invoke
  | Go
  | Cancel
  | SecretGrant
  | ResultAck
  | HeartbeatAck
  | Drain
  | GoAway;

/**
 * One end of a Work stream, as both sides' state machines see it: gRPC, the in-memory pipe and the
 * simulator's network implement it. Messages arrive in order or the stream closes.
 */
export interface WorkStream<Incoming, Outgoing> {
  /** Queues one message; never throws; after `close` it does nothing. */
  send(message: Outgoing): void;
  close(reason: string): void;
  /** Set once, before the first message can arrive. */
  listen(on: { message(message: Incoming): void; closed(reason: string): void }): void;
}

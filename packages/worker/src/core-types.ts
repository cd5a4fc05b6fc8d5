// What goes into the worker's state machine, what comes out of it, and what it remembers in between.
import type {
  FromRuntime,
  HandlerOffer,
  Invoke,
  Output,
  Result,
  SecretGrant,
  SideEffectClass,
  Usage,
  WorkError,
  WorkerMessage,
} from "@signalbox/protocol";
import type { DoneWindow } from "./done-window.ts";

export interface CoreHandler extends HandlerOffer {
  /** What the code says of itself; the core refuses calls that a laxer manifest sends it. Undefined: the manifest decides. */
  readonly sideEffectClass?: SideEffectClass;
}

export interface WorkerCoreConfig {
  readonly workerId: string;
  /** New for every process start. */
  readonly incarnation: string;
  readonly handlers: readonly CoreHandler[];
  /** Calls at once, over all handlers. */
  readonly capacity: number;
  readonly pool?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly imageDigest?: string;
  /** Isolation backends; calls that bring a box may then be of any tool. */
  readonly backends?: readonly string[];
  /** Asked before every Register and heartbeat. */
  readonly freeMemoryBytes?: () => number;
}

/** How user code ended; whether that means "cancelled" is for the core to say. */
export type HandlerEnd =
  | { readonly status: "succeeded"; readonly outputJson: string; readonly illFormed?: boolean }
  | { readonly status: "failed"; readonly error: WorkError };

/** Ends that only a call with a box has; none of them is a result. */
export type BoxlessEnd =
  /** No code of the tool has run, whatever the class: the call is handed back, and another worker may try. */
  | { readonly status: "not_started"; readonly code: string; readonly message: string }
  /** What became of the tool nobody here knows: the call is forgotten, and the runtime treats its lease as lost. */
  | { readonly status: "lost"; readonly message: string };

interface OfCall {
  readonly callId: string;
  readonly fence: number;
}

export type WorkerInput =
  | { readonly type: "connected" }
  | { readonly type: "disconnected" }
  | { readonly type: "message"; readonly message: FromRuntime }
  /** Of a call with a box: it stands, and the tool's code starts now. */
  | (OfCall & { readonly type: "code_started" })
  | (OfCall & { readonly type: "handler_ended"; readonly end: HandlerEnd | BoxlessEnd; readonly usage?: Omit<Usage, "durationMs"> })
  | (OfCall & { readonly type: "progress"; readonly percent: number; readonly message: string })
  | (OfCall & { readonly type: "output"; readonly channel: Output["channel"]; readonly chunk: Uint8Array })
  | (OfCall & { readonly type: "emit"; readonly eventType: string; readonly payloadJson: string })
  | (OfCall & { readonly type: "secrets_wanted"; readonly names: readonly string[] })
  | { readonly type: "tick" }
  | { readonly type: "drain" };

export type StopReason = "cancel" | "timeout" | "lost";

export type WorkerOutput =
  | { readonly type: "send"; readonly message: WorkerMessage }
  /** Enter user code. At most once for each lease, and never for a call that is still in user code or known to be done. */
  | { readonly type: "start"; readonly invoke: Invoke }
  /** Ask user code to stop; `handler_ended` is still awaited. */
  | (OfCall & { readonly type: "stop"; readonly reason: StopReason; readonly graceMs: number })
  /** The lease is gone: ask user code to stop; nothing of it will be sent. */
  | (OfCall & { readonly type: "abandon" })
  | (OfCall & { readonly type: "secrets" } & Pick<SecretGrant, "secrets" | "refused">)
  /** Close the stream and dial again: `to`, or the same address when it is empty. */
  | { readonly type: "reconnect"; readonly to: string; readonly reason: string }
  /** Draining was asked for, and nothing is held any more. Said once. */
  | { readonly type: "drained" }
  /** The runtime took the worker in. */
  | { readonly type: "registered" }
  /** For the operator's log. */
  | { readonly type: "note"; readonly message: string };

/** `waiting`: accepted, not started. `abandoned`: its lease is gone, but user code still holds its slot. */
export type Phase = "waiting" | "running" | "abandoned";

export interface LiveCall {
  readonly invoke: Invoke;
  phase: Phase;
  /** Entered, and its box is still being made: the runtime has not been told that it runs. */
  preparing: boolean;
  startedAtMs: number;
  /** When the runtime was told last that it waits for its `Go`, or said itself that its lease holds. */
  acceptedAtMs: number;
  /** The first reason wins. */
  stop: StopReason | undefined;
  outputSeq: number;
  outputBytes: number;
  eventOrdinal: number;
  /** Asked for and not granted yet. */
  secretNames: readonly string[] | undefined;
}

/** A result that the runtime has not acknowledged. */
export interface HeldResult {
  readonly invoke: Invoke;
  readonly result: Result;
  /** Heartbeats that have named it; an answer that is still missing after one has been lost, and is asked for again. */
  beats: number;
}

export type Link = "offline" | "registering" | "online";

export interface CoreState {
  readonly config: WorkerCoreConfig;
  readonly handlers: ReadonlyMap<string, CoreHandler>;
  link: Link;
  registeringSinceMs: number;
  heartbeatMs: number;
  leaseMs: number;
  nextHeartbeatAtMs: number;
  unansweredHeartbeats: number;
  draining: boolean;
  drainedSaid: boolean;
  /** By call id; a call is live or held or neither, never both. */
  readonly live: Map<string, LiveCall>;
  /** Slots taken, by handler. */
  readonly busy: Map<string, number>;
  readonly held: Map<string, HeldResult>;
  heldChars: number;
  /** Leases under which code has run and of whose end nobody here knows; by call id, until the runtime has given them up. */
  readonly forgotten: Map<string, number>;
  readonly done: DoneWindow;
  /** Output, progress and events of user code that wait for the stream to come back. */
  backlog: Extract<WorkerMessage, { readonly type: "output" | "progress" | "emit" }>[];
  backlogBytes: number;
  /** Of the input at hand. */
  out: WorkerOutput[];
}

export function handlerKey(tool: string, version: string): string {
  return `${tool}@${version}`;
}

/** Sends when there is a stream; without one, what matters is told again after the next Register. */
export function say(state: CoreState, message: WorkerMessage): void {
  if (state.link !== "offline") state.out.push({ type: "send", message });
}

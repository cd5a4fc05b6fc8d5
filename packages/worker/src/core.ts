// The worker as a state machine: what to say to the runtime and when to enter user code; no clock, no promises.
import {
  decodeWorker,
  encodeWorker,
  limits,
  type FromRuntime,
  type InFlight,
  type Register,
  type Registered,
  type Resync,
  timeInWords,
} from "@signalbox/protocol";
import {
  keepWaiting,
  letGo,
  lose,
  onCancel,
  onCodeStarted,
  onGo,
  onHandlerEnded,
  onHandlerSays,
  onInvoke,
  onMalformed,
  onResultAck,
  onSecretGrant,
  onSecretsWanted,
  stopOverdue,
} from "./core-calls.ts";
import {
  handlerKey,
  say,
  type CoreState,
  type WorkerCoreConfig,
  type WorkerInput,
  type WorkerOutput,
} from "./core-types.ts";
import { DoneWindow } from "./done-window.ts";

/** A runtime that leaves this many heartbeats in a row unanswered is gone, even if the stream looks alive (half-open TCP). */
const unansweredHeartbeatsMax = 3;
/** A runtime that does not answer Register in this time will not. */
const registerMsMax = 10_000;

export interface WorkerCore {
  /** @param nowMs a clock that never goes back, in ms */
  on(input: WorkerInput, nowMs: number): readonly WorkerOutput[];
}

/** Throws RangeError when the configuration breaks a bound of the protocol. */
export function createWorkerCore(config: WorkerCoreConfig): WorkerCore {
  checkConfig(config);
  const state: CoreState = {
    config,
    handlers: new Map(config.handlers.map((handler) => [handlerKey(handler.tool, handler.version), handler])),
    link: "offline",
    registeringSinceMs: 0,
    heartbeatMs: limits.heartbeatMs,
    leaseMs: limits.leaseMs,
    nextHeartbeatAtMs: 0,
    unansweredHeartbeats: 0,
    draining: false,
    drainedSaid: false,
    live: new Map(),
    busy: new Map(),
    held: new Map(),
    heldChars: 0,
    forgotten: new Map(),
    done: new DoneWindow(),
    backlog: [],
    backlogBytes: 0,
    out: [],
  };
  return {
    on(input, nowMs) {
      state.out = [];
      take(state, input, nowMs);
      if (state.draining && !state.drainedSaid && state.live.size === 0 && state.held.size === 0) {
        state.drainedSaid = true;
        state.out.push({ type: "drained" });
      }
      return state.out;
    },
  };
}

/** What the codec would refuse at the other end is refused here, where somebody can mend it. */
function checkConfig(config: WorkerCoreConfig): void {
  const read = decodeWorker(encodeWorker(registerOf(config, [])));
  if (read.type === "malformed") throw new RangeError(`the worker cannot register: ${read.reason}`);
}

function take(state: CoreState, input: WorkerInput, nowMs: number): void {
  switch (input.type) {
    case "connected":
      return register(state, nowMs);
    case "disconnected":
      state.link = "offline";
      return;
    case "message":
      state.unansweredHeartbeats = 0;
      return onMessage(state, input.message, nowMs);
    case "code_started":
      return onCodeStarted(state, input, nowMs);
    case "handler_ended":
      return onHandlerEnded(state, input, nowMs);
    case "progress":
    case "output":
    case "emit":
      return onHandlerSays(state, input);
    case "secrets_wanted":
      return onSecretsWanted(state, input);
    case "tick":
      stopOverdue(state, nowMs);
      return beat(state, nowMs);
    case "drain":
      return drain(state);
  }
}

function onMessage(state: CoreState, message: FromRuntime, nowMs: number): void {
  switch (message.type) {
    case "registered":
      return onRegistered(state, message, nowMs);
    case "invoke":
      return onInvoke(state, message, nowMs);
    case "go":
      return onGo(state, message, nowMs);
    case "cancel":
      return onCancel(state, message, nowMs);
    case "secret_grant":
      return onSecretGrant(state, message);
    case "result_ack":
      return onResultAck(state, message, nowMs);
    case "heartbeat_ack":
      return;
    case "drain":
      return drain(state);
    case "go_away":
      return leave(state, message.reconnectTo, message.reason);
    case "malformed":
      return onMalformed(state, message);
  }
}

/** From here on nothing can be said on this stream: what handlers write while it closes waits for the next one. */
function leave(state: CoreState, to: string, reason: string): void {
  state.link = "offline";
  state.out.push({ type: "reconnect", to, reason });
}

function register(state: CoreState, nowMs: number): void {
  state.link = "registering";
  state.registeringSinceMs = nowMs;
  // Left out here, they would count as offers that never came, and the call would run again whatever its class.
  const forgotten = [...state.forgotten].map(([callId, fence]) => ({ callId, fence, state: "running" as const }));
  say(state, registerOf(state.config, [...inFlight(state), ...forgotten]));
}

function registerOf(config: WorkerCoreConfig, calls: readonly InFlight[]): Register {
  return {
    type: "register",
    workerId: config.workerId,
    incarnation: config.incarnation,
    imageDigest: config.imageDigest ?? "",
    pool: config.pool ?? "",
    labels: config.labels ?? {},
    handlers: config.handlers.map(({ tool, version, maxConcurrency, descriptorHash }) => ({
      tool,
      version,
      maxConcurrency,
      descriptorHash,
    })),
    backends: config.backends ?? [],
    capacity: config.capacity,
    inFlight: calls,
    ...freeMemory(config),
  };
}

function onRegistered(state: CoreState, message: Registered, nowMs: number): void {
  state.link = "online";
  state.heartbeatMs = message.heartbeatMs;
  state.leaseMs = message.leaseTtlMs;
  state.nextHeartbeatAtMs = nowMs + message.heartbeatMs;
  state.out.push({ type: "registered" });
  for (const { tool, version, reason } of message.refused) {
    state.out.push({ type: "note", message: `the runtime sends no calls for ${tool}@${version}: ${reason}` });
  }
  for (const call of message.resync) {
    if (call.verdict !== "keep") onLost(state, call, nowMs);
    else keepWaiting(state, call, nowMs);
  }
  if (state.draining) say(state, { type: "draining" });
  flushBacklog(state);
  for (const { result } of state.held.values()) say(state, result);
  for (const { invoke, secretNames } of state.live.values()) {
    if (secretNames !== undefined) {
      say(state, { type: "secret_request", callId: invoke.callId, fence: invoke.fence, names: secretNames });
    }
  }
}

function onLost(state: CoreState, { callId, fence, verdict }: Resync, nowMs: number): void {
  const held = state.held.get(callId);
  // A finished call whose lease ran out is told once more: it is what a person needs to resolve an indeterminate call.
  if (verdict === "drop" && held?.result.fence === fence) say(state, held.result);
  letGo(state, { callId, fence }, nowMs);
  if (state.forgotten.get(callId) === fence) state.forgotten.delete(callId);
  const live = state.live.get(callId);
  if (live?.invoke.fence === fence) lose(state, live);
}

/** What user code said while there was no stream, except of calls whose lease is gone. */
function flushBacklog(state: CoreState): void {
  for (const message of state.backlog) {
    const live = state.live.get(message.callId);
    const kept =
      live === undefined ? state.held.get(message.callId)?.result : live.phase === "running" ? live.invoke : undefined;
    if (kept?.fence === message.fence) say(state, message);
  }
  state.backlog = [];
  state.backlogBytes = 0;
}

function beat(state: CoreState, nowMs: number): void {
  if (state.link === "registering" && nowMs - state.registeringSinceMs >= registerMsMax) {
    return leave(state, "", `Register was not answered within ${timeInWords(registerMsMax)}`);
  }
  if (state.link !== "online" || nowMs < state.nextHeartbeatAtMs) return;
  state.nextHeartbeatAtMs = nowMs + state.heartbeatMs;
  if (state.unansweredHeartbeats >= unansweredHeartbeatsMax) {
    state.unansweredHeartbeats = 0;
    return leave(state, "", `${unansweredHeartbeatsMax} heartbeats were not answered`);
  }
  state.unansweredHeartbeats += 1;
  // Said again before the heartbeat, so that the heartbeat never names as done what the runtime has not been told.
  for (const held of state.held.values()) if (held.beats++ > 0) say(state, held.result);
  say(state, {
    type: "heartbeat",
    load: Math.min(1, state.live.size / state.config.capacity),
    inFlight: inFlight(state),
    ...freeMemory(state.config),
  });
}

function freeMemory({ freeMemoryBytes }: WorkerCoreConfig): Pick<Register, "freeMemoryBytes"> {
  return freeMemoryBytes === undefined ? {} : { freeMemoryBytes: freeMemoryBytes() };
}

function drain(state: CoreState): void {
  if (state.draining) return;
  state.draining = true;
  if (state.link === "online") say(state, { type: "draining" });
}

/** Every lease this worker answers for; an abandoned call is none of them. */
function inFlight(state: CoreState): InFlight[] {
  const calls: InFlight[] = [];
  for (const { invoke, phase, preparing } of state.live.values()) {
    if (phase !== "abandoned") {
      const entered = phase === "running" && !preparing;
      calls.push({ callId: invoke.callId, fence: invoke.fence, state: entered ? "running" : "accepted" });
    }
  }
  for (const { result } of state.held.values())
    calls.push({ callId: result.callId, fence: result.fence, state: "done" });
  return calls;
}

// The worker's rules for one call: when its handler may start, how it stops, and how long its result is kept.
import {
  isSafe,
  limits,
  utf8Bytes,
  type Cancel,
  type Go,
  type Invoke,
  type Lease,
  type Malformed,
  type Nack,
  type Result,
  type ResultAck,
  type SecretGrant,
  timeInWords,
} from "@signalbox/protocol";
import { handlerKey, say, type CoreState, type LiveCall, type WorkerInput } from "./core-types.ts";
import { charsOf } from "./done-window.ts";
import { resultTooLarge } from "./failure.ts";

/**
 * The runtime stops a call at `timeoutMs`; the worker's own net stands a little behind it, so that it only catches what
 * the runtime could not reach (a broken stream), and does not race it.
 */
const timeoutSlackMs = 1_000;
/** Results nobody acknowledges; past this the worker takes no new calls rather than more memory. */
const heldCharsMax = 256 * 1024 * 1024;
const heldResultsMax = 10_000;
/** What one handler may write; the runtime keeps less of it, and this stops a handler that writes without end. */
const outputBytesPerCallMax = 16 * limits.outputStreamBytesMax;
const cutNotice = new TextEncoder().encode(`output is cut here: a call may write ${outputBytesPerCallMax} bytes\n`);
const backlogBytesMax = 1024 * 1024;
/** The oldest go first: by then their leases are long over. */
const forgottenMax = 1_000;

type NackWords = readonly [reason: Nack["reason"], code: string, message: string];
const staleOrForeign: NackWords = [
  "retry_elsewhere",
  "stale_or_foreign",
  "this worker knows a newer lease of that call id, or one of another tenant",
];
const alreadyRunning: NackWords = [
  "retry_elsewhere",
  "already_running",
  "an older lease of this call is still running in this worker",
];
const leaseOver: NackWords = ["retry_elsewhere", "lease_over", "this lease of the call has ended in this worker"];
const unacknowledged: NackWords = [
  "retry_elsewhere",
  "results_unacknowledged",
  "too many results of this worker wait for an acknowledgement",
];

export function onInvoke(state: CoreState, invoke: Invoke, nowMs: number): void {
  if (invoke.fence > (state.forgotten.get(invoke.callId) ?? invoke.fence)) state.forgotten.delete(invoke.callId);
  const live = state.live.get(invoke.callId);
  const known = live?.invoke ?? state.held.get(invoke.callId)?.invoke;
  if (known !== undefined && (known.tenant !== invoke.tenant || invoke.fence < known.fence)) {
    nack(state, invoke, ...staleOrForeign);
  } else if (live !== undefined) {
    onInvokeOfLive(state, live, invoke, nowMs);
  } else if (answerFromMemory(state, invoke, nowMs)) {
    return;
  } else if (invoke.fence <= state.done.lastFence(invoke.tenant, invoke.callId, nowMs)) {
    nack(state, invoke, ...leaseOver);
  } else {
    accept(state, invoke, nowMs);
  }
}

function onInvokeOfLive(state: CoreState, live: LiveCall, invoke: Invoke, nowMs: number): void {
  if (live.phase === "waiting" && invoke.fence > live.invoke.fence) {
    removeLive(state, live); // the older lease never reached user code
    accept(state, invoke, nowMs);
  } else if (invoke.fence > live.invoke.fence) {
    // Its older lease is still in user code here, whatever the runtime thinks became of it.
    nack(state, invoke, ...alreadyRunning);
  } else if (live.phase === "abandoned") {
    nack(state, invoke, ...leaseOver);
  } else {
    // The same words again: the same answer. It does not start twice.
    say(state, { type: "accepted", ...leaseOf(invoke) });
  }
}

/** "I have done this one already": answers a new lease with the result of an older one. */
function answerFromMemory(state: CoreState, invoke: Invoke, nowMs: number): boolean {
  const held = state.held.get(invoke.callId);
  if (held !== undefined && invoke.sideEffectClass === "read_only" && invoke.fence !== held.invoke.fence) {
    release(state, invoke.callId); // reading again is harmless, and an old answer would be stale
    return false;
  }
  const result = held?.result ?? state.done.result(invoke.tenant, invoke.callId, nowMs);
  if (result === undefined) return false;
  if (invoke.fence < result.fence) {
    nack(state, invoke, ...staleOrForeign);
  } else if (held === undefined && holdsTooMuch(state)) {
    nack(state, invoke, ...unacknowledged);
  } else {
    const again: Result = { ...result, fence: invoke.fence };
    hold(state, invoke, again);
    say(state, { type: "accepted", ...leaseOf(invoke) });
    if (state.link === "online") say(state, again);
  }
  return true;
}

function accept(state: CoreState, invoke: Invoke, nowMs: number): void {
  const refusal = refusalOf(state, invoke);
  if (refusal !== undefined) {
    nack(state, invoke, ...refusal);
    return;
  }
  const live: LiveCall = {
    invoke,
    phase: "waiting",
    preparing: false,
    startedAtMs: 0,
    acceptedAtMs: nowMs,
    stop: undefined,
    outputSeq: 0,
    outputBytes: 0,
    eventOrdinal: 0,
    secretNames: undefined,
  };
  addLive(state, live);
  say(state, { type: "accepted", ...leaseOf(invoke) });
  // An unsafe call waits for `Go`, even if the runtime forgot to say so.
  if (isSafe(invoke.sideEffectClass) && !invoke.needsGo) start(state, live, nowMs);
}

/** A call that brings its box: whatever the tool, it takes a slot and nothing else. */
function refusalOfBox(state: CoreState): NackWords | undefined {
  if (state.draining) return ["retry_elsewhere", "draining", "this worker finishes its calls and leaves"];
  if (state.live.size >= state.config.capacity)
    return ["retry_elsewhere", "over_capacity", "every slot of this worker is taken"];
  return holdsTooMuch(state) ? unacknowledged : undefined;
}

function bringsBox(state: CoreState, invoke: Invoke): boolean {
  return invoke.boxJson !== undefined && (state.config.backends ?? []).length > 0;
}

function refusalOf(state: CoreState, invoke: Invoke): NackWords | undefined {
  if (bringsBox(state, invoke)) return refusalOfBox(state);
  const handler = state.handlers.get(handlerKey(invoke.tool, invoke.version));
  if (handler === undefined)
    return ["reject", "unknown_tool", `this worker has no handler for ${invoke.tool}@${invoke.version}`];
  const declared = handler.sideEffectClass;
  if (declared !== undefined && !isSafe(declared) && isSafe(invoke.sideEffectClass)) {
    const message = `the handler declares ${declared}, the manifest ${invoke.sideEffectClass}: publish a version with the handler's class`;
    return ["reject", "side_effect_class_mismatch", message];
  }
  if (state.draining) return ["retry_elsewhere", "draining", "this worker finishes its calls and leaves"];
  const ofHandler = state.busy.get(handlerKey(invoke.tool, invoke.version)) ?? 0;
  if (state.live.size >= state.config.capacity || ofHandler >= handler.maxConcurrency) {
    return ["retry_elsewhere", "over_capacity", "every slot of this worker is taken"];
  }
  return holdsTooMuch(state) ? unacknowledged : undefined;
}

function holdsTooMuch(state: CoreState): boolean {
  return state.held.size >= heldResultsMax || state.heldChars >= heldCharsMax;
}

function start(state: CoreState, live: LiveCall, nowMs: number): void {
  live.phase = "running";
  live.startedAtMs = nowMs;
  // A box is made first: until it stands no code runs, and the call can still be handed back.
  live.preparing = bringsBox(state, live.invoke);
  if (!live.preparing) say(state, { type: "started", ...leaseOf(live.invoke) });
  state.out.push({ type: "start", invoke: live.invoke });
}

export function onCodeStarted(state: CoreState, lease: Lease, nowMs: number): void {
  const live = find(state, lease);
  if (live === undefined || !live.preparing) return;
  live.preparing = false;
  live.startedAtMs = nowMs;
  if (live.phase === "running") say(state, { type: "started", ...leaseOf(live.invoke) });
}

export function onGo(state: CoreState, go: Go, nowMs: number): void {
  const live = find(state, go);
  if (live?.phase !== "waiting") return;
  // One of the two stood still, and the lease may be somebody else's by now; what has not begun can be handed back.
  if (nowMs - live.acceptedAtMs > state.leaseMs) handBack(state, live, goTooLate, nowMs);
  else start(state, live, nowMs);
}

const goTooLate = { code: "go_too_late", message: "the word to start came later than a lease lasts" };

/** The runtime says that the lease holds: the time for its `Go` begins anew. */
export function keepWaiting(state: CoreState, lease: Lease, nowMs: number): void {
  const live = find(state, lease);
  if (live?.phase === "waiting") live.acceptedAtMs = nowMs;
}

export function onCancel(state: CoreState, cancel: Cancel, nowMs: number): void {
  if (cancel.reason === "lost" && state.forgotten.get(cancel.callId) === cancel.fence) state.forgotten.delete(cancel.callId);
  const live = find(state, cancel);
  if (live === undefined) return; // done or never seen: its result or its nack is the answer
  if (cancel.reason === "lost") {
    lose(state, live);
  } else if (live.phase === "waiting") {
    finish(
      state,
      live,
      { type: "result", ...leaseOf(live.invoke), status: "cancelled", usage: { durationMs: 0 } },
      nowMs,
    );
  } else {
    stop(state, live, cancel.reason, cancel.graceMs);
  }
}

function stop(state: CoreState, live: LiveCall, reason: "cancel" | "timeout", graceMs: number): void {
  if (live.stop !== undefined || live.phase !== "running") return;
  live.stop = reason;
  state.out.push({ type: "stop", ...leaseOf(live.invoke), reason, graceMs });
}

/** The lease is gone. User code keeps its slot until it really ends. */
export function lose(state: CoreState, live: LiveCall): void {
  if (live.phase === "waiting") {
    removeLive(state, live);
    sayDropped(state, live);
  } else if (live.phase === "running") {
    live.phase = "abandoned";
    live.stop ??= "lost";
    state.out.push({ type: "abandon", ...leaseOf(live.invoke) });
  }
}

/** Tells the runtime that the slot of a lost lease is free; without it the slot comes back two heartbeats later. */
function sayDropped(state: CoreState, live: LiveCall): void {
  if (state.link === "online")
    nack(state, live.invoke, "retry_elsewhere", "dropped", "the lost lease no longer holds a slot");
}

export function stopOverdue(state: CoreState, nowMs: number): void {
  for (const live of state.live.values()) {
    const dueAtMs = live.startedAtMs + live.invoke.timeoutMs + timeoutSlackMs;
    // Making a box has a time of its own.
    if (live.phase === "running" && !live.preparing && nowMs >= dueAtMs) stop(state, live, "timeout", limits.graceMs);
  }
}

export function onHandlerEnded(state: CoreState, input: WorkerInput & { type: "handler_ended" }, nowMs: number): void {
  const live = find(state, input);
  if (live === undefined || live.phase === "waiting") return;
  const { end } = input;
  if (end.status === "lost") return forget(state, live, end.message, nowMs);
  const base = {
    type: "result",
    ...leaseOf(live.invoke),
    usage: { durationMs: Math.round(Math.max(0, nowMs - live.startedAtMs) * 1000) / 1000, ...input.usage },
  } as const;
  if (end.status === "not_started") {
    if (!live.preparing) forget(state, live, `its code had started: ${end.message}`, nowMs);
    else if (live.stop !== undefined) finish(state, live, stopped(base, live), nowMs);
    else handBack(state, live, end, nowMs);
  } else if (end.status === "failed") {
    finish(
      state,
      live,
      live.stop === undefined ? { ...base, status: "failed", error: end.error } : stopped(base, live),
      nowMs,
    );
  } else if (utf8Bytes(end.outputJson) > limits.resultBytesMax) {
    finish(state, live, { ...base, status: "failed", error: resultTooLarge(utf8Bytes(end.outputJson)) }, nowMs);
  } else {
    // A handler that finished its work after it was asked to stop has still done it: the runtime decides what that means.
    const illFormed = end.illFormed === true ? { illFormed: true } : {};
    finish(state, live, { ...base, status: "succeeded", outputJson: end.outputJson, ...illFormed }, nowMs);
  }
}

/**
 * Says nothing of it from now on: heartbeats leave it out, and what that means is for the runtime and the call's class. A new
 * stream is told that it began here, in case the runtime has lost that word.
 */
function forget(state: CoreState, live: LiveCall, why: string, nowMs: number): void {
  const { tenant, callId, fence } = live.invoke;
  removeLive(state, live);
  state.done.ended(tenant, callId, fence, nowMs);
  state.out.push({ type: "note", message: `what became of ${callId} is not known: ${why}` });
  if (live.phase === "abandoned") return sayDropped(state, live);
  const [oldest] = state.forgotten.keys();
  if (state.forgotten.size >= forgottenMax && oldest !== undefined) state.forgotten.delete(oldest);
  state.forgotten.set(callId, fence);
}

function handBack(
  state: CoreState,
  live: LiveCall,
  end: { readonly code: string; readonly message: string },
  nowMs: number,
): void {
  const { tenant, callId, fence } = live.invoke;
  removeLive(state, live);
  state.done.ended(tenant, callId, fence, nowMs);
  nack(state, live.invoke, "retry_elsewhere", end.code, end.message);
}

/** The confirmed stop; what the handler threw on its way out says nothing about the tool. */
function stopped(base: Omit<Result, "status">, live: LiveCall): Result {
  if (live.stop !== "timeout") return { ...base, status: "cancelled" };
  const message = `the handler was stopped after its ${timeInWords(live.invoke.timeoutMs)}`;
  return { ...base, status: "cancelled", error: { code: "stopped_after_timeout", message, retryable: false } };
}

/** Ends a live call with a result, which is kept until it is acknowledged, or with nothing when its lease is gone. */
function finish(state: CoreState, live: LiveCall, result: Result, nowMs: number): void {
  removeLive(state, live);
  state.done.ended(live.invoke.tenant, live.invoke.callId, live.invoke.fence, nowMs);
  if (live.phase === "abandoned") {
    remember(state, live.invoke, result, nowMs);
    // What an unsafe handler did all the same is what a person needs who has to resolve the call; nobody answers for it.
    if (isSafe(live.invoke.sideEffectClass) || state.link !== "online") sayDropped(state, live);
    else say(state, result);
    return;
  }
  hold(state, live.invoke, result);
  if (state.link === "online") say(state, result);
}

function hold(state: CoreState, invoke: Invoke, result: Result): void {
  release(state, invoke.callId);
  // The arguments may be a megabyte, and nobody needs them any more.
  state.held.set(invoke.callId, { invoke: { ...invoke, argsJson: "" }, result, beats: 0 });
  state.heldChars += charsOf(result);
}

function release(state: CoreState, callId: string): void {
  const held = state.held.get(callId);
  if (held === undefined) return;
  state.held.delete(callId);
  state.heldChars -= charsOf(held.result);
}

function remember(state: CoreState, invoke: Invoke, result: Result, nowMs: number): void {
  if (invoke.sideEffectClass !== "read_only" && result.status === "succeeded")
    state.done.keep(invoke.tenant, result, nowMs);
}

/** The runtime has said its last word about a held result. */
export function letGo(state: CoreState, lease: Lease, nowMs: number): void {
  const held = state.held.get(lease.callId);
  if (held === undefined || held.result.fence !== lease.fence) return;
  release(state, lease.callId);
  remember(state, held.invoke, held.result, nowMs);
}

export function onResultAck(state: CoreState, ack: ResultAck, nowMs: number): void {
  letGo(state, ack, nowMs);
}

export function onSecretGrant(state: CoreState, grant: SecretGrant): void {
  const live = find(state, grant);
  if (live?.secretNames === undefined) return;
  live.secretNames = undefined;
  state.out.push({ type: "secrets", ...leaseOf(live.invoke), secrets: grant.secrets, refused: grant.refused });
}

/** A message of the runtime could not be read. It costs the call that it named, if that has not started, and nothing else. */
export function onMalformed(state: CoreState, { reason, lease }: Malformed): void {
  state.out.push({ type: "note", message: `a message of the runtime could not be read: ${reason}` });
  if (lease === undefined) return;
  const live = find(state, lease);
  if (live !== undefined && live.phase !== "waiting") return;
  if (live === undefined && (state.live.has(lease.callId) || state.held.has(lease.callId))) return;
  if (live !== undefined) removeLive(state, live);
  nack(state, lease, "reject", "malformed_message", reason);
}

export function onHandlerSays(state: CoreState, input: WorkerInput & { type: "progress" | "output" | "emit" }): void {
  const live = find(state, input);
  if (live?.phase !== "running") return;
  const lease = leaseOf(live.invoke);
  switch (input.type) {
    case "progress":
      post(state, { type: "progress", ...lease, percent: input.percent, message: input.message }, input.message.length);
      return;
    case "emit": {
      live.eventOrdinal += 1;
      const { eventType, payloadJson } = input;
      post(state, { type: "emit", ...lease, ordinal: live.eventOrdinal, eventType, payloadJson }, payloadJson.length);
      return;
    }
    case "output":
      for (let at = 0; at < input.chunk.length; at += limits.outputChunkBytesMax) {
        const chunk = input.chunk.subarray(at, at + limits.outputChunkBytesMax);
        live.outputSeq += 1; // also for what is dropped: the gap says that something is missing
        live.outputBytes += chunk.length;
        if (live.outputBytes <= outputBytesPerCallMax) {
          post(state, { type: "output", ...lease, seq: live.outputSeq, channel: input.channel, chunk }, chunk.length);
        } else if (live.outputBytes - chunk.length <= outputBytesPerCallMax) {
          // In place of the first chunk that is dropped: whoever follows the call must not take this for all of it.
          post(
            state,
            { type: "output", ...lease, seq: live.outputSeq, channel: "log", chunk: cutNotice },
            cutNotice.length,
          );
        }
      }
  }
}

/** Sends, or keeps for the next stream as much as fits. */
function post(state: CoreState, message: CoreState["backlog"][number], bytes: number): void {
  if (state.link === "online") {
    say(state, message);
  } else if (state.backlogBytes + bytes <= backlogBytesMax) {
    state.backlog.push(message);
    state.backlogBytes += bytes + 100;
  }
}

export function onSecretsWanted(state: CoreState, input: WorkerInput & { type: "secrets_wanted" }): void {
  const live = find(state, input);
  if (live?.phase !== "running") return;
  live.secretNames = input.names;
  if (state.link === "online") say(state, { type: "secret_request", ...leaseOf(live.invoke), names: input.names });
}

function addLive(state: CoreState, live: LiveCall): void {
  const key = handlerKey(live.invoke.tool, live.invoke.version);
  state.live.set(live.invoke.callId, live);
  state.busy.set(key, (state.busy.get(key) ?? 0) + 1);
}

function removeLive(state: CoreState, live: LiveCall): void {
  const key = handlerKey(live.invoke.tool, live.invoke.version);
  state.live.delete(live.invoke.callId);
  state.busy.set(key, (state.busy.get(key) ?? 1) - 1);
}

function find(state: CoreState, lease: Lease): LiveCall | undefined {
  const live = state.live.get(lease.callId);
  return live?.invoke.fence === lease.fence ? live : undefined;
}

function nack(state: CoreState, lease: Lease, ...[reason, code, message]: NackWords): void {
  say(state, { type: "nack", ...leaseOf(lease), reason, code, message });
}

function leaseOf({ callId, fence }: Lease): Lease {
  return { callId, fence };
}

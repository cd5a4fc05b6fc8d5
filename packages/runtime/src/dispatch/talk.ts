// What workers say: registration, heartbeats and words about calls, turned into happenings of the machine.
import type { Heartbeat, InFlight, Lease, Register, Resync, Result, WorkerMessage } from "@signalbox/protocol";
import { isTerminal } from "../call/types.ts";
import { apply, holdSlot, invokePending } from "./apply.ts";
import { keepEvent } from "./host-events.ts";
import { fill } from "./place.ts";
import { agentBackend, boxLaneOf, heldCall, leaseKey, workerKey, workerTenantOf, type HubState } from "./state.ts";
import { laneKeyOf, type Held, type LiveCall, type Session } from "./types.ts";

/** One message of a connected worker. Nothing here throws: a bad message costs its call or its sender, never the hub. */
export function hear(state: HubState, session: Session, message: WorkerMessage, now: number): void {
  session.lastHeardAt = now;
  if (message.type === "register") return register(state, session, message, now);
  if (!session.registered) return close(state, session, "the first message must be register");
  switch (message.type) {
    case "heartbeat":
      return heartbeat(state, session, message, now);
    case "draining":
      session.draining = true;
      return;
    case "accepted":
    case "started":
      return about(state, session, message, now);
    case "nack":
      about(state, session, message, now);
      return letGo(state, session, message.callId, message.fence, now);
    case "result":
      result(state, session, message, now);
      return letGo(state, session, message.callId, message.fence, now);
    case "malformed":
      return malformed(state, session, message, now);
    case "output":
    case "progress":
    case "emit": {
      // No rule rests on what a call says while it runs; only the worker that holds it is heard.
      const entry = heldCall(state, session, message);
      if (entry?.live.call.fence !== message.fence) return;
      const said = message.type === "emit" ? keepEvent(state, entry, message, now) : message;
      state.out.push({ type: "said", call: entry.live.call, message: said });
      return;
    }
    default:
      // Secret requests have their own room.
      return;
  }
}

function close(state: HubState, session: Session, reason: string): void {
  state.out.push({ type: "send", session: session.id, message: { type: "go_away", reason, reconnectTo: "" } });
  state.out.push({ type: "close", session: session.id, reason });
}

function register(state: HubState, session: Session, message: Register, now: number): void {
  if (session.registered) return close(state, session, "register came twice");
  const { tenant } = session.identity;
  const key = workerKey(tenant, message.workerId, message.incarnation);
  const older = state.byWorker.get(key);
  if (older === undefined && workersOf(state, tenant) >= state.limits.workersPerTenantMax) {
    return close(state, session, `${state.limits.workersPerTenantMax} workers of this tenant are connected, and more are not taken`);
  }
  session.workerId = message.workerId;
  session.incarnation = message.incarnation;
  session.capacity = Math.min(message.capacity, state.limits.workerCapacityMax);
  session.labels = message.labels;
  session.imageDigest = message.imageDigest;
  session.freeMemoryBytes = message.freeMemoryBytes ?? null;
  session.registered = true;
  const refused: { tool: string; version: string; reason: string }[] = [];
  for (const offer of message.handlers) {
    if (session.handlers.size >= state.limits.handlersPerWorkerMax) {
      refused.push({ tool: offer.tool, version: offer.version, reason: `more than ${state.limits.handlersPerWorkerMax} handlers` });
      continue;
    }
    const laneKey = laneKeyOf(tenant, offer.tool, offer.version);
    session.handlers.set(laneKey, { tool: offer.tool, version: offer.version, maxConcurrency: offer.maxConcurrency, busy: 0 });
    let servers = state.servers.get(laneKey);
    if (servers === undefined) state.servers.set(laneKey, (servers = new Set()));
    servers.add(session);
  }
  offerBackends(state, session, message.backends);
  state.byWorker.set(key, session);
  // A half-open stream of the same process is replaced by the new one; its leases come over.
  if (older !== undefined && older !== session) {
    dropSession(state, older);
    state.out.push({ type: "close", session: older.id, reason: "the same worker connected again" });
  }
  resync(state, session, message, refused, now);
  fill(state, session, now);
  if (message.handlers.length === 0) return;
  const handlers = message.handlers.map(({ tool, version }) => ({ tool, version }));
  state.out.push({ type: "vet", session: session.id, identity: session.identity, imageDigest: session.imageDigest, handlers });
}

/** Takes handlers away that this worker may not run; what it was given of them before is its lease's matter. */
export function disbar(state: HubState, session: Session, handlers: readonly { readonly tool: string; readonly version: string }[]): void {
  for (const { tool, version } of handlers) {
    const laneKey = laneKeyOf(session.identity.tenant, tool, version);
    session.handlers.delete(laneKey);
    const servers = state.servers.get(laneKey);
    servers?.delete(session);
    if (servers?.size === 0) state.servers.delete(laneKey);
  }
}

/** Only the platform's own workers may offer boxes: what runs in them is every tenant's. */
function offerBackends(state: HubState, session: Session, backends: readonly string[]): void {
  const { tenant, inProcess = false } = session.identity;
  if (tenant !== "platform") return;
  // A replica's own part alone knows the sessions that it would have to find again.
  session.backends = backends.filter((backend) => inProcess || backend !== agentBackend);
  for (const backend of session.backends) {
    const laneKey = boxLaneOf(backend);
    session.handlers.set(laneKey, { tool: "", version: backend, maxConcurrency: session.capacity, busy: 0 });
    const servers = state.servers.get(laneKey) ?? new Set();
    state.servers.set(laneKey, servers.add(session));
  }
}

function workersOf(state: HubState, tenant: string): number {
  let count = 0;
  for (const one of state.sessions.values()) if (one.registered && one.identity.tenant === tenant) count++;
  return count;
}

function resync(
  state: HubState,
  session: Session,
  message: Register,
  refused: readonly { tool: string; version: string; reason: string }[],
  now: number,
): void {
  const verdicts: Resync[] = [];
  const kept = new Map<string, { item: InFlight; entry: LiveCall }>();
  const leased = new Map<string, LiveCall>();
  for (const entry of callsLeasedBy(state, session)) leased.set(entry.live.call.callId, entry);
  for (const item of message.inFlight) {
    const entry = leased.get(item.callId);
    const keep = entry !== undefined && entry.live.call.fence === item.fence;
    if (keep) kept.set(item.callId, { item, entry });
    else holdWhileLosing(state, session, item);
    // A held result is wanted even under an old fence: it comes again, is kept as evidence, and is answered then.
    const verdict = keep || item.state === "done" || stillLosing(state, session, item) ? "keep" : "drop";
    verdicts.push({ callId: item.callId, fence: item.fence, verdict });
  }
  const { leaseMs: leaseTtlMs, heartbeatMs } = state.limits;
  state.out.push({ type: "send", session: session.id, message: { type: "registered", leaseTtlMs, heartbeatMs, resync: verdicts, refused } });
  for (const { item, entry } of kept.values()) takeBack(state, session, entry, item, now);
  disownRest(state, session, message, now);
}

/** The open call that this very incarnation has under this lease, where it holds no slot for it (any more). Looks at every open call. */
function leasedTo(state: HubState, session: Session, { callId, fence }: Lease): LiveCall | undefined {
  for (const entry of callsLeasedBy(state, session)) {
    if (entry.live.call.callId === callId && entry.live.call.fence === fence) return entry;
  }
  return undefined;
}

function* callsLeasedBy(state: HubState, session: Session): Iterable<LiveCall> {
  for (const entry of state.calls.values()) {
    const { call } = entry.live;
    if (call.state !== "dispatched" && call.state !== "running") continue;
    if (call.workerId === session.workerId && call.incarnation === session.incarnation && workerTenantOf(call) === session.identity.tenant) {
      yield entry;
    }
  }
}

function takeBack(state: HubState, session: Session, entry: LiveCall, item: InFlight, now: number): void {
  entry.invokedOn = session.id;
  holdSlot(session, entry);
  apply(state, entry, { type: "renew", fence: item.fence }, now, session.id);
  if (item.state === "accepted") apply(state, entry, { type: "accepted", fence: item.fence }, now, session.id);
  // Also where its handler is done already: its start is late no more, and its result is on the way.
  else apply(state, entry, { type: "started", fence: item.fence }, now, session.id);
  const { call } = entry.live;
  if (call.stopReason !== null && !isTerminal(call.state)) {
    const reason = call.stopReason === "cancel" ? "cancel" : "timeout";
    const { callId, fence, graceMs } = call;
    state.out.push({ type: "send", session: session.id, message: { type: "cancel", callId, fence, graceMs, reason } });
  }
}

/** Calls this incarnation was sent and does not name: they never reached it, unless it had said otherwise. */
function disownRest(state: HubState, session: Session, message: Register, now: number): void {
  const named = new Set(message.inFlight.map((item) => item.callId));
  for (const entry of Array.from(callsLeasedBy(state, session))) {
    const { call, lease } = entry.live;
    if (named.has(call.callId) || session.holding.has(call.callId)) continue;
    if (entry.invokedOn === invokePending) {
      // The Invoke of this lease still waits for its commit and will go out on the new stream.
      holdSlot(session, entry);
      continue;
    }
    const knewIt = call.state === "running" || (lease !== null && lease.acceptedAt !== null);
    apply(state, entry, { type: knewIt ? "missing" : "disowned", fence: call.fence }, now, session.id);
  }
}

function heartbeat(state: HubState, session: Session, message: Heartbeat, now: number): void {
  state.out.push({ type: "send", session: session.id, message: { type: "heartbeat_ack" } });
  session.freeMemoryBytes = message.freeMemoryBytes ?? session.freeMemoryBytes;
  const named = new Map(message.inFlight.map((item) => [item.callId, item]));
  const renewals: { tenant: string; callId: string; fence: number; leaseExpiresAt: number }[] = [];
  for (const item of message.inFlight) {
    const held = session.holding.get(item.callId);
    if (held?.fence === item.fence) held.missed = 0;
    const entry = heldCall(state, session, item);
    if (entry === undefined || entry.live.call.fence !== item.fence) {
      tellLost(state, session, item);
      continue;
    }
    apply(state, entry, { type: "renew", fence: item.fence }, now, session.id);
    catchUp(state, session, entry, item, now);
    noteRenewal(state, entry, now, renewals);
  }
  if (renewals.length > 0) {
    const ticket = state.nextTicket++;
    state.out.push({ type: "commit", ticket, unit: { lazy: true, writes: [{ op: "renew_leases", leases: renewals }] }, admission: false });
  }
  for (const held of Array.from(session.holding.values())) if (!named.has(held.callId)) missedBy(state, session, held, now);
  fill(state, session, now);
}

/** A heartbeat says again what an earlier message may have failed to: that the worker waits for its `Go`, or runs. */
function catchUp(state: HubState, session: Session, entry: LiveCall, item: InFlight, now: number): void {
  if (entry.live.call.state !== "dispatched") return;
  if (item.state !== "accepted") apply(state, entry, { type: "started", fence: item.fence }, now, session.id);
  if (item.state === "accepted" && entry.invokedOn === session.id) {
    apply(state, entry, { type: "accepted", fence: item.fence }, now, session.id);
  }
}

/** A lease goes to the store only when less than two thirds of the stored one are left. */
function noteRenewal(
  state: HubState,
  entry: LiveCall,
  now: number,
  renewals: { tenant: string; callId: string; fence: number; leaseExpiresAt: number }[],
): void {
  const { tenant, callId, fence, leaseExpiresAt } = entry.live.call;
  if (leaseExpiresAt === null || entry.storedLeaseAt - now >= (state.limits.leaseMs * 2) / 3) return;
  entry.storedLeaseAt = leaseExpiresAt;
  renewals.push({ tenant, callId, fence, leaseExpiresAt });
}

/**
 * A stale attempt learns that its lease is gone, once the ledger knows of it too: after a crash in between, the worker
 * would have forgotten a run that the ledger still gives it. A finished one learns it from the answer to its result.
 */
function tellLost(state: HubState, session: Session, item: InFlight): void {
  if (item.state === "done" || stillLosing(state, session, item)) return;
  const { callId, fence } = item;
  state.out.push({ type: "send", session: session.id, message: { type: "cancel", callId, fence, graceMs: 0, reason: "lost" } });
}

/** What the worker may not be told to drop yet still takes a slot there. */
function holdWhileLosing(state: HubState, session: Session, { callId, fence }: Lease): void {
  const entry = state.losing.get(leaseKey(workerKey(session.identity.tenant, session.workerId, session.incarnation), { callId, fence }));
  if (entry !== undefined) holdSlot(session, entry, fence);
}

function stillLosing(state: HubState, session: Session, lease: Lease): boolean {
  return state.losing.has(leaseKey(workerKey(session.identity.tenant, session.workerId, session.incarnation), lease));
}

function missedBy(state: HubState, session: Session, held: Held, now: number): void {
  const entry = heldCall(state, session, held);
  const current = entry !== undefined && entry.live.call.fence === held.fence;
  // Its Invoke has not gone out on this stream yet.
  if (current && entry.invokedOn !== session.id) return;
  // It may not have been read yet when the heartbeat was written: one more heartbeat decides.
  held.missed++;
  if (held.missed < state.limits.heartbeatsMissedMax) return;
  letGo(state, session, held.callId, held.fence, now);
  if (current) apply(state, entry, { type: "missing", fence: held.fence }, now, session.id);
}

function about(
  state: HubState,
  session: Session,
  message: Extract<WorkerMessage, { type: "accepted" | "started" | "nack" }>,
  now: number,
): void {
  const entry = heldCall(state, session, message);
  const outcome = entry === undefined ? undefined : apply(state, entry, message, now, session.id);
  const lost = outcome === undefined ? session.holding.has(message.callId) : !outcome.ok && outcome.reason === "old_fence";
  if (lost && message.type !== "nack") tellLost(state, session, { ...message, state: "running" });
}

function result(state: HubState, session: Session, message: Result, now: number): void {
  const entry = heldCall(state, session, message) ?? leasedTo(state, session, message);
  if (entry === undefined) {
    state.out.push({ type: "stray", session: session.id, tenant: session.identity.tenant, result: message });
  } else {
    const checked = entry.facts.check(entry.live.call, message, session.workerId);
    apply(state, entry, { type: "result", result: checked }, now, session.id);
  }
}

/**
 * A message that makes no sense fails the call it names; the stream goes on. What the worker does with the call nobody
 * knows, so it is told to drop it, and its slot stays taken until it says so, or leaves the call out of its heartbeats.
 */
function malformed(state: HubState, session: Session, message: Extract<WorkerMessage, { type: "malformed" }>, now: number): void {
  const { lease, reason } = message;
  if (lease === undefined) return;
  const error = { code: "malformed_message", message: reason, retryable: false };
  const { callId, fence } = lease;
  result(state, session, { type: "result", callId, fence, status: "failed", error, usage: { durationMs: 0 } }, now);
  tellLost(state, session, { callId, fence, state: "running" });
}

/** The worker no longer has the call, so its slot is free. */
export function letGo(state: HubState, session: Session, callId: string, fence: number, now: number): void {
  const held = session.holding.get(callId);
  if (held === undefined || held.fence !== fence) return;
  session.holding.delete(callId);
  const handler = session.handlers.get(held.laneKey);
  if (handler !== undefined && handler.busy > 0) handler.busy--;
  fill(state, session, now);
}

/** Takes a session out of every index; its calls keep their leases. */
export function dropSession(state: HubState, session: Session): void {
  state.sessions.delete(session.id);
  const key = workerKey(session.identity.tenant, session.workerId, session.incarnation);
  if (state.byWorker.get(key) === session) state.byWorker.delete(key);
  for (const laneKey of session.handlers.keys()) {
    const servers = state.servers.get(laneKey);
    servers?.delete(session);
    if (servers?.size === 0) state.servers.delete(laneKey);
  }
}

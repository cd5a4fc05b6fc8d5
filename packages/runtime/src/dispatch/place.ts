// Finds a worker for a call, and a call for a worker that has a free slot.
import { apply, holdSlot, invokePending, schedule } from "./apply.ts";
import { callKey, type HubState } from "./state.ts";
import type { LiveCall, Session } from "./types.ts";

/** How far down a lane a free worker looks past calls that are not for it; bounds the work of one look. */
const lookAheadMax = 64;

/** Whether this session has a slot for a call of this lane at all. */
function hasSlot(state: HubState, session: Session, laneKey: string, now: number): boolean {
  if (state.draining || !session.registered || session.draining) return false;
  if (now - session.lastHeardAt >= state.limits.workerSilentMs) return false;
  const handler = session.handlers.get(laneKey);
  return handler !== undefined && handler.busy < handler.maxConcurrency && session.holding.size < session.capacity;
}

/** Least loaded first, then by name: the same state always gives the same choice. */
export function chooseSession(state: HubState, entry: LiveCall, now: number): Session | undefined {
  const servers = state.servers.get(entry.laneKey);
  if (servers === undefined) return undefined;
  let best: Session | undefined;
  let fallback: Session | undefined;
  for (const session of servers) {
    if (!hasSlot(state, session, entry.laneKey, now) || session.holding.has(entry.live.call.callId)) continue;
    if (entry.avoid.has(session.workerId)) fallback = better(session, fallback);
    else best = better(session, best);
  }
  if (best !== undefined || fallback === undefined) return best;
  return othersCouldTake(state, entry, now) ? undefined : fallback;
}

/** A call waits for a worker that has not turned it down only while there is one that is alive. */
function othersCouldTake(state: HubState, entry: LiveCall, now: number): boolean {
  for (const session of state.servers.get(entry.laneKey) ?? []) {
    if (session.draining || entry.avoid.has(session.workerId)) continue;
    if (now - session.lastHeardAt < state.limits.workerSilentMs) return true;
  }
  return false;
}

function better(candidate: Session, best: Session | undefined): Session {
  if (best === undefined) return candidate;
  const a = candidate.holding.size / candidate.capacity;
  const b = best.holding.size / best.capacity;
  if (a !== b) return a < b ? candidate : best;
  return candidate.workerId < best.workerId ? candidate : best;
}

/** Offers what came back to the line to whoever is free. */
export function placeWaiting(state: HubState, now: number): void {
  while (state.unplaced.length > 0) {
    const entries = state.unplaced;
    state.unplaced = [];
    for (const entry of entries) dispatchIfFree(state, entry, now);
  }
}

export function dispatchIfFree(state: HubState, entry: LiveCall, now: number): void {
  if (entry.live.call.state !== "queued" || entry.live.call.notBefore > now) return;
  const session = chooseSession(state, entry, now);
  if (session !== undefined) assign(state, entry, session, now);
}

export function assignHappening(state: HubState, session: Session) {
  return { type: "assign", workerId: session.workerId, incarnation: session.incarnation, replica: state.replica } as const;
}

function assign(state: HubState, entry: LiveCall, session: Session, now: number): void {
  const result = apply(state, entry, assignHappening(state, session), now, session.id);
  if (!result.ok) return;
  entry.invokedOn = invokePending;
  holdSlot(session, entry);
}

/** A slot came free: the smallest tag among the lanes this worker serves goes next, as long as there is room. */
export function fill(state: HubState, session: Session, now: number): void {
  while (session.holding.size < session.capacity) {
    const next = nextFor(state, session, now);
    if (next === undefined) return;
    assign(state, next, session, now);
    if (next.live.call.state === "queued") {
      // The machine refused; look again when the call is due rather than spin here.
      schedule(state, next, now);
      return;
    }
  }
}

/** Over the lanes that the worker serves, which are few, not over all lanes that wait, which are every tenant's. */
function nextFor(state: HubState, session: Session, now: number): LiveCall | undefined {
  let best: LiveCall | undefined;
  for (const laneKey of session.handlers.keys()) {
    if (!hasSlot(state, session, laneKey, now)) continue;
    for (const waiting of state.line.peek(laneKey, lookAheadMax)) {
      if (best !== undefined && waiting.startTag >= best.live.call.startTag) break;
      if (waiting.notBefore > now || session.holding.has(waiting.callId)) continue;
      const entry = state.calls.get(callKey(waiting.tenant, waiting.callId));
      if (entry === undefined || (entry.avoid.has(session.workerId) && othersCouldTake(state, entry, now))) continue;
      best = entry;
      break;
    }
  }
  return best;
}

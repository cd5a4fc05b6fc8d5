// Finds a call for a worker that has a free slot, and gives it the call.
import type { Call } from "../call/types.ts";
import { apply, holdSlot, invokePending, schedule } from "./apply.ts";
import { beginsUnder, breakerKey, refusedCallMs } from "./breakers.ts";
import { chooseSession, hasSlot, mayRun, othersCouldTake } from "./choose.ts";
import { gateOf, isAtCap } from "./gate.ts";
import { callKey, isHeld, type HubState } from "./state.ts";
import type { LiveCall, Session } from "./types.ts";

/** How far down a lane a free worker looks past calls that are not for it; bounds the work of one look. */
const lookAheadMax = 64;

/** Whether what was found when the call was last looked at still holds; if not, somebody is asked to look again. */
function isCleared(state: HubState, entry: LiveCall, now: number): boolean {
  const { epoch, until } = entry.clearance;
  if (epoch === state.epoch && now < until) return true;
  if (!entry.lookedAt) {
    entry.lookedAt = true;
    state.out.push({ type: "recheck", call: entry.live.call });
  }
  return false;
}

/** Offers what came back to the line to whoever is free. */
export function placeWaiting(state: HubState, now: number): void {
  if (state.opened.length > 0) endUnderOpened(state, now);
  while (state.unplaced.length > 0) {
    const entries = state.unplaced;
    state.unplaced = [];
    for (const entry of entries) dispatchIfFree(state, entry, now);
  }
  if (state.roomUnderCap) fillAll(state, now);
}

/** Whom a cap held back may wait for any worker that is connected: whoever is next of all of them goes first. */
function fillAll(state: HubState, now: number): void {
  state.roomUnderCap = false;
  for (;;) {
    let next: LiveCall | undefined;
    for (const session of state.sessions.values()) {
      const found = nextFor(state, session, now);
      if (found !== undefined && (next === undefined || isBefore(state, found, next, now))) next = found;
    }
    const session = next === undefined ? undefined : chooseSession(state, next, now);
    if (next === undefined || session === undefined) return;
    assign(state, next, session, now);
    if (next.live.call.state === "queued") return schedule(state, next, now);
  }
}

const isBefore = ({ line }: HubState, one: LiveCall, other: LiveCall, now: number): boolean => line.isBefore(one.live.call, other.live.call, now);

/** A free worker is given what is next for it, which need not be this call. */
export function dispatchIfFree(state: HubState, entry: LiveCall, now: number): void {
  for (;;) {
    const { call } = entry.live;
    if (call.state !== "queued" || call.notBefore > now || isHeld(state, entry)) return;
    if (isAtCap(state, entry)) return;
    const session = chooseSession(state, entry, now);
    const before = session?.holding.size;
    if (session === undefined) return;
    fill(state, session, now);
    if (session.holding.size === before) return;
  }
}

export function assignHappening(state: HubState, session: Session, call: Call) {
  const { workerId, incarnation } = session;
  // Tags that replicas share are the ledger's to give.
  const startTag = state.sharing === null ? state.line.turnOf(call) : call.startTag;
  return { type: "assign", workerId, incarnation, replica: state.replica, startTag } as const;
}

function assign(state: HubState, entry: LiveCall, session: Session, now: number): void {
  const refusedMs = refusedCallMs(state, entry, now);
  if (refusedMs !== null) return void apply(state, entry, { type: "broken", againMs: refusedMs }, now);
  const result = apply(state, entry, assignHappening(state, session, entry.live.call), now, session.id);
  if (!result.ok) return;
  entry.invokedOn = invokePending;
  beginsUnder(state, entry, now);
  holdSlot(session, entry);
}

/** What waits for a tool that has just turned out to be down is told so now, and not when a slot comes free. */
function endUnderOpened(state: HubState, now: number): void {
  const keys = new Set(state.opened);
  state.opened = [];
  for (const entry of Array.from(state.calls.values())) {
    const { call } = entry.live;
    if (call.state !== "queued" || isHeld(state, entry) || !keys.has(breakerKey(call))) continue;
    const againMs = refusedCallMs(state, entry, now);
    if (againMs !== null) apply(state, entry, { type: "broken", againMs }, now);
  }
}

/** A slot came free: whoever is next among the lanes this worker serves goes next, as long as there is room. */
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

/**
 * Over the lanes that the worker serves, which are few, not over all lanes that wait, which are every tenant's. Nobody is
 * passed over because somebody must look at it again: that takes a moment, and then it is its turn.
 */
function nextFor(state: HubState, session: Session, now: number): LiveCall | undefined {
  let best: LiveCall | undefined;
  const gate = gateOf(state);
  for (const laneKey of session.handlers.keys()) {
    if (!hasSlot(state, session, laneKey, now)) continue;
    for (const waiting of state.line.peek(laneKey, lookAheadMax, now, gate)) {
      const entry = state.calls.get(callKey(waiting.tenant, waiting.callId));
      if (entry === undefined || !couldTake(state, session, entry, now)) continue;
      if (best === undefined || isBefore(state, entry, best, now)) best = entry;
      break;
    }
  }
  return best === undefined || isCleared(state, best, now) ? best : undefined;
}

/** Whether nothing but the order of the line keeps this call from this worker, which has a slot. */
function couldTake(state: HubState, session: Session, entry: LiveCall, now: number): boolean {
  const { live: { call }, heldUntil, avoid } = entry;
  if (call.notBefore > now || heldUntil > now || session.holding.has(call.callId)) return false;
  if (!mayRun(entry, session)) return false;
  return !(avoid.has(session.workerId) && othersCouldTake(state, entry, now));
}

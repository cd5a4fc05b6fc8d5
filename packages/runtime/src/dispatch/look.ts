// Looks at calls whose instant has come, and at those that wait for a word on whether they may still run.
import type { ErrorBody } from "@signalbox/protocol";
import type { Happening } from "../call/machine.ts";
import { apply, schedule } from "./apply.ts";
import { capFelt } from "./gate.ts";
import { isServed } from "./choose.ts";
import { dispatchIfFree, fill } from "./place.ts";
import { answer } from "./flights.ts";
import { isServedElsewhere } from "./sharing.ts";
import { wake } from "./resting.ts";
import { callKey, isFrozen, isHeld, sessionOf, type HubState } from "./state.ts";
import { noClearance, type Cleared, type LiveCall } from "./types.ts";

/** A stored instant of the call may have passed. */
export function look(state: HubState, entry: LiveCall, now: number): void {
  entry.dueAt = Number.POSITIVE_INFINITY;
  wake(state, entry, now);
  if (entry.answer !== null && !isOverdue(entry, now)) return answer(state, entry, now);
  if (isHeldUp(state, entry, now)) return schedule(state, entry, now);
  if (asksRules(state, entry, now)) return;
  const outcome = apply(state, entry, dueNow(state, entry, now), now);
  if (outcome.ok) return;
  if (outcome.reason === "through_approval") return lookBy(state, entry, now + endAgainMs);
  dispatchIfFree(state, entry, now);
  schedule(state, entry, now);
}

/** How long a call that is over waits for its approval to be ended with it before that is ordered once more. */
const endAgainMs = 1_000;

function lookBy(state: HubState, entry: LiveCall, at: number): void {
  if (at >= entry.dueAt) return;
  entry.dueAt = at;
  state.due.push(at, callKey(entry.live.call.tenant, entry.live.call.callId));
}

function dueNow(state: HubState, entry: LiveCall, now: number): Extract<Happening, { type: "due" }> {
  return {
    type: "due",
    streamAlive: sessionOf(state, entry) !== undefined,
    handlerKnown: isServed(state, entry) || isServedElsewhere(state, entry),
    mayExpireLeases: now >= state.sweepFrom,
    capped: capFelt(state, entry),
  };
}

function isOverdue({ live: { call } }: LiveCall, now: number): boolean {
  return call.totalDeadlineAt !== null && call.totalDeadlineAt <= now;
}

/** A freeze holds it, or a twin that runs for it: its time in the queue does not run out, only the caller's own deadline does. */
function isHeldUp(state: HubState, entry: LiveCall, now: number): boolean {
  const { call } = entry.live;
  return call.state === "queued" && isHeld(state, entry) && (call.totalDeadlineAt === null || call.totalDeadlineAt > now);
}

/** Its time in the queue is over, and some rule may want people to say what becomes of it. */
function asksRules(state: HubState, entry: LiveCall, now: number): boolean {
  const { call } = entry.live;
  if (call.state !== "queued" || call.queueDeadlineAt === null || call.queueDeadlineAt > now) return false;
  if (call.totalDeadlineAt !== null && call.totalDeadlineAt <= now) return false;
  const served = isServed(state, entry) || isServedElsewhere(state, entry);
  if (!served && call.sandbox !== null) return false;
  const outcome = served ? "capacity_exhausted" : "no_handler";
  if (!state.triggers.has(outcome)) return false;
  if (!entry.askedAbout) {
    entry.askedAbout = true;
    state.out.push({ type: "trigger", call, outcome });
  }
  return true;
}

export function cleared(state: HubState, key: string, found: Cleared | { readonly error: ErrorBody }, now: number): void {
  const entry = state.calls.get(key);
  if (entry !== undefined) {
    entry.lookedAt = false;
    if ("error" in found) apply(state, entry, { type: "barred", error: found.error }, now);
    else {
      entry.clearance = found;
      if (found.answer !== undefined && entry.live.call.state === "queued") entry.answer = found.answer;
      if (entry.answer === null) dispatchIfFree(state, entry, now);
      else answer(state, entry, now);
    }
  }
  goOn(state, entry, now);
}

export function notCleared(state: HubState, key: string, again: number, now: number): void {
  const entry = state.calls.get(key);
  if (entry !== undefined) {
    entry.lookedAt = false;
    // Those behind it need not wait for it.
    entry.heldUntil = again;
    lookBy(state, entry, again);
  }
  goOn(state, entry, now);
}

/** Workers held their slots for the call while it was looked at. Whatever became of it, whoever stood behind it is next. */
function goOn(state: HubState, entry: LiveCall | undefined, now: number): void {
  // Of a call that has left memory meanwhile nobody knows any more who could have had it.
  const sessions = entry === undefined ? state.sessions.values() : (state.servers.get(entry.laneKey) ?? []);
  for (const session of sessions) fill(state, session, now);
}

export function untriggered(state: HubState, key: string, now: number): void {
  const entry = state.calls.get(key);
  if (entry === undefined) return;
  entry.askedAbout = false;
  apply(state, entry, dueNow(state, entry, now), now);
}

/** Takes a freeze or a suspension away; what it held up gets its time in the queue anew, and is offered to whoever is free. */
export function thaw(state: HubState, lift: () => void, now: number): void {
  const held: LiveCall[] = [];
  for (const entry of state.calls.values()) {
    if (entry.live.call.state === "queued" && isFrozen(state, entry.live.call)) held.push(entry);
  }
  lift();
  state.line.wake();
  for (const entry of held) {
    if (isFrozen(state, entry.live.call)) continue;
    // However short it was: what it waited for may have come meanwhile.
    entry.clearance = noClearance;
    apply(state, entry, { type: "thawed", reason: "unfrozen" }, now);
    state.unplaced.push(entry);
  }
}

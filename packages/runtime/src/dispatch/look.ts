// Looks at calls whose instant has come, and at those that wait for a word on whether they may still run.
import type { ErrorBody } from "@signalbox/protocol";
import type { Happening } from "../call/machine.ts";
import { apply, schedule } from "./apply.ts";
import { dispatchIfFree, fill, isServed } from "./place.ts";
import { isFrozen, sessionOf, type HubState } from "./state.ts";
import type { Clearance, LiveCall } from "./types.ts";

/** A stored instant of the call may have passed. */
export function look(state: HubState, entry: LiveCall, now: number): void {
  entry.dueAt = Number.POSITIVE_INFINITY;
  if (isHeldUp(state, entry, now)) return schedule(state, entry, now);
  if (asksRules(state, entry, now)) return;
  const outcome = apply(state, entry, dueNow(state, entry, now), now);
  if (outcome.ok) return;
  dispatchIfFree(state, entry, now);
  schedule(state, entry, now);
}

function dueNow(state: HubState, entry: LiveCall, now: number): Extract<Happening, { type: "due" }> {
  return {
    type: "due",
    streamAlive: sessionOf(state, entry) !== undefined,
    handlerKnown: isServed(state, entry),
    mayExpireLeases: now >= state.sweepFrom,
  };
}

/** A freeze holds it: its time in the queue does not run out, only the caller's own deadline does. */
function isHeldUp(state: HubState, { live: { call } }: LiveCall, now: number): boolean {
  return call.state === "queued" && isFrozen(state, call) && (call.totalDeadlineAt === null || call.totalDeadlineAt > now);
}

/** Its time in the queue is over, and some rule may want people to say what becomes of it. */
function asksRules(state: HubState, entry: LiveCall, now: number): boolean {
  const { call } = entry.live;
  if (call.state !== "queued" || call.queueDeadlineAt === null || call.queueDeadlineAt > now) return false;
  if (call.totalDeadlineAt !== null && call.totalDeadlineAt <= now) return false;
  const served = isServed(state, entry);
  if (!served && call.sandbox !== null) return false;
  const outcome = served ? "capacity_exhausted" : "no_handler";
  if (!state.triggers.has(outcome)) return false;
  if (!entry.lookedAt) {
    entry.lookedAt = true;
    state.out.push({ type: "trigger", call, outcome });
  }
  return true;
}

export function cleared(state: HubState, key: string, found: Clearance | { readonly error: ErrorBody }, now: number): void {
  const entry = state.calls.get(key);
  if (entry === undefined) return;
  entry.lookedAt = false;
  if ("error" in found) {
    apply(state, entry, { type: "barred", error: found.error }, now);
    // It had the first place in line; whoever stood behind it is next.
    for (const session of state.servers.get(entry.laneKey) ?? []) fill(state, session, now);
    return;
  }
  entry.clearance = found;
  dispatchIfFree(state, entry, now);
}

export function notCleared(state: HubState, key: string, again: number): void {
  const entry = state.calls.get(key);
  if (entry === undefined) return;
  entry.lookedAt = false;
  // Those behind it need not wait for it.
  entry.heldUntil = again;
  if (again >= entry.dueAt) return;
  entry.dueAt = again;
  state.due.push(again, key);
}

export function untriggered(state: HubState, key: string, now: number): void {
  const entry = state.calls.get(key);
  if (entry === undefined) return;
  entry.lookedAt = false;
  apply(state, entry, dueNow(state, entry, now), now);
}

/** Takes a freeze away; what it held up gets its time in the queue anew, and is offered to whoever is free. */
export function thaw(state: HubState, freeze: string, now: number): void {
  const held: LiveCall[] = [];
  for (const entry of state.calls.values()) {
    if (entry.live.call.state === "queued" && isFrozen(state, entry.live.call)) held.push(entry);
  }
  state.frozen.delete(freeze);
  for (const entry of held) {
    if (isFrozen(state, entry.live.call)) continue;
    apply(state, entry, { type: "thawed" }, now);
    state.unplaced.push(entry);
  }
}

// What a hub does otherwise where replicas share the ledger: calls that wait are with nobody, and memory holds what it works on.
import { leaseOf } from "../call/lease-of.ts";
import type { Happening, StepResult } from "../call/machine.ts";
import { step } from "../call/step.ts";
import { isParked, isTerminal, type Call } from "../call/types.ts";
import type { Unit } from "../ledger/port.ts";
import { forget, writesOf } from "./apply.ts";
import { leave } from "./flights.ts";
import { isAtCap } from "./gate.ts";
import { welcome } from "./guests.ts";
import { isResting } from "./resting.ts";
import { boxLaneOf, callKey, laneOf, sessionOf, type HubState } from "./state.ts";
import type { LiveCall, Session, Sharing } from "./types.ts";

export function newSharing(): Sharing {
  return { waiting: new Set(), servedElsewhere: new Set(), depth: new Map(), guests: new Map() };
}

/** It waits, and no replica's memory keeps it. */
export function isNobodys({ state, replica }: Pick<Call, "state" | "replica">): boolean {
  return state === "queued" && replica === null;
}

/** A queued call that waits for a twin here, or for its turn, stays with this replica: others leave it alone while this one lives. */
export function keepHere(state: HubState, entry: LiveCall): void {
  if (state.sharing === null || entry.live.call.state !== "queued") return;
  entry.live = { ...entry.live, call: { ...entry.live.call, replica: state.replica } };
}

/** After its unit is stored: a call that waits for a worker or for people is everybody's. */
export function letGoOfIdle(state: HubState, entry: LiveCall, stored: Call, now: number): void {
  if (state.sharing === null || entry.live.call !== stored) return;
  const queued = isNobodys(stored);
  if (!queued && !isParked(stored)) return;
  dismiss(state, entry, now);
  if (queued) noteQueued(state, stored);
}

function noteQueued(state: HubState, call: Call): void {
  const { sharing } = state;
  if (sharing === null) return;
  const lane = laneOf(call);
  sharing.waiting.add(lane);
  sharing.depth.set(call.tenant, (sharing.depth.get(call.tenant) ?? 0) + 1);
  state.out.push({ type: "queued", lane, notBefore: call.notBefore });
}

/** Its twins here wait for nobody who is elsewhere: one of them goes in its place. */
function dismiss(state: HubState, entry: LiveCall, now: number): void {
  state.sharing?.guests.delete(entry);
  if (entry.live.call.state === "queued") state.line.remove(entry.lineKey, entry.live.call);
  forget(state, entry);
  leave(state, entry, now);
}

/** The first instant at which a guest has stayed long enough. */
export function nextLeaveAt({ sharing }: HubState): number {
  const [first] = sharing?.guests.values() ?? [];
  return first ?? Number.POSITIVE_INFINITY;
}

/** Gives back what nothing has become of; what somebody looks at, or what is on its way to the ledger, stays a while longer. */
export function seeGuestsOff(state: HubState, now: number): void {
  const { sharing } = state;
  if (sharing === null) return;
  let busy: Set<LiveCall> | undefined;
  const back: { tenant: string; callId: string }[] = [];
  for (const [entry, until] of sharing.guests) {
    if (until > now) break;
    sharing.guests.delete(entry);
    const { call } = entry.live;
    if (state.calls.get(callKey(call.tenant, call.callId)) !== entry) continue;
    if (call.state !== "queued" && !isParked(call)) continue;
    busy ??= new Set([...state.tickets.values()].flatMap((ticket) => (ticket.entry === null ? [] : [ticket.entry])));
    const detained = busy.has(entry) || entry.lookedAt || entry.askedAbout || entry.overtaken || entry.unsaved !== null;
    if (detained || waitsForTwin(entry)) {
      if (!waitsForTwin(entry)) welcome(state, entry, now);
      continue;
    }
    dismiss(state, entry, now);
    if (call.state === "queued") back.push({ tenant: call.tenant, callId: call.callId });
  }
  if (back.length > 0) state.out.push({ type: "release", calls: back });
}

const waitsForTwin = (entry: LiveCall): boolean => entry.lineKey !== entry.laneKey && !isResting(entry);

/** Room that connected workers have: how many calls, and of which lanes. */
export function roomOf(state: HubState, now: number): { readonly slots: number; readonly lanes: readonly string[] } {
  const lanes = new Set<string>();
  let slots = 0;
  if (state.draining) return { slots, lanes: [] };
  for (const session of state.sessions.values()) {
    if (!session.registered || session.draining || now - session.lastHeardAt >= state.limits.workerSilentMs) continue;
    const free = session.capacity - session.holding.size;
    if (free <= 0) continue;
    let most = 0;
    for (const [lane, handler] of session.handlers) {
      if (handler.busy >= handler.maxConcurrency) continue;
      lanes.add(lane);
      most += handler.maxConcurrency - handler.busy;
    }
    slots += Math.min(free, most);
  }
  return { slots, lanes: [...lanes] };
}

/** Lanes that this replica's workers serve, for the others to know. */
export function lanesServed(state: HubState): readonly string[] {
  const lanes: string[] = [];
  for (const [lane, sessions] of state.servers) if ([...sessions].some((one) => !one.draining)) lanes.push(lane);
  return lanes;
}

export function isServedElsewhere({ sharing }: HubState, entry: LiveCall): boolean {
  return sharing?.servedElsewhere.has(entry.laneKey) ?? false;
}

/** Isolation backends that other replicas' sandbox workers offer. */
export function backendsElsewhere({ sharing }: HubState): readonly string[] {
  const prefix = boxLaneOf("");
  return [...(sharing?.servedElsewhere ?? [])].filter((lane) => lane.startsWith(prefix)).map((lane) => lane.slice(prefix.length));
}

/**
 * A wish about a call that another living replica has. Whether its worker has been told to start, only that one knows: so it is taken
 * as if it had. The other reads the row again and tells its worker.
 */
export function stepElsewhere(state: HubState, row: Call, happening: Happening, now: number): { readonly unit: Unit } | Extract<StepResult, { ok: false }> {
  const result = step({ call: { ...row, mayHaveRun: true }, lease: leaseOf(row) }, happening, now, state.limits);
  if (!result.ok) return result;
  const { call } = result.live;
  if (isTerminal(call.state)) return { ok: false, reason: "ends_elsewhere", effects: [] };
  const expect = { state: row.state, fence: row.fence, replica: row.replica };
  return { unit: { writes: [{ op: "update_call", expect, row: call }, ...writesOf(result.effects)] } };
}

/** What memory knew of a lease that this replica has still, beside what its row tells; and a stop that somebody else asked for is told to its worker. */
export function carryOver(state: HubState, old: LiveCall, now: LiveCall): void {
  const [before, after] = [old.live, now.live];
  if (after.lease === null || before.call.fence !== after.call.fence) return;
  now.live = {
    // A fence that memory has only made up may be another's by now; then the row has changed hands, and says so.
    call: { ...after.call, mayHaveRun: before.call.mayHaveRun || now.stored.mayHaveRun || after.call.stopReason !== null },
    lease: { ...after.lease, acceptedAt: before.lease?.acceptedAt ?? null },
  };
  if (old.invokedOn > 0) now.invokedOn = old.invokedOn;
  const session: Session | undefined = sessionOf(state, now);
  const { callId, fence, graceMs, stopReason } = after.call;
  if (session === undefined || stopReason === null || before.call.stopReason !== null) return;
  const reason = stopReason === "cancel" ? "cancel" : "timeout";
  state.out.push({ type: "send", session: session.id, message: { type: "cancel", callId, fence, graceMs, reason } });
}

/** Whether others wait for a worker of this lane already; a call that comes now does not overtake them. */
export function lineWaits(state: HubState, laneKey: string): boolean {
  return state.line.waits(laneKey) || (state.sharing?.waiting.has(laneKey) ?? false);
}

/** Under a cap that replicas share only a claim can tell whether there is room: it counts in its own transaction. */
export function isCappedAnywhere(state: HubState, entry: LiveCall): boolean {
  const { caps, sharing } = state;
  const place = entry.live.call;
  if (sharing === null || !caps.any || isAtCap(state, entry)) return isAtCap(state, entry);
  return Number.isFinite(caps.concurrentMax(place.tenant)) || Number.isFinite(caps.concurrentMaxOfProject(place.tenant, place.project));
}

// Twins of a call that may share its result: while one of them runs, the others wait for what it brings.
import type { CachedResult } from "../call/machine.ts";
import { isParked, type Call } from "../call/types.ts";
import { apply } from "./apply.ts";
import { welcome } from "./guests.ts";
import { isFrozen, type HubState } from "./state.ts";
import { noClearance, type Flight, type LiveCall } from "./types.ts";

/** How many keys are remembered of which a run has ended; past it the oldest is forgotten, and a look is made once more for nothing. */
const endedMax = 10_000;

/** Where followers stand in line: no worker serves it. */
function flightLane(key: string): string {
  return `\u0000twin\u0000${key}`;
}

export function flightKey({ tenant, cacheKey }: Pick<Call, "tenant" | "cacheKey">): string | null {
  return cacheKey === null ? null : `${tenant}\u0000${cacheKey}`;
}

/** Makes a call the leader of its key, or, if it is queued, a follower of the one that there is. */
export function join(state: HubState, entry: LiveCall): "leads" | "follows" | "alone" {
  const key = flightKey(entry.live.call);
  if (key === null || isParked(entry.live.call)) return "alone";
  const flight = state.flights.get(key);
  if (flight !== undefined && entry.live.call.state !== "queued") return "alone";
  if (flight === undefined) {
    state.flights.set(key, { leader: entry, followers: new Set() });
    return "leads";
  }
  flight.followers.add(entry);
  entry.lineKey = flightLane(key);
  return "follows";
}

/** How many runs of this key have ended, as far as is remembered: whoever looked for a result before the last one looks again. */
export function endedRuns(state: HubState, key: string): number {
  return state.flightsEnded.get(key) ?? 0;
}

/**
 * The call leaves memory, or waits for people: its followers get its result, or one of them runs in its place.
 * @param call as the ledger has it
 */
export function leave(state: HubState, entry: LiveCall, now: number, call: Call = entry.live.call): void {
  const key = flightKey(entry.live.call);
  const flight = key === null ? undefined : state.flights.get(key);
  if (key === null || flight === undefined) return;
  if (flight.leader !== entry) return void flight.followers.delete(entry);
  state.flightsEnded.set(key, endedRuns(state, key) + 1);
  if (state.flightsEnded.size > endedMax) state.flightsEnded.delete(state.flightsEnded.keys().next().value ?? key);
  const result = resultOf(call);
  // Under a freeze nothing goes out: one of them leads the others on, and finds the result in the ledger when it is lifted.
  if (result !== null && !isFrozen(state, call)) {
    for (const follower of flight.followers) {
      if (result.output.bytes > follower.live.call.resultBytesMax) continue;
      flight.followers.delete(follower);
      follower.answer = result;
      answer(state, follower, now);
    }
  }
  const failed = call.state === "failed" || (call.state === "timed_out" && call.stopReason !== "total_deadline");
  promote(state, key, flight, now);
  // What its own tool brought down would bring down the next one too, and each would wait for all before it.
  if (failed) for (const follower of flight.followers) releaseFrom(state, flight, follower, now);
}

function releaseFrom(state: HubState, { followers }: Flight, follower: LiveCall, now: number): void {
  followers.delete(follower);
  release(state, follower, now);
}

/** The next in line runs itself, and the rest waits for it. */
function promote(state: HubState, key: string, { followers }: Flight, now: number): void {
  const [next] = followers;
  if (next === undefined) return void state.flights.delete(key);
  followers.delete(next);
  state.flights.set(key, { leader: next, followers });
  release(state, next, now);
}

/** Into the line of its own tool, with all the time that a call has there. It is looked at first: what it waited for may be in the ledger. */
function release(state: HubState, entry: LiveCall, now: number): void {
  const { call } = entry.live;
  if (call.state !== "queued") return;
  state.line.remove(entry.lineKey, call);
  entry.lineKey = entry.laneKey;
  entry.answer = null;
  entry.clearance = noClearance;
  state.line.add(entry.lineKey, call);
  apply(state, entry, { type: "thawed", reason: "twin_ended" }, now);
  state.unplaced.push(entry);
  welcome(state, entry, now);
}

/** The result is given out under the same look as a start: what was allowed when the call came may be forbidden by now. */
export function answer(state: HubState, entry: LiveCall, now: number): void {
  const { answer: result, clearance } = entry;
  if (result === null) return;
  if (isFrozen(state, entry.live.call)) return release(state, entry, now);
  if (clearance.epoch === state.epoch && now < clearance.until) return void apply(state, entry, { type: "cached", ...result }, now);
  if (entry.lookedAt) return;
  entry.lookedAt = true;
  state.out.push({ type: "recheck", call: entry.live.call });
}

/** Null where it has none to share. */
export function resultOf(call: Call): CachedResult | null {
  const { state, outputJson: json, outputHash: hash, outputBytes: bytes, outputIllFormed: illFormed } = call;
  if (state !== "succeeded" || json === null || hash === null) return null;
  return { from: call.cachedFrom ?? call.callId, output: { json, hash, bytes, illFormed } };
}

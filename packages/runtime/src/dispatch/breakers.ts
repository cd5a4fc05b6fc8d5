// The breakers of this replica: one for each tenant and tool version that asks for one and has failed.
import type { Effect } from "../call/machine.ts";
import type { Call, CallIdentity, StopReason } from "../call/types.ts";
import { begun, breakerState, closedBreaker, learned, refusedForMs, released, type Breaker, type BreakerState, type Evidence } from "./breaker.ts";
import { callKey, type HubState } from "./state.ts";
import type { LiveCall } from "./types.ts";

/** Past it the oldest is forgotten: its tool is asked once more. */
const breakersMax = 10_000;

type Whose = Pick<CallIdentity, "tenant" | "toolTenant" | "tool" | "version">;

/** The caller's tenant is part of it: what one tenant does with a shared tool must not take it from the others. */
export function breakerKey({ tenant, toolTenant, tool, version }: Whose): string {
  return `${tenant}\u0000${toolTenant}\u0000${tool}\u0000${version}`;
}

const nameOf = ({ live: { call } }: LiveCall): string => callKey(call.tenant, call.callId);

function breakerOf(state: HubState, whose: Whose): Breaker {
  return state.breakers.get(breakerKey(whose)) ?? closedBreaker;
}

export interface BreakerView {
  readonly state: BreakerState;
  readonly failures: number;
  /** Wall clock, ms since 1970: when it is tried again; null while it is closed. */
  readonly openUntil: number | null;
  /** After how many ms a new call may come again; null: it may come now. */
  readonly againMs: number | null;
}

export function viewBreaker(state: HubState, whose: Whose, now: number): BreakerView {
  const breaker = breakerOf(state, whose);
  return { state: breakerState(breaker, now), failures: breaker.failures, openUntil: breaker.openUntil, againMs: refusedForMs(breaker, "", now) };
}

/** After how many ms a call may come again that is about to go to a worker; null: it may go. */
export function refusedCallMs(state: HubState, entry: LiveCall, now: number): number | null {
  if (state.breakers.size === 0 || !hasRule(entry)) return null;
  return refusedForMs(breakerOf(state, entry.live.call), nameOf(entry), now);
}

/** Whether a failure of this call would leave, or find, its breaker open: then nothing is tried again. */
export function wouldBeOpen(state: HubState, entry: LiveCall): boolean {
  const rule = entry.facts.breaker;
  if (rule === undefined || rule === null) return false;
  const { failures, openUntil } = breakerOf(state, entry.live.call);
  return openUntil !== null || failures + 1 >= rule.failures;
}

const hasRule = ({ facts }: LiveCall): boolean => facts.breaker !== undefined && facts.breaker !== null;

/** It was given to a worker. */
export function beginsUnder(state: HubState, entry: LiveCall, now: number): void {
  if (state.breakers.size === 0 || !hasRule(entry)) return;
  const breaker = breakerOf(state, entry.live.call);
  keep(state, entry.live.call, breaker, begun(breaker, nameOf(entry), now));
}

/** It leaves memory: whatever it was to try, another one tries. */
export function leavesBreaker(state: HubState, entry: LiveCall): void {
  if (state.breakers.size === 0 || !hasRule(entry)) return;
  const breaker = breakerOf(state, entry.live.call);
  keep(state, entry.live.call, breaker, released(breaker, nameOf(entry)));
}

/** @param before the call as it was, @param toolIsDown the tool's own word with its result */
export function learnFrom(state: HubState, entry: LiveCall, before: Call, effects: readonly Effect[], toolIsDown: boolean, now: number): void {
  const rule = entry.facts.breaker;
  if (rule === undefined || rule === null) return;
  for (const effect of effects) {
    if (effect.type !== "attempt_ended") continue;
    const breaker = breakerOf(state, before);
    const evidence = evidenceOf(effect, before.stopReason, toolIsDown);
    const next = learned(breaker, rule, nameOf(entry), evidence, now);
    keep(state, before, breaker, next);
    if (next.openUntil !== null && next.openUntil !== breaker.openUntil) opens(state, before);
  }
}

function evidenceOf({ row: { endReason, error } }: Extract<Effect, { type: "attempt_ended" }>, stopReason: StopReason | null, toolIsDown: boolean): Evidence {
  switch (endReason) {
    case "succeeded":
      return "up";
    case "failed":
      return toolIsDown ? "down" : "up";
    case "timed_out":
      return stopReason === "total_deadline" ? "unknown" : "down";
    case "lease_expired":
    case "indeterminate":
      // Without an error it had not been accepted: that is its worker's matter, not the tool's.
      return error === null ? "unknown" : "down";
    default:
      return "unknown";
  }
}

function keep(state: HubState, whose: Whose, before: Breaker, after: Breaker): void {
  if (after === before) return;
  const key = breakerKey(whose);
  state.breakers.delete(key);
  if (after.openUntil !== null || after.failures > 0) state.breakers.set(key, after);
  if (state.breakers.size > breakersMax) state.breakers.delete(state.breakers.keys().next().value ?? key);
  if (before.openUntil !== null && after.openUntil === null) state.out.push({ type: "breaker", tool: whose.tool, version: whose.version, to: "closed" });
}

function opens(state: HubState, whose: Whose): void {
  state.opened.push(breakerKey(whose));
  state.out.push({ type: "breaker", tool: whose.tool, version: whose.version, to: "open" });
}

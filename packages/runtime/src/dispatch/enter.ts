// How an open call comes into the hub's memory.
import type { Live } from "../call/machine.ts";
import { moved } from "./apply.ts";
import { callKey, laneOf, type HubState } from "./state.ts";
import type { Clearance, LiveCall, ToolFacts } from "./types.ts";

export function enter(state: HubState, live: Live, facts: ToolFacts, clearance: Clearance): LiveCall {
  const entry: LiveCall = {
    live,
    laneKey: laneOf(live.call),
    lineKey: laneOf(live.call),
    answer: null,
    facts,
    clearance,
    lookedAt: false,
    askedAbout: false,
    heldUntil: 0,
    overtaken: false,
    stored: live.call,
    unsaved: null,
    storedLeaseAt: 0,
    invokedOn: 0,
    avoid: new Set(),
    dueAt: Number.POSITIVE_INFINITY,
    emitted: null,
  };
  state.calls.set(callKey(live.call.tenant, live.call.callId), entry);
  moved(state, null, live.call);
  return entry;
}

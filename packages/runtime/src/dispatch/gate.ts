// What keeps a call from every worker alike: caps on work at once, freezes, suspensions.
import type { Call } from "../call/types.ts";
import type { Gate } from "../schedule/types.ts";
import { isCapped } from "./occupancy.ts";
import { callKey, isFrozen, type HubState } from "./state.ts";
import type { LiveCall } from "./types.ts";

/** As many calls as may work at once do already: of its tenant or its project by a quota, or of its tool. Undefined = there is room. */
export function capFelt({ caps, occupancy }: HubState, { live: { call }, facts: { concurrentMax } }: LiveCall): "quota" | "tool" | undefined {
  if (isCapped(caps, occupancy, call)) return "quota";
  return concurrentMax !== undefined && occupancy.ofTool(call).working >= concurrentMax ? "tool" : undefined;
}

export const isAtCap = (state: HubState, entry: LiveCall): boolean => capFelt(state, entry) !== undefined;

/** What the waiting line asks, so that it need not look at each call that is held back. */
export function gateOf(state: HubState): Gate {
  const { caps, occupancy } = state;
  return {
    holdsTenant: (tenant) => isFrozen(state, { tenant, tool: "" }) || (caps.any && occupancy.ofTenant(tenant).working >= caps.concurrentMax(tenant)),
    holds({ tenant, callId }) {
      const entry = state.calls.get(callKey(tenant, callId));
      return entry !== undefined && (isFrozen(state, entry.live.call) || isAtCap(state, entry));
    },
  };
}

/** A call leaves its worker: where that makes room under a cap, those that it held back are offered anew. */
export function makesRoom(state: HubState, { tenant, callId }: Pick<Call, "tenant" | "callId">): boolean {
  const entry = state.calls.get(callKey(tenant, callId));
  return entry !== undefined && isAtCap(state, entry);
}

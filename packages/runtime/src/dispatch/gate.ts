// What keeps a call from every worker alike: caps on work at once, freezes, suspensions.
import type { Call } from "../call/types.ts";
import type { Gate } from "../schedule/types.ts";
import { isCapped } from "./occupancy.ts";
import { callKey, isFrozen, type HubState } from "./state.ts";
import type { LiveCall } from "./types.ts";

/** As many calls as may work at once, of its tenant, its project or its tool, do already. */
export function isAtCap(state: HubState, { live: { call }, facts }: LiveCall): boolean {
  return isCapped(state.caps, state.occupancy, call) || isToolAtCap(state, call, facts.concurrentMax);
}

function isToolAtCap({ occupancy }: HubState, call: Call, max: number | undefined): boolean {
  return max !== undefined && occupancy.ofTool(call).working >= max;
}

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

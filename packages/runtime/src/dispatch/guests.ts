// Calls that a hub which shares its ledger has in memory only as long as something may come of it.
import { callKey, type HubState } from "./state.ts";
import type { LiveCall } from "./types.ts";

/** How long a call that was taken up for somebody's sake stays, when nothing came of it. */
export const guestMs = 250;

/** If nothing becomes of it soon, it goes back to the ledger. */
export function welcome(state: HubState, entry: LiveCall, now: number): void {
  const { call } = entry.live;
  if (state.sharing === null || call.state === "dispatched" || call.state === "running") return;
  if (state.calls.get(callKey(call.tenant, call.callId)) !== entry) return;
  // They are seen off in order: whoever comes again stands behind the others.
  state.sharing.guests.delete(entry);
  state.sharing.guests.set(entry, now + guestMs);
}

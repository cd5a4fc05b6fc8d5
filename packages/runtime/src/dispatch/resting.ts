// Calls that wait for their back-off stand apart: however many they are, they hide nobody who may go at once.
import type { HubState } from "./state.ts";
import type { LiveCall } from "./types.ts";

/** No worker serves it. */
const restingLane = (laneKey: string): string => `\u0000rest\u0000${laneKey}`;

/** Puts a queued call in line: in its own lane, or beside it till its instant has come. */
export function lineUp(state: HubState, entry: LiveCall, now: number): void {
  const { call } = entry.live;
  if (entry.lineKey === entry.laneKey && call.notBefore > now) entry.lineKey = restingLane(entry.laneKey);
  state.line.add(entry.lineKey, call);
}

export function isResting(entry: LiveCall): boolean {
  return entry.lineKey === restingLane(entry.laneKey);
}

/** Its back-off is over: it takes its old place among the others. */
export function wake(state: HubState, entry: LiveCall, now: number): void {
  const { call } = entry.live;
  if (!isResting(entry) || call.notBefore > now) return;
  state.line.remove(entry.lineKey, call);
  entry.lineKey = entry.laneKey;
  state.line.add(entry.lineKey, call);
}

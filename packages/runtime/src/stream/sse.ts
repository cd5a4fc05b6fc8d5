// Writes a call's stream as Server-Sent Events: the number is the event's id, so that a reader can come back for what it missed.
import type { Batch, Gap, StreamEvent } from "./types.ts";

/** `{"seq":…,"ts":…,"data":…}` under the event's own name. */
export function sseEvent({ seq, at, type, dataJson }: StreamEvent): string {
  return `id: ${seq}\nevent: ${type}\ndata: {"seq":${seq},"ts":"${new Date(at).toISOString()}","data":${dataJson}}\n\n`;
}

/** A gap has the id of the last event that is missing: who comes back after it is not told twice. */
export function sseGap({ from, to }: Gap): string {
  return `id: ${to}\nevent: gap\ndata: {"from":${from},"to":${to}}\n\n`;
}

export function sseBatch({ gap, events }: Batch): string {
  return (gap === null ? "" : sseGap(gap)) + events.map(sseEvent).join("");
}

/** Keeps the connection from being taken for dead; readers skip it. */
export const sseAlive = ": still running\n\n";

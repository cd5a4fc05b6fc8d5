// Writes a call's stream as Server-Sent Events: the number is the event's id, so that a reader can come back for what it missed.
import type { Call } from "../call/types.ts";
import type { Batch, Gap, StreamEnd, StreamEvent } from "./types.ts";

/** Goes out at once, so that the reader knows that it is heard; says after how many ms a browser comes back. */
export const sseHello = "retry: 1000\n\n";
/** Keeps the connection from being taken for dead; readers skip it. */
export const sseAlive = ": nothing new\n\n";
export const sseLeaving = ": the runtime leaves; come back with the last id\n\n";

/** `{"seq":…,"ts":…,"data":…}` under the event's own name. */
export function sseEvent({
  seq,
  at,
  type,
  dataJson,
}: Pick<StreamEvent, "seq" | "at" | "dataJson"> & { readonly type: string }): string {
  return `id: ${seq}\nevent: ${type}\ndata: {"seq":${seq},"ts":"${new Date(at).toISOString()}","data":${oneLine(dataJson)}}\n\n`;
}

/** A line feed would end the field. In JSON text it stands between tokens only, where a space says the same. */
function oneLine(json: string): string {
  return json.includes("\n") || json.includes("\r") ? json.replace(/[\r\n]+/g, " ") : json;
}

/** A gap has the id of the last number that is missing: who comes back after it is not told twice. */
export function sseGap({ from, to }: Gap): string {
  return `id: ${to}\nevent: gap\ndata: {"from":${from},"to":${to}}\n\n`;
}

/** `done` for a call that succeeded, else `error`; the data is the call's record. */
export function sseEnd({ seq, at, call }: StreamEnd, recordOf: (call: Call) => string): string {
  return sseEvent({ seq, at, type: call.state === "succeeded" ? "done" : "error", dataJson: recordOf(call) });
}

export function sseBatch({ gap, events, end, leaving }: Batch, recordOf: (call: Call) => string): string {
  const head = gap === null ? "" : sseGap(gap);
  const tail = leaving ? sseLeaving : end === null ? "" : sseEnd(end, recordOf);
  return head + events.map(sseEvent).join("") + tail;
}

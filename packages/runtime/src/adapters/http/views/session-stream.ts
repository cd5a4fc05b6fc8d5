// A session's stream as Server-Sent Events: an event's number is its id; pieces on their way and gaps have none, so nobody comes back behind one.
import type { SessionTold } from "../../../service-sessions.ts";
import { sseLeaving } from "../../../stream/sse.ts";
import { sessionEventJson } from "./sessions.ts";

/** JSON data may hold line feeds between its tokens, where a space says the same. */
const oneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, " ");

export function sseTold(told: SessionTold): string {
  if (told.kind === "event") return `id: ${told.event.seq}\nevent: ${told.event.type}\ndata: ${oneLine(sessionEventJson(told.event))}\n\n`;
  if (told.kind === "gap") return `event: gap\ndata: {"dropped":${told.dropped}}\n\n`;
  return `event: delta\ndata: ${JSON.stringify(told.delta)}\n\n`;
}

/** @param over nothing more comes here: the session has ended, which its last event says, or the runtime leaves */
export function sseTellings(told: readonly SessionTold[], over: boolean): string {
  const text = told.map(sseTold).join("");
  return over && !saysEnd(told) ? text + sseLeaving : text;
}

export function saysEnd(told: readonly SessionTold[]): boolean {
  return told.some((one) => one.kind === "event" && one.event.type === "session.ended");
}

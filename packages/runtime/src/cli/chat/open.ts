// One connection to a session's stream, in the form in which the chat and the lists of events take it.
import type { Client } from "@signalbox/client";
import { jsonLine } from "../json.ts";
import type { Told } from "./told.ts";

/** Does not come back by itself: whoever reads must know what a lost connection may have kept from it. */
export async function* openFollow(client: Client, id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<Told, undefined> {
  for await (const told of client.sessions.follow(id, { afterSeq, signal, retry: { attemptsMax: 1 } })) {
    if (told.kind === "event") yield { ...told.event, kind: "event" };
    else if (told.kind === "delta") yield { ...told.delta, kind: "delta" };
    else yield told;
  }
}

/** A line of JSON in the form of the API: an event as it is, anything else with its type. */
export function toldLine({ kind, ...told }: Told): string {
  return jsonLine(kind === "event" ? told : { type: kind, data: told });
}

// The rpc that follows a session: the same as over SSE, under the same numbers, and asked for no faster than it is read.
import { SignalboxError } from "@signalbox/protocol";
import type { SessionTold } from "../../../service-sessions.ts";
import { sessionIdIn } from "../../http/routes/session-id.ts";
import { check } from "../../http/schemas/check.ts";
import { streamQuery } from "../../http/schemas/stream.ts";
import { saysEnd } from "../../http/views/session-stream.ts";
import { sessionEventJson } from "../../http/views/sessions.ts";
import { askOf, headOf } from "./ask.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage } from "./read.ts";
import { writeMessage } from "./write.ts";

export async function answerStreamSession(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked, gone } = exchange;
  const values = readMessage(rpc.input, await exchange.oneMessage());
  const { params, query } = askOf(rpc, values, headOf(exchange.call.metadata));
  const { after_seq: afterSeq = 0 } = check(streamQuery, query, "query");
  const follower = await door.service.followSession(asked, sessionIdIn(params), afterSeq);
  const leave = (): void => follower.close();
  gone.addEventListener("abort", leave, { once: true });
  try {
    exchange.begin();
    let told: readonly SessionTold[] = [];
    while (!follower.over && !gone.aborted) {
      told = await follower.next(door.bounds.followMs);
      for (const one of told) await exchange.write(writeMessage(rpc.output, toldJson(one), rpc.name, door.onStray));
    }
    // What has ended before the reader came back says it by ending.
    if (!saysEnd(told) && !(await door.service.getSession(asked, sessionIdIn(params)).then(({ session }) => session.endedAt !== null))) throw leaving();
    exchange.end();
  } finally {
    gone.removeEventListener("abort", leave);
    follower.close();
  }
}

/** JSON text of one `SessionTold`. */
export function toldJson(told: SessionTold): string {
  if (told.kind === "event") return `{"event":${sessionEventJson(told.event)}}`;
  return JSON.stringify(told.kind === "gap" ? { gap: { dropped: told.dropped } } : { delta: told.delta });
}

export function leaving(): SignalboxError {
  return new SignalboxError("draining", "the runtime leaves; follow the session again, behind the last seq that came", { details: { retry_after_s: 1 } });
}

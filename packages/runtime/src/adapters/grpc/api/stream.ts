// Rpcs that follow one call: the same events as over SSE, under the same numbers, and asked for no faster than they are read.
import { SignalboxError } from "@signalbox/protocol";
import type { CallFollower } from "../../../service.ts";
import type { Batch } from "../../../stream/types.ts";
import { idIn } from "../../http/routes/execution-id.ts";
import { streamQuery } from "../../http/schemas/stream.ts";
import { check, faultAt } from "../../http/schemas/check.ts";
import { invokeRequest } from "../../http/schemas/executions.ts";
import { recordJson } from "../../http/views/executions.ts";
import { askOf, headOf } from "./ask.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage } from "./read.ts";
import { headersBeside } from "./unary.ts";
import { writeMessage } from "./write.ts";

export async function answerInvokeStream(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked } = exchange;
  const values = readMessage(rpc.input, await exchange.oneMessage());
  const head = headOf(exchange.call.metadata);
  if (values["mode"] === "async")
    throw faultAt("body", "/mode", "const", "does not go with a stream; use Invoke, then FollowExecution");
  const request = invokeRequest(values, head);
  const { call, replayed, rate } = await door.service.invoke(asked, { ...request, mode: "async" });
  exchange.executionId = call.callId;
  const follower = await door.service.follow(asked, call.callId, 0, { answering: true });
  const headers = { "signalbox-execution-id": call.callId, ...headersBeside({ replayed, rate }) };
  await tell(door, exchange, follower, {
    headers,
    executionId: call.callId,
    cancels: request.cancelOnDisconnect === true,
  });
}

export async function answerFollow(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked } = exchange;
  const values = readMessage(rpc.input, await exchange.oneMessage());
  const { params, query } = askOf(rpc, values, headOf(exchange.call.metadata));
  const { after_seq: afterSeq = 0 } = check(streamQuery, query, "query");
  const executionId = idIn(params);
  const follower = await door.service.follow(asked, executionId, afterSeq);
  exchange.executionId = executionId;
  await tell(door, exchange, follower, {
    headers: { "signalbox-execution-id": executionId },
    executionId,
    cancels: false,
  });
}

interface Telling {
  readonly headers: Readonly<Record<string, string>>;
  readonly executionId: string;
  /** Who goes away before the end wants the call stopped. */
  readonly cancels: boolean;
}

async function tell(
  door: ApiDoorParts,
  exchange: Exchange,
  follower: CallFollower,
  { headers, executionId, cancels }: Telling,
): Promise<void> {
  const leave = (): void => {
    if (cancels) follower.abandon();
    // A reader that is closed waits for nothing.
    follower.close();
  };
  exchange.gone.addEventListener("abort", leave, { once: true });
  if (exchange.gone.aborted) leave();
  try {
    exchange.begin(headers);
    let named = false;
    for (let over = follower.over; !over && !exchange.gone.aborted;) {
      const batch = await follower.next(door.bounds.followMs);
      for (const event of eventsOf(batch)) {
        const text = named ? event : `{"execution_id":${JSON.stringify(executionId)},${event.slice(1)}`;
        named = true;
        await exchange.write(writeMessage(exchange.rpc.output, text, exchange.rpc.name, door.onStray));
      }
      if (batch.leaving) throw leaving();
      over = batch.end !== null;
    }
    exchange.end();
  } finally {
    exchange.gone.removeEventListener("abort", leave);
    follower.close();
  }
}

/** JSON texts of `StreamEvent`s, in the order in which SSE has them. */
function* eventsOf({ gap, events, end }: Batch): Generator<string> {
  if (gap !== null) yield eventText(gap.to, undefined, "gap", `{"from":${gap.from},"to":${gap.to}}`);
  for (const { seq, at, type, dataJson } of events) yield eventText(seq, at, type, dataJson);
  if (end === null) return;
  const type = end.call.state === "succeeded" ? "done" : "error";
  yield eventText(end.seq, end.at, type, recordJson(end.call));
}

function eventText(seq: number, at: number | undefined, type: string, dataJson: string): string {
  const ts = at === undefined ? "" : `"ts":"${new Date(at).toISOString()}",`;
  return `{"seq":${seq},${ts}"type":"${type}","data":${dataJson}}`;
}

function leaving(): SignalboxError {
  return new SignalboxError("draining", "the runtime leaves; follow the call again, behind the last seq that came", {
    details: { retry_after_s: 1 },
  });
}

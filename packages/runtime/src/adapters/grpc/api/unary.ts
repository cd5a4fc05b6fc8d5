// Rpcs with one request and one answer: the route's own handler, between two messages.
import type { Call } from "../../../call/types.ts";
import type { RateStanding } from "../../../corridor/limits.ts";
import type { Asked, Service } from "../../../service.ts";
import { rateLimitHeaders, toldFailure } from "../../http/errors.ts";
import type { ToldError } from "../../http/errors.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { invokeRequest } from "../../http/schemas/executions.ts";
import { recordJson } from "../../http/views/executions.ts";
import { askOf, headOf } from "./ask.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage } from "./read.ts";
import type { Values } from "./read.ts";
import { writeMessage } from "./write.ts";

export async function answerOnce(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked } = exchange;
  const values = readMessage(rpc.input, await exchange.oneMessage());
  const ask = askOf(rpc, values, headOf(exchange.call.metadata));
  const answer = await rpc.route.handle({ service: door.service, asked, ...ask, content: noContent });
  if (answer.code !== undefined)
    throw new Error(`${rpc.name} answered with the error ${answer.code} as if it were none`);
  exchange.executionId = answer.executionId;
  tellAnswer(door, exchange, answer.text);
}

export async function answerInvoke(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked } = exchange;
  const values = readMessage(rpc.input, await exchange.oneMessage());
  const outcome = await invokeOnce(door.service, asked, values, headOf(exchange.call.metadata));
  exchange.executionId = outcome.call.callId;
  if (outcome.failure !== undefined) exchange.refuse(outcome.failure);
  else tellAnswer(door, exchange, recordJson(outcome.call), headersBeside(outcome));
}

export interface InvokeOutcome {
  readonly call: Call;
  readonly replayed: boolean;
  readonly rate: RateStanding | undefined;
  /** What a caller is told who waited, where the call did not succeed. */
  readonly failure: ToldError | undefined;
}

/** Unlike over HTTP, a call that was cancelled is no success to who waited for it: there is a status for it. */
export async function invokeOnce(
  service: Service,
  asked: Asked,
  values: Values,
  head: RequestHead,
): Promise<InvokeOutcome> {
  const request = invokeRequest(values, head);
  const { call, progress, replayed, rate } = await service.invoke(asked, request);
  const failed = progress === "settled" && request.mode === "sync" && call.state !== "succeeded";
  return { call, replayed, rate, failure: failed ? toldFailure(call, asked.requestId) : undefined };
}

/** What stands in headers beside a call's record. */
export function headersBeside({ replayed, rate }: Pick<InvokeOutcome, "replayed" | "rate">): Readonly<Record<string, string>> {
  return { ...(replayed ? { "idempotency-replayed": "true" } : {}), ...rateLimitHeaders(rate) };
}

/** The answer's JSON as the one message of the rpc. */
export function tellAnswer(
  door: ApiDoorParts,
  exchange: Exchange,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const { rpc } = exchange;
  const bytes = writeMessage(rpc.output, text, rpc.name, door.onStray);
  exchange.begin(headers);
  exchange.call.write(bytes);
  exchange.end();
}

function noContent(): never {
  throw new Error("this rpc brings no stream of bytes");
}

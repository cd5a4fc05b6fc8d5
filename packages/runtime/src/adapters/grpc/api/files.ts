// The rpc that stores a file: its pieces come as a stream of messages, counted, and no faster than they are stored.
import { limits, SignalboxError } from "@signalbox/protocol";
import { tooLarge } from "../../http/body.ts";
import { invalidInput } from "../../http/schemas/check.ts";
import { headOf } from "./ask.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage } from "./read.ts";
import { tellAnswer } from "./unary.ts";

export async function answerPutFile(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const { rpc, asked } = exchange;
  const answer = await rpc.route.handle({
    service: door.service,
    asked,
    params: {},
    query: {},
    body: undefined,
    message: headOf(exchange.call.metadata),
    content: (bytesMax) => chunks(exchange, bytesMax, door.bounds.requestWaitMs),
  });
  tellAnswer(door, exchange, answer.text);
}

async function* chunks({ call, rpc, gone }: Exchange, bytesMax: number, waitMs: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // The stream must outlive a refusal: its status has yet to go out on it.
  const messages = (call.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  const timer = setTimeout(() => reject(invalidInput(`the file did not arrive within ${waitMs} ms`)), waitMs);
  try {
    for (;;) {
      const { done, value: message } = await Promise.race([messages.next(), late]);
      if (done === true) break;
      if (message.byteLength > rpc.bytesMax) throw pieceTooLarge();
      const { chunk } = readMessage(rpc.input, message);
      if (!(chunk instanceof Uint8Array)) continue;
      if (chunk.byteLength > limits.bodyBytesMax) throw pieceTooLarge();
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
  // A stream that was broken off ends like a whole one at first; what was cut must not be stored as if it were all.
  await new Promise((resolve) => setImmediate(resolve));
  gone.throwIfAborted();
}

function pieceTooLarge(): SignalboxError {
  const pieceMiB = limits.bodyBytesMax / 1024 ** 2;
  return new SignalboxError("payload_too_large", `a piece of a file has at most ${pieceMiB} MiB; send it in smaller pieces`, {
    details: { limit: "body_bytes_max", limit_bytes: limits.bodyBytesMax },
  });
}

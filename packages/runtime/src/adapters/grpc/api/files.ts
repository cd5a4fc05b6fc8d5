// The rpc that stores a file: its pieces come as a stream of messages, counted, and no faster than they are stored.
import { tooLarge } from "../../http/body.ts";
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
    content: (bytesMax) => chunks(exchange, bytesMax),
  });
  tellAnswer(door, exchange, answer.text);
}

async function* chunks({ call, rpc, gone }: Exchange, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // The stream must outlive a refusal: its status has yet to go out on it.
  const messages = call.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const message of messages) {
    if (message.byteLength > rpc.bytesMax) throw tooLarge(rpc.bytesMax);
    const { chunk } = readMessage(rpc.input, message);
    if (!(chunk instanceof Uint8Array)) continue;
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    yield chunk;
  }
  // A stream that was broken off ends like a whole one at first; what was cut must not be stored as if it were all.
  await new Promise((resolve) => setImmediate(resolve));
  gone.throwIfAborted();
}

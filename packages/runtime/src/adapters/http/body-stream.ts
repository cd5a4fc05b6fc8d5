// Hands a request's body on chunk by chunk, for what is too large to be held: counted, and never longer than was promised.
import type { IncomingMessage } from "node:http";
import { CallerGone, declaredBytes, tooLarge } from "./body.ts";

/**
 * One pass over the body, at the reader's pace. Whoever stops reading early leaves the rest of it unread.
 * @throws SignalboxError payload_too_large, before a byte is read where the headers promise too many
 * @throws CallerGone when the connection ends before the body does
 */
export async function* bodyStream(message: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  if ((declaredBytes(message.headers) ?? 0) > bytesMax) throw tooLarge(bytesMax);
  let bytes = 0;
  // The connection must outlive a refusal: its answer has yet to go out on it.
  const chunks = message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield chunk;
    }
  } catch (error) {
    if (message.errored !== null) throw new CallerGone("the connection closed before the body was complete");
    throw error;
  }
  if (!message.complete) throw new CallerGone("the connection closed before the body was complete");
}

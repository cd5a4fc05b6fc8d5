// Writes an answer to the wire, with the headers that every answer carries.
import { Readable } from "node:stream";
import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { limits } from "@signalbox/protocol";
import { jsonType } from "./answer.ts";
import type { Answer } from "./answer.ts";
import { declaredBytes } from "./body.ts";
import type { HttpLimits } from "./http-limits.ts";

/** What stands between a stream and its reader at most, beside the socket's own buffer. */
const streamBufferBytes = 64 * 1024;

/** Answers hold tenants' data: no cache may keep them, and no browser may guess a type for them. */
const everywhere = { "x-content-type-options": "nosniff", "cache-control": "no-store" };

/** @param onBreak told why a stream broke off on our side; its reader sees a connection that ends in the middle */
export function send(
  reply: FastifyReply,
  answer: Answer,
  requestId: string,
  bounds: HttpLimits,
  onBreak: (cause: unknown) => void,
): void {
  reply
    .code(answer.status)
    .headers({ ...everywhere, "content-type": answer.contentType ?? jsonType, "x-request-id": requestId });
  if (answer.headers !== undefined) reply.headers(answer.headers);
  if (answer.stream !== undefined) {
    // Proxies that gather answers would hold a stream back until it ends.
    reply.headers({ "x-accel-buffering": "no" });
    const body = Readable.from(answer.stream, { objectMode: false, highWaterMark: streamBufferBytes });
    void reply.send(body.once("error", onBreak));
  } else if (hasLongRest(reply.request.raw)) sendAndLinger(reply, answer.text, bounds);
  else void reply.send(answer.text);
}

/** A body that stayed unread and is, or may be, too large to be swallowed for the sake of the connection. */
function hasLongRest(message: IncomingMessage): boolean {
  return !message.complete && (declaredBytes(message.headers) ?? Number.POSITIVE_INFINITY) > limits.bodyBytesMax;
}

/**
 * The whole answer goes out at once, the connection closes a little later. Closing a socket that has unread bytes
 * resets it, and a caller still busy sending would see the reset instead of the answer.
 */
function sendAndLinger(reply: FastifyReply, text: string, bounds: HttpLimits): void {
  const message = reply.request.raw;
  async function* answerThenLinger(): AsyncGenerator<string> {
    yield text;
    await swallow(message, bounds);
  }
  reply.headers({ connection: "close", "content-length": String(Buffer.byteLength(text)) });
  void reply.send(Readable.from(answerThenLinger(), { objectMode: false }));
}

/** Reads and throws away what still comes; ends with the body, with the connection, or at the bounds. */
function swallow(message: IncomingMessage, { lingerMs, lingerBytesMax }: HttpLimits): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const stop = (): void => {
      clearTimeout(timer);
      message.off("data", count).off("end", stop).off("close", stop).pause();
      resolve();
    };
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > lingerBytesMax) stop();
    };
    const timer = setTimeout(stop, lingerMs);
    message.on("data", count).on("end", stop).on("close", stop).resume();
  });
}

// Answers what never became a request: broken HTTP, headers that are too large, bytes that come too slowly.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SignalboxError, timeInWords } from "@signalbox/protocol";
import { jsonType } from "./answer.ts";
import { errorAnswer } from "./errors.ts";
import type { HttpLimits } from "./http-limits.ts";

export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  requestId: string,
  bounds: HttpLimits,
): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const pending = answerInWork(socket);
  if (pending?.req.complete === true) {
    // The trouble came after a whole request that is still in work: its answer is its own, and then the connection ends.
    pending.once("close", () => socket.destroy());
    return;
  }
  // Not writable, or in the middle of an answer: a second status line would be read as part of the first answer's body.
  if (!socket.writable || pending?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { text } = errorAnswer(new SignalboxError("invalid_input", wordsFor(error.code, bounds)), requestId);
  const head = [
    "HTTP/1.1 400 Bad Request",
    `Content-Type: ${jsonType}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    "X-Content-Type-Options: nosniff",
    "Cache-Control: no-store",
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}

/** Node keeps the answer in work on the socket itself; its own default handler looks there too. */
function answerInWork(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

function wordsFor(code: string | undefined, bounds: HttpLimits): string {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return `the request did not arrive in time; send its headers within ${timeInWords(bounds.headersWaitMs)} and the whole of it within ${timeInWords(bounds.requestWaitMs)}`;
  }
  if (code === "HPE_HEADER_OVERFLOW")
    return `the headers of the request are larger than ${bounds.headerBytesMax} bytes`;
  return "the request is not well-formed HTTP/1.1";
}

// A caller that speaks HTTP/2 itself, so that it reads nothing until it is told to; grpc-js's own reads ahead without bound.
import { connect, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { onTestFinished } from "vitest";

export interface RawStream {
  readonly stream: ClientHttp2Stream;
  /** One message, framed. */
  send(message: Uint8Array): void;
  /** What has left this side so far. */
  bytesOut(): number;
  /** Reads on to the end: the messages, and `grpc-status`. */
  read(): Promise<{ readonly messages: readonly Buffer[]; readonly status: string | undefined }>;
}

export function openRaw(address: string, path: string, headers: Readonly<Record<string, string>>): RawStream {
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  session.on("error", () => undefined);
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => undefined);
  let status: string | undefined;
  const look = (told: IncomingHttpHeaders): void => {
    const said = told["grpc-status"];
    if (typeof said === "string") status = said;
  };
  stream.on("response", look);
  stream.on("trailers", look);
  return {
    stream,
    send(message) {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.byteLength, 1);
      stream.write(Buffer.concat([head, message]));
    },
    bytesOut: () => session.socket.bytesWritten,
    async read() {
      const chunks: Buffer[] = [];
      // The server may end while this side still could send.
      const ended = new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      await ended;
      return { messages: framesIn(Buffer.concat(chunks)), status };
    },
  };
}

function framesIn(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.byteLength;) {
    const length = bytes.readUInt32BE(at + 1);
    frames.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return frames;
}

/** A count that has reached `least` and then stopped growing: the same over three tenths of a second. */
export async function standing(count: () => number, least = 1): Promise<number> {
  let last = 0;
  for (let still = 0; still < 3;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = count();
    still = now >= least && now === last ? still + 1 : 0;
    last = now;
  }
  return last;
}

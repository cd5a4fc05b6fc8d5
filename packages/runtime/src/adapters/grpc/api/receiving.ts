// Keeps what one caller can make the server hold small, although workers on the same port send large messages.
import type { ServerDuplexStream } from "@grpc/grpc-js";

/** What grpc-js's call object keeps to itself; any of it may be gone in another release. */
interface Inside {
  readonly call?: {
    maxReceiveMessageSize?: unknown;
    readonly decoder?: { maxReadMessageLength?: unknown };
  };
}

/**
 * grpc-js knows one receive limit for a whole server, and gathers a message before it shows it: without this, each stream of a
 * caller could hold 64 MiB. A larger message is then refused at its first bytes, in the transport's own words.
 * @returns false where grpc-js has changed: then only the whole message is measured
 */
export function narrowReceiving<In, Out>(stream: ServerDuplexStream<In, Out>, bytesMax: number): boolean {
  const { call } = stream as unknown as Inside;
  if (typeof call?.decoder?.maxReadMessageLength !== "number" || typeof call.maxReceiveMessageSize !== "number")
    return false;
  call.decoder.maxReadMessageLength = bytesMax;
  call.maxReceiveMessageSize = bytesMax;
  return true;
}

// Speaks to the services for callers in bytes: one connection per address, metadata in, status and trailers out.
import { Client, credentials, Metadata, status as codes } from "@grpc/grpc-js";
import type { ClientDuplexStream, StatusObject } from "@grpc/grpc-js";

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const asItIs = (bytes: Buffer): Buffer => bytes;

export interface Answered {
  readonly messages: readonly Buffer[];
  readonly initial: Metadata;
  readonly status: StatusObject;
}

export interface CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Ms from now. */
  readonly deadlineMs?: number;
}

export class GrpcCaller {
  readonly client: Client;

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
    });
  }

  /** Any rpc: on the wire there is no difference between one message and a stream of one. */
  open(path: string, { metadata = {}, signal, deadlineMs }: CallOptions = {}): ClientDuplexStream<Uint8Array, Buffer> {
    const sent = new Metadata();
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    const call = this.client.makeBidiStreamRequest<Uint8Array, Buffer>(path, asBuffer, asItIs, sent, options);
    signal?.addEventListener("abort", () => call.cancel());
    return call;
  }

  /** Sends all requests and the end, and gathers what comes back. */
  ask(path: string, requests: readonly Uint8Array[], options?: CallOptions): Promise<Answered> {
    const call = this.open(path, options);
    for (const request of requests) call.write(request);
    call.end();
    return gather(call);
  }

  close(): void {
    this.client.close();
  }
}

/** Never rejects: a status that is no OK is an answer, too. */
export function gather(call: ClientDuplexStream<Uint8Array, Buffer>): Promise<Answered> {
  const messages: Buffer[] = [];
  let initial = new Metadata();
  return new Promise((resolve) => {
    call.on("metadata", (metadata: Metadata) => (initial = metadata));
    call.on("data", (message: Buffer) => messages.push(message));
    call.on("error", () => undefined);
    call.on("status", (status: StatusObject) => resolve({ messages, initial, status }));
  });
}

export { codes };

// The worker's door: the gRPC stream to the runtime, and the clocks, chance, timers and log of this process.
import { Client, credentials, Metadata, status, type ChannelCredentials, type ClientDuplexStream } from "@grpc/grpc-js";
import { createBatch, createOutbox, limits, weigh, workService, type FromRuntime, type WorkerMessage, timeInWords } from "@signalbox/protocol";
import { ConnectRefused, type WorkerStream, type World } from "./ports.ts";

export interface TlsOptions {
  /** PEM of the authority that signed the runtime's certificate; without it the system's authorities count. */
  readonly ca?: Buffer | string;
  /** PEM of this worker's own certificate and key, where the runtime asks for one. */
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
}

export interface GrpcOptions {
  /** `host:port` or `unix:path`. */
  readonly address: string;
  readonly key: string;
  readonly tls?: boolean | TlsOptions;
  /** Sends the key in clear text to a host other than this one. */
  readonly insecure?: boolean;
}

type Call = ClientDuplexStream<readonly WorkerMessage[], readonly FromRuntime[]>;
type CallError = Error & { readonly code?: number; readonly details?: string };

const connectMsMax = 10_000;
/** With the time-out after it: how long a runtime that vanished without a FIN goes unnoticed. */
const keepaliveMs = 5_000;
const keepaliveTimeoutMs = 5_000;
/** How long a runtime may take to end its side after ours has ended. */
const closeMsMax = 1_000;
const loopback = /^(unix:|(dns:\/{0,3})?(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$)/;

/** Resolves once the runtime has accepted the key. Rejects with ConnectRefused, or with an error that a later try may not meet. */
export async function connectGrpc(options: GrpcOptions): Promise<WorkerStream> {
  const local = loopback.test(options.address);
  const client = new Client(options.address, channelCredentials(options, local), {
    "grpc.max_receive_message_length": limits.workMessageBytesMax,
    "grpc.max_send_message_length": limits.workMessageBytesMax,
    "grpc.keepalive_time_ms": keepaliveMs,
    "grpc.keepalive_timeout_ms": keepaliveTimeoutMs,
    "grpc.keepalive_permit_without_calls": 1,
    // Each connection stands alone: no state of an earlier failed one, no second try behind our back.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": 0,
    ...(local ? { "grpc.enable_http_proxy": 0 } : {}),
  });
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${options.key}`);
  const { path, requestSerialize, responseDeserialize } = workService.connect;
  const call: Call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  try {
    await acceptance(call);
  } catch (error) {
    client.close();
    throw connectError(options.address, error as CallError);
  }
  return workerStream(client, call);
}

/** The runtime sends its headers when it has accepted the key; until then the call can only fail. */
function acceptance(call: Call): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`no answer within ${timeInWords(connectMsMax)}`));
      call.cancel();
    }, connectMsMax);
    call.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    call.once("metadata", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function channelCredentials({ address, tls, insecure }: GrpcOptions, local: boolean): ChannelCredentials {
  if (tls === undefined || tls === false) {
    if (local || insecure === true) return credentials.createInsecure();
    throw new ConnectRefused(
      `${address} is another host, and without TLS the key would travel in clear text: set \`tls: true\` (or, on a trusted network, \`insecure: true\`)`,
    );
  }
  const { ca, cert, key } = tls === true ? {} : tls;
  const pem = (text: Buffer | string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return credentials.createSsl(pem(ca), pem(key), pem(cert));
}

function connectError(address: string, error: CallError): Error {
  const why = error.details === undefined || error.details === "" ? error.message : error.details;
  if (error.code === status.UNAUTHENTICATED) {
    return new ConnectRefused(
      `${address} does not accept the worker's key (${why}): create one with the scope workers:connect and pass it as \`key\``,
    );
  }
  if (error.code === status.PERMISSION_DENIED) {
    return new ConnectRefused(
      `${address} does not let this key connect workers (${why}): give the key the scope workers:connect, or use another one`,
    );
  }
  // grpc-js adds lines about the TLS library's internals and about name resolution.
  return new Error(`${address} cannot be reached: ${why.split("\n")[0]}`);
}

function workerStream(client: Client, call: Call): WorkerStream {
  let open = true;
  let told = false;
  let closedFor: string | undefined;
  let tellClosed: ((reason: string) => void) | undefined;
  const tellOnce = (): void => {
    if (told || closedFor === undefined || tellClosed === undefined) return;
    told = true;
    tellClosed(closedFor);
  };
  const closed = (reason: string): void => {
    open = false;
    closedFor ??= reason;
    outbox.end();
    client.close();
    tellOnce();
  };
  const close = (reason: string): void => {
    if (!open) return;
    open = false;
    closedFor = reason;
    batch.flush();
    call.resume(); // reads on, and drops what it reads, so that the end of the stream is seen
    call.end(); // what was sent before is still written
    const timer = setTimeout(() => call.cancel(), closeMsMax);
    call.once("status", () => clearTimeout(timer));
  };
  const batch = createBatch<WorkerMessage>({
    write: (messages, written) => call.write(messages, written),
    // In the next turn: handlers that end in this one report together.
    defer: (flush) => void setImmediate(flush),
    weigh,
  });
  const outbox = createOutbox<WorkerMessage>({ write: (message, written) => batch.add(message, written), overflow: close });
  call.on("error", (error) => closed("details" in error ? String(error.details) : error.message));
  call.once("status", ({ details }) => closed(details));
  return {
    send(message) {
      if (open) outbox.send(message);
    },
    room: () => outbox.room(),
    close,
    listen(on) {
      tellClosed = on.closed;
      if (!open) return queueMicrotask(tellOnce);
      call.on("data", (messages: readonly FromRuntime[]) => {
        for (const message of messages) if (open) on.message(message);
      });
    },
  };
}

export const thisProcess: World = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  chance: () => Math.random(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  every(ms, call) {
    const timer = setInterval(call, ms);
    return () => clearInterval(timer);
  },
  // The turn after the next: the batch goes out in the next one, and a handler that blocks would hold it back.
  soon: (call) => void setImmediate(() => setImmediate(call)),
  log: (message) => console.error(`signalbox worker: ${message}`),
};

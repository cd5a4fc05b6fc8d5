// A worker that says what a test tells it to, over real gRPC: in the SDK's messages, or in bytes of its own.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import {
  encodeWorker,
  type FromRuntime,
  type HandlerOffer,
  type InFlight,
  type Invoke,
  type Lease,
  type Result,
  type WorkerMessage,
  workService,
} from "@signalbox/protocol";

type OfType<T extends FromRuntime["type"]> = Extract<FromRuntime, { readonly type: T }>;

export interface ScriptedWorker {
  /** Everything that the runtime said, in order. */
  readonly heard: readonly FromRuntime[];
  send(message: WorkerMessage): void;
  /** Bytes in place of a message. */
  sendBytes(bytes: Uint8Array): void;
  /** The next message of this type that nobody has taken yet and that `match` takes. */
  next<T extends FromRuntime["type"]>(type: T, match?: (message: OfType<T>) => boolean): Promise<OfType<T>>;
  /** The Invoke of this call, with `accepted` and `started` said; waits for `Go` where the call needs it. */
  begin(callId: string | undefined): Promise<Invoke>;
  succeed(lease: Lease, outputJson: string, more?: Partial<Result>): void;
  readonly isOpen: boolean;
  /** Resolves with the words of the end. */
  readonly closed: Promise<string>;
  /** Ends the stream without a word. */
  hangUp(): void;
}

export interface ScriptedWorkerOptions {
  readonly address: string;
  readonly key: string;
  readonly workerId: string;
  readonly incarnation?: string;
  readonly tools: readonly string[];
  readonly capacity?: number;
  readonly inFlight?: readonly InFlight[];
}

/** Resolves once the runtime has registered it. */
export async function startScriptedWorker(options: ScriptedWorkerOptions): Promise<ScriptedWorker> {
  const { address, key, workerId, incarnation = `inc-${workerId}`, tools, capacity = 16, inFlight = [] } = options;
  const worker = openStream(address, key);
  worker.send({
    type: "register",
    workerId,
    incarnation,
    imageDigest: "",
    pool: "",
    labels: {},
    handlers: tools.map((tool): HandlerOffer => ({
      tool,
      version: "1.0.0",
      maxConcurrency: capacity,
      descriptorHash: "",
    })),
    backends: [],
    capacity,
    inFlight,
  });
  await worker.next("registered");
  return worker;
}

/** A Work stream on which nothing was said yet. */
export function openStream(address: string, key: string): ScriptedWorker {
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.max_send_message_length": -1,
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${key}`);
  const call = client.makeBidiStreamRequest<Uint8Array, readonly FromRuntime[]>(
    workService.connect.path,
    // A batch of one frame, whatever its bytes are.
    (frame) => Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(frame).finish()),
    workService.connect.responseDeserialize,
    metadata,
  );
  const heard: FromRuntime[] = [];
  const untaken: FromRuntime[] = [];
  const listeners = new Set<() => void>();
  let isOpen = true;
  const closed = new Promise<string>((resolve) => {
    call.on("error", () => undefined);
    call.once("status", ({ code, details }) => {
      isOpen = false;
      client.close();
      resolve(`${code} ${details}`);
    });
  });
  call.on("data", (messages: readonly FromRuntime[]) => {
    heard.push(...messages);
    untaken.push(...messages);
    for (const listener of listeners) listener();
  });
  const self: ScriptedWorker = {
    heard,
    send: (message) => void call.write(encodeWorker(message)),
    sendBytes: (bytes) => void call.write(bytes),
    next<T extends FromRuntime["type"]>(type: T, match: (message: OfType<T>) => boolean = () => true) {
      return new Promise<OfType<T>>((resolve, reject) => {
        const look = (): void => {
          const at = untaken.findIndex((message) => message.type === type && match(message as OfType<T>));
          if (at < 0) return;
          listeners.delete(look);
          resolve(untaken.splice(at, 1)[0] as OfType<T>);
        };
        listeners.add(look);
        look();
        void closed.then((reason) => reject(new Error(`the stream ended (${reason}) before ${type} came`)));
      });
    },
    async begin(callId) {
      const invoke = await self.next("invoke", (message) => message.callId === callId);
      const { fence } = invoke;
      self.send({ type: "accepted", callId: invoke.callId, fence });
      if (invoke.needsGo) await self.next("go", (go) => go.callId === invoke.callId && go.fence === fence);
      self.send({ type: "started", callId: invoke.callId, fence });
      return invoke;
    },
    succeed({ callId, fence }, outputJson, more = {}) {
      self.send({ type: "result", callId, fence, status: "succeeded", outputJson, usage: { durationMs: 1 }, ...more });
    },
    get isOpen() {
      return isOpen;
    },
    closed,
    hangUp: () => call.cancel(),
  };
  return self;
}

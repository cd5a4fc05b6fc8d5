// The SDK's Worker: offers handlers over one stream, runs what the core says to start, and dials again when the stream breaks.
import { limits, makeId, parseWithBigInts, type Invoke, type SideEffectClass, type Usage } from "@signalbox/protocol";
import { createAddressBook, type AddressBook } from "./addresses.ts";
import { createRun, type Run, type ToolContext } from "./context.ts";
import { createWorkerCore, type WorkerCore } from "./core.ts";
import { handlerKey, type BoxlessEnd, type CoreHandler, type HandlerEnd, type WorkerInput, type WorkerOutput } from "./core-types.ts";
import { CallStopped, ToolError, endOf, failureOf } from "./failure.ts";
import { connectGrpc, thisProcess, type TlsOptions } from "./grpc.ts";
import { ConnectRefused, type Connect, type WorkerStream, type World } from "./ports.ts";

/** Heartbeats and time-outs are looked at this often. */
const tickMs = 250;
const capacityDefault = 16;
const addressDefault = "127.0.0.1:9090";

export interface WorkerOptions {
  /**
   * The runtime's gRPC port, `host:port`; 127.0.0.1:9090 by default. Of several replicas any number: the worker is with one of
   * them, and goes to the next at once when that one is gone.
   */
  readonly address?: string | readonly string[];
  /** A key with the scope workers:connect. Not needed with `connect`. */
  readonly key?: string;
  /** Stays the same over restarts, so that people know the worker; by default a new one for each process. */
  readonly workerId?: string;
  /** Calls at once, over all tools; 16 by default. */
  readonly capacity?: number;
  readonly tls?: boolean | TlsOptions;
  /** Sends the key in clear text to another host. */
  readonly insecure?: boolean;
  readonly pool?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly imageDigest?: string;
  /** Bytes of memory that calls could still use here, a whole number; the runtime prefers workers that have enough. */
  readonly freeMemoryBytes?: () => number;
  /** Isolation backends that this worker offers, and what runs a call in one of them. */
  readonly boxes?: BoxRunner;
  /** How long calls may still take once the worker leaves; 30 s by default. */
  readonly drainMs?: number;
  /** `run()` drains on SIGTERM and SIGINT (and leaves at once on the second one); true by default. */
  readonly signals?: boolean;
  /** Another way to the runtime than gRPC, e.g. an end of `createPipe()`. */
  readonly connect?: Connect;
  /** Where lines about the connection go; stderr by default. */
  readonly log?: (message: string) => void;
  /** Clocks, chance and timers, for tests. */
  readonly world?: World;
}

/** How a box ended, with what it used; `not_started` and `lost` are no results, and are told to nobody as such. */
export type BoxRunEnd = (HandlerEnd | BoxlessEnd) & { readonly usage?: Omit<Usage, "durationMs"> };

export interface BoxRunner {
  readonly backends: readonly string[];
  /**
   * Runs the call that `ctx.invoke` brings, in the box that its `boxJson` describes. A rejection is a box that is lost.
   * @param started to be called once, when the box stands and before any code of the tool runs
   */
  run(ctx: ToolContext, started: () => void): Promise<BoxRunEnd>;
}

/** Any Standard Schema (zod 4 and others): gives the handler's arguments their type. The runtime does the validating. */
export interface TypedSchema<Args> {
  readonly "~standard": { readonly types?: { readonly output: Args } | undefined };
}

export interface ToolOptions<Args> {
  /** Exact version, as published. */
  readonly version: string;
  readonly input?: TypedSchema<Args> | Readonly<Record<string, unknown>>;
  /** What the code does to the world. A call that a laxer manifest sends is refused; unset, the manifest decides. */
  readonly sideEffectClass?: SideEffectClass;
  /** Calls of this tool at once; the worker's capacity by default. */
  readonly maxConcurrency?: number;
  /** SHA-256 (hex) of the descriptor that the code was built against. */
  readonly descriptorHash?: string;
}

/** Returns plain JSON data (bigints allowed); nothing is `null`. */
export type ToolHandler<Args> = (args: Args, ctx: ToolContext) => unknown;

export class Worker {
  readonly #options: WorkerOptions;
  readonly #world: World;
  readonly #handlers = new Map<string, { offer: CoreHandler; handler: ToolHandler<never> }>();
  /** By call id and fence: an abandoned handler may still run when its call comes back. */
  readonly #runs = new Map<string, Run>();
  #core: WorkerCore | undefined;
  #stream: WorkerStream | undefined;
  #inbox: WorkerInput[] = [];
  #busy = false;
  readonly #addresses: AddressBook;
  #finished = false;
  /** Wakes a worker that waits to dial again, or for its stream to end. */
  #wake: () => void = () => {};
  #running: Promise<void> | undefined;
  #cancelDrainTimer: () => void = () => {};

  constructor(options: WorkerOptions) {
    if (options.key === undefined && options.connect === undefined) {
      throw new TypeError("a worker needs `key`: create one with the scope workers:connect");
    }
    const { address = addressDefault } = options;
    const addresses = typeof address === "string" ? [address] : address;
    if (addresses.length === 0) throw new TypeError("a worker needs at least one `address`, `host:port`");
    this.#options = options;
    this.#world = options.world ?? (options.log === undefined ? thisProcess : { ...thisProcess, log: options.log });
    this.#addresses = createAddressBook(addresses, this.#world.chance());
  }

  /** Offers a handler. Throws when the tool's version has one already, or when the worker runs. */
  tool<Args = unknown>(name: string, options: ToolOptions<Args>, handler: ToolHandler<Args>): this {
    const key = handlerKey(name, options.version);
    if (this.#core !== undefined) throw new Error(`register ${key} before run()`);
    if (this.#handlers.has(key)) throw new Error(`${key} has a handler already`);
    const offer: CoreHandler = {
      tool: name,
      version: options.version,
      maxConcurrency: options.maxConcurrency ?? this.#options.capacity ?? capacityDefault,
      descriptorHash: options.descriptorHash ?? "",
      ...(options.sideEffectClass === undefined ? {} : { sideEffectClass: options.sideEffectClass }),
    };
    this.#handlers.set(key, { offer, handler });
    return this;
  }

  /**
   * Works until it is told to leave: by `close()`, `signal`, SIGTERM or the runtime. Then it finishes its calls (at most
   * `drainMs`) and resolves. Dials again for ever when the stream breaks; rejects with ConnectRefused when the runtime does
   * not let it in.
   */
  run(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#running !== undefined) throw new Error("a worker runs once: make a new one");
    if (this.#handlers.size === 0 && this.#options.boxes === undefined) throw new Error("register a handler with worker.tool(…) before run()");
    this.#running = this.#run(options.signal);
    return this.#running;
  }

  /** Finishes its calls (at most `drainMs`) and leaves. Resolves when it has left, also after a failed run. */
  async close(): Promise<void> {
    if (this.#running === undefined) return;
    this.#drain();
    await this.#running.catch(() => {});
  }

  async #run(signal: AbortSignal | undefined): Promise<void> {
    const { wallMs, randomBytes } = this.#world;
    const { capacity = capacityDefault, workerId, pool, labels, imageDigest, freeMemoryBytes, boxes } = this.#options;
    this.#core = createWorkerCore({
      workerId: workerId ?? makeId("wrk", wallMs(), randomBytes(10)),
      incarnation: makeId("inc", wallMs(), randomBytes(10)),
      handlers: [...this.#handlers.values()].map(({ offer }) => offer),
      capacity,
      ...(pool === undefined ? {} : { pool }),
      ...(labels === undefined ? {} : { labels }),
      ...(imageDigest === undefined ? {} : { imageDigest }),
      ...(freeMemoryBytes === undefined ? {} : { freeMemoryBytes }),
      ...(boxes === undefined ? {} : { backends: boxes.backends }),
    });
    const leave = (): void => this.#drain();
    let signalsSeen = 0;
    const onSignal = (): void => (++signalsSeen === 1 ? this.#drain() : this.#finish());
    const stopTicking = this.#world.every(tickMs, () => this.#take({ type: "tick" }));
    if (this.#options.signals !== false) for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, onSignal);
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) leave();
    try {
      while (!this.#finished) await this.#connectOnce();
    } finally {
      this.#finish();
      stopTicking();
      this.#cancelDrainTimer();
      if (this.#options.signals !== false)
        for (const name of ["SIGTERM", "SIGINT"] as const) process.off(name, onSignal);
      signal?.removeEventListener("abort", leave);
    }
  }

  /** One stream, from the wait before it is dialled to its end. */
  async #connectOnce(): Promise<void> {
    const { address, named, delayMs } = this.#addresses.next(this.#world.chance());
    if (delayMs > 0) await this.#pause(delayMs);
    if (this.#finished) return;
    try {
      const stream = await this.#dial(address);
      const reason = await this.#follow(stream);
      if (!this.#finished) this.#world.log(`the stream to ${address} ended: ${reason}`);
    } catch (error) {
      // Where a runtime has sent its workers may be a place that knows nothing of them.
      if (error instanceof ConnectRefused && !named && this.#addresses.refused(address)) throw error;
      this.#world.log(error instanceof Error ? error.message : String(error));
    }
    this.#addresses.ended(this.#world.monotonicMs());
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = this.#world.after(ms, resolve);
      this.#wake = () => {
        stopTimer();
        resolve();
      };
    });
  }

  async #dial(address: string): Promise<WorkerStream> {
    const { connect, key = "", tls, insecure } = this.#options;
    if (connect !== undefined) return connect(address);
    return connectGrpc({
      address,
      key,
      ...(tls === undefined ? {} : { tls }),
      ...(insecure === undefined ? {} : { insecure }),
    });
  }

  /** Resolves with the reason when the stream has ended. */
  #follow(stream: WorkerStream): Promise<string> {
    return new Promise((resolve) => {
      if (this.#finished) {
        stream.close("the worker leaves");
        return resolve("the worker leaves");
      }
      this.#stream = stream;
      this.#wake = () => resolve("the worker leaves");
      stream.listen({
        message: (message) => this.#take({ type: "message", message }),
        closed: (reason) => {
          this.#stream = undefined;
          this.#take({ type: "disconnected" });
          resolve(reason);
        },
      });
      this.#take({ type: "connected" });
    });
  }

  #drain(): void {
    // A worker that has left must not arm a timer again: it would keep its process alive.
    if (this.#core === undefined || this.#finished) return;
    this.#cancelDrainTimer();
    this.#cancelDrainTimer = this.#world.after(this.#options.drainMs ?? limits.drainMs, () => this.#finish());
    this.#take({ type: "drain" });
  }

  /** The end, with or without calls: whoever still runs is told to stop and no longer listened to. */
  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    for (const { abort } of this.#runs.values()) abort.abort(new CallStopped("shutdown"));
    this.#stream?.close("the worker leaves");
    this.#wake();
  }

  /** One input after the other: what an output sets off waits for its turn. */
  #take(input: WorkerInput): void {
    this.#inbox.push(input);
    if (this.#busy || this.#core === undefined) return;
    this.#busy = true;
    try {
      for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) {
        for (const output of this.#core.on(next, this.#world.monotonicMs())) this.#obey(output);
      }
    } finally {
      this.#busy = false;
    }
  }

  #obey(output: WorkerOutput): void {
    switch (output.type) {
      case "send":
        return this.#stream?.send(output.message);
      case "start":
        return this.#enter(output.invoke);
      case "stop":
        return this.#runs.get(runKey(output))?.abort.abort(new CallStopped(output.reason));
      case "abandon":
        return this.#runs.get(runKey(output))?.abort.abort(new CallStopped("lost"));
      case "secrets":
        return this.#runs.get(runKey(output))?.answerSecrets(output);
      case "registered":
        return this.#addresses.registered(this.#world.monotonicMs());
      case "reconnect":
        this.#addresses.sentTo(output.to);
        return this.#stream?.close(output.reason);
      case "drained":
        return this.#finish();
      case "note":
        return this.#world.log(output.message);
    }
  }

  /**
   * User code is entered a moment later: code that blocks the event loop from its first line on would hold back
   * `Accepted`, and the runtime would give the call away while it runs here.
   */
  #enter(invoke: Invoke): void {
    const run = createRun({
      invoke,
      startedAtWallMs: this.#world.wallMs(),
      tell: (input) => this.#take(input),
      room: async () => this.#stream?.room?.(),
    });
    this.#runs.set(runKey(invoke), run);
    this.#world.soon(() => void this.#callHandler(invoke, run).then((end) => this.#ended(invoke, end)));
  }

  #ended(invoke: Invoke, { usage, ...end }: BoxRunEnd): void {
    this.#runs.delete(runKey(invoke));
    this.#take({ type: "handler_ended", callId: invoke.callId, fence: invoke.fence, end, ...(usage === undefined ? {} : { usage }) });
  }

  /** Never rejects: whatever user code does is an end of its own call and of nothing else. */
  async #callHandler(invoke: Invoke, { context }: Run): Promise<BoxRunEnd> {
    try {
      context.signal.throwIfAborted(); // stopped between "start" and now
      const { boxes } = this.#options;
      if (invoke.boxJson !== undefined && boxes !== undefined) return await this.#runBox(boxes, context);
      const handler = this.#handlers.get(handlerKey(invoke.tool, invoke.version))?.handler as
        | ToolHandler<unknown>
        | undefined;
      if (handler === undefined) throw new ToolError("unknown_tool", `no handler for ${invoke.tool}@${invoke.version}`);
      return endOf(await handler(argsOf(invoke), context));
    } catch (thrown) {
      return failureOf(thrown);
    }
  }

  async #runBox(boxes: BoxRunner, context: ToolContext): Promise<BoxRunEnd> {
    const { callId, fence } = context.invoke;
    try {
      return await boxes.run(context, () => this.#take({ type: "code_started", callId, fence }));
    } catch (error) {
      return { status: "lost", message: error instanceof Error ? error.message : String(error) };
    }
  }
}

function argsOf(invoke: Invoke): unknown {
  try {
    return parseWithBigInts(invoke.argsJson);
  } catch (error) {
    throw new ToolError("args_not_json", error instanceof Error ? error.message : String(error));
  }
}

function runKey({ callId, fence }: { readonly callId: string; readonly fence: number }): string {
  return `${callId} ${fence}`;
}

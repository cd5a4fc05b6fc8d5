// A worker process in the walk: the SDK's real core, handlers that end at random, and a process that freezes and dies.
import type { Invoke, ResultAck, WorkError } from "@signalbox/protocol";
import { createWorkerCore, type WorkerCore } from "../../packages/worker/src/core.ts";
import type { WorkerInput, WorkerOutput } from "../../packages/worker/src/core-types.ts";
import { Link, type NetworkFaults } from "./sim-link.ts";
import type { Random } from "./random.ts";
import type { SimTime } from "./sim-time.ts";

/** Every entry into user code, over all workers and incarnations: the truth about side effects. */
export interface Entry {
  readonly callId: string;
  readonly fence: number;
  readonly at: number;
  readonly worker: string;
  readonly argsJson: string;
}

/** A worker was told that the result it sent under this lease is stored. */
export interface Acknowledged {
  readonly callId: string;
  readonly fence: number;
  readonly outputJson: string | undefined;
}

export const declined: WorkError = { code: "declined", message: "no", retryable: false };

export interface WorkerWorld {
  acknowledged(result: Acknowledged): void;
  readonly time: SimTime;
  readonly random: Random;
  /** Why a handler failed; null: for a reason that no repeat helps against. A chance of its own. */
  readonly failing: (() => WorkError) | null;
  readonly faults: NetworkFaults;
  readonly entries: Entry[];
  /** Hands the runtime's end of a new link over; false while there is no runtime. `to`: the address it was sent to; empty = any. */
  dial(link: Link, workerId: string, to: string): boolean;
  /** It was told to forget a lease when it connected. */
  dropped?(workerId: string, incarnation: string, lease: { readonly callId: string; readonly fence: number }): void;
  /** How many handlers this process is in now, after one more was entered. */
  busy?(workerId: string, handlers: number): void;
}

export class SimWorker {
  readonly workerId: string;
  readonly #world: WorkerWorld;
  readonly #tools: readonly string[];
  #incarnation = 0;
  #core: WorkerCore | undefined;
  #link: Link | undefined;
  #frozenUntil = 0;
  #sentTo = "";
  readonly #running = new Set<string>();
  #waiting: WorkerInput[] = [];
  /** What this process said of each lease, by `callId#fence`. */
  readonly #said = new Map<string, string | undefined>();

  constructor(workerId: string, tools: readonly string[], world: WorkerWorld) {
    this.workerId = workerId;
    this.#tools = tools;
    this.#world = world;
  }

  get up(): boolean {
    return this.#core !== undefined;
  }

  /** Whether its handler has ended: such a lease waits for the answer to its result, and takes no slot here. */
  hasEnded(callId: string, fence: number): boolean {
    return this.#said.has(`${callId}#${fence}`);
  }

  start(): void {
    const incarnation = ++this.#incarnation;
    this.#core = createWorkerCore({
      workerId: this.workerId,
      incarnation: `inc${incarnation}`,
      capacity: 3,
      handlers: this.#tools.map((tool) => ({ tool, version: "1.0.0", maxConcurrency: 2, descriptorHash: "" })),
    });
    this.#tickWhile(incarnation);
    this.#dial(incarnation);
  }

  kill(): void {
    this.#core = undefined;
    this.#waiting = [];
    this.#running.clear();
    this.#link?.break("the worker died");
    this.#link = undefined;
  }

  freeze(ms: number): void {
    this.#frozenUntil = this.#world.time.now() + ms;
    this.#world.time.after(ms, () => this.#thaw());
  }

  breakLink(): void {
    this.#link?.break("the network broke");
  }

  #thaw(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const input of waiting) this.#take(input);
  }

  #tickWhile(incarnation: number): void {
    if (this.#incarnation !== incarnation || this.#core === undefined) return;
    this.#take({ type: "tick" });
    this.#world.time.after(500, () => this.#tickWhile(incarnation));
  }

  #dial(incarnation: number): void {
    const { time, random, faults } = this.#world;
    if (this.#incarnation !== incarnation || this.#core === undefined) return;
    const link = new Link(time, random, faults);
    const to = this.#sentTo;
    this.#sentTo = "";
    if (!this.#world.dial(link, this.workerId, to)) {
      time.after(200 + random.below(1_000), () => this.#dial(incarnation));
      return;
    }
    this.#link = link;
    link.workerEnd.listen({
      message: (message) => this.#link === link && this.#take({ type: "message", message }),
      closed: () => {
        if (this.#link !== link) return;
        this.#link = undefined;
        this.#take({ type: "disconnected" });
        time.after(50 + random.below(1_000), () => this.#dial(incarnation));
      },
    });
    this.#take({ type: "connected" });
  }

  #take(input: WorkerInput): void {
    if (this.#core === undefined) return;
    if (this.#world.time.now() < this.#frozenUntil) {
      this.#waiting.push(input);
      return;
    }
    if (input.type === "message" && input.message.type === "result_ack") this.#noteAck(input.message);
    if (input.type === "message" && input.message.type === "registered") {
      for (const lease of input.message.resync)
        if (lease.verdict === "drop") this.#world.dropped?.(this.workerId, `inc${this.#incarnation}`, lease);
    }
    for (const output of this.#core.on(input, this.#world.time.now())) this.#obey(output);
  }

  #noteAck({ callId, fence, verdict }: ResultAck): void {
    const lease = `${callId}#${fence}`;
    if (verdict === "stored" && this.#said.has(lease)) this.#world.acknowledged({ callId, fence, outputJson: this.#said.get(lease) });
  }

  #obey(output: WorkerOutput): void {
    switch (output.type) {
      case "send":
        if (output.message.type === "result") {
          this.#said.set(`${output.message.callId}#${output.message.fence}`, output.message.outputJson);
        }
        this.#link?.workerEnd.send(output.message);
        return;
      case "start":
        return this.#enter(output.invoke);
      case "stop":
      case "abandon":
        return this.#askToStop(output.callId, output.fence);
      case "reconnect":
        this.#sentTo = output.to;
        this.#link?.break(output.reason);
        return;
      default:
    }
  }

  #enter(invoke: Invoke): void {
    const { time, random, entries } = this.#world;
    const { callId, fence, argsJson } = invoke;
    entries.push({ callId, fence, at: time.now(), worker: `${this.workerId}/${this.#incarnation}`, argsJson });
    this.#running.add(`${callId}#${fence}`);
    this.#world.busy?.(this.workerId, this.#running.size);
    // Most handlers are quick, some are slow, a few outlive their timeout.
    const kind = random.next();
    const ms = kind < 0.8 ? random.below(200) : kind < 0.97 ? random.below(20_000) : 60_000;
    this.#endLater(ms, callId, fence, random.chance(0.85));
  }

  #endLater(ms: number, callId: string, fence: number, well: boolean): void {
    const incarnation = this.#incarnation;
    const end = well
      ? ({ status: "succeeded", outputJson: JSON.stringify({ callId, fence }) } as const)
      : ({ status: "failed", error: this.#world.failing?.() ?? declined } as const);
    this.#world.time.after(ms, () => {
      if (this.#incarnation !== incarnation) return;
      this.#running.delete(`${callId}#${fence}`);
      this.#take({ type: "handler_ended", callId, fence, end });
    });
  }

  /** Most handlers obey; some do not hear. A second end of the same lease is for the core to ignore. */
  #askToStop(callId: string, fence: number): void {
    const { random } = this.#world;
    if (random.chance(0.7)) this.#endLater(random.below(1_000), callId, fence, false);
  }
}

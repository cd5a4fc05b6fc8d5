// A Work stream over a lossy network: messages are late, lost or doubled, and the stream breaks.
import type { FromRuntime, RuntimeMessage, WorkStream, WorkerMessage } from "@signalbox/protocol";
import type { Random } from "./random.ts";
import type { SimTime } from "./sim-time.ts";

export interface NetworkFaults {
  lose: number;
  double: number;
  delayMs: number;
}

type Listener<T> = { message(message: T): void; closed(reason: string): void };

/** One direction: in order, each message at its time. */
class Way<T> {
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #faults: NetworkFaults;
  readonly #open: () => boolean;
  #lastAt = 0;
  listener: Listener<T> | undefined;

  constructor(time: SimTime, random: Random, faults: NetworkFaults, open: () => boolean) {
    this.#time = time;
    this.#random = random;
    this.#faults = faults;
    this.#open = open;
  }

  send(message: T): void {
    if (this.#random.chance(this.#faults.lose)) return;
    const copies = this.#random.chance(this.#faults.double) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const at = Math.max(this.#lastAt, this.#time.now() + this.#random.below(this.#faults.delayMs + 1));
      this.#lastAt = at;
      this.#time.after(at - this.#time.now(), () => {
        if (this.#open()) this.listener?.message(message);
      });
    }
  }
}

export class Link {
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #up: Way<WorkerMessage>;
  readonly #down: Way<FromRuntime>;
  #open = true;

  constructor(time: SimTime, random: Random, faults: NetworkFaults) {
    this.#time = time;
    this.#random = random;
    this.#up = new Way(time, random, faults, () => this.#open);
    this.#down = new Way(time, random, faults, () => this.#open);
  }

  get open(): boolean {
    return this.#open;
  }

  /** What is under way is lost; each end hears of it in its own time. */
  break(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    for (const way of [this.#up, this.#down]) {
      this.#time.after(this.#random.below(3_000), () => way.listener?.closed(reason));
    }
  }

  get workerEnd(): WorkStream<FromRuntime, WorkerMessage> {
    return {
      send: (message) => this.#open && this.#up.send(message),
      close: (reason) => this.break(reason),
      listen: (on) => {
        this.#down.listener = on;
      },
    };
  }

  get runtimeEnd(): WorkStream<WorkerMessage, RuntimeMessage> {
    return {
      send: (message) => this.#open && this.#down.send(message),
      close: (reason) => this.break(reason),
      listen: (on) => {
        this.#up.listener = on;
      },
    };
  }
}

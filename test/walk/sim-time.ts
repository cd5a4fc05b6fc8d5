// Simulated time: a list of things to come, taken one by one; nothing here waits.
import type { Clock } from "../../packages/runtime/src/corridor/ports.ts";
import { DueHeap } from "../../packages/runtime/src/dispatch/heap.ts";

interface Pending {
  readonly run: () => void;
  cancelled: boolean;
}

export class SimTime {
  readonly #heap = new DueHeap<Pending>();
  readonly #startAt: number;
  /** Since the start: a number as large as today's date has no room for the fractions that keep the order. */
  #passed = 0;
  #order = 0;
  steps = 0;

  constructor(startAt: number) {
    this.#startAt = startAt;
  }

  now(): number {
    return this.#startAt + Math.floor(this.#passed);
  }

  /** Runs `run` at `now + ms`; things at the same instant keep their order. */
  after(ms: number, run: () => void): () => void {
    const pending: Pending = { run, cancelled: false };
    // The fraction keeps equal instants in the order they were asked for, and is below a tenth of a millisecond.
    this.#order = (this.#order + 1) % 1_000_000;
    this.#heap.push(Math.floor(this.#passed) + Math.max(0, ms) + this.#order / 10_000_000, pending);
    return () => {
      pending.cancelled = true;
    };
  }

  /** Takes the next thing at or before `until`; false when there is none. */
  step(until: number): boolean {
    const at = this.#heap.nextAt();
    if (at > until - this.#startAt) {
      this.#passed = Math.max(this.#passed, until - this.#startAt);
      return false;
    }
    this.#passed = Math.max(this.#passed, at);
    const pending = this.#heap.popDue(at);
    if (pending !== undefined && !pending.cancelled) {
      this.steps++;
      pending.run();
    }
    return true;
  }

  /** A clock for one process; `alive` false makes it deaf, as a dead process is. */
  clock(alive: () => boolean): Clock {
    return {
      now: () => this.now(),
      monotonic: () => this.#passed,
      after: (ms, callback) => this.after(ms, () => alive() && callback()),
    };
  }
}

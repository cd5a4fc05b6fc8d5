// A clock by hand: time stands still until a test moves it, and timers ring in their order while it moves.
import type { Clock } from "../../packages/runtime/src/corridor/ports.ts";

interface Timer {
  readonly at: number;
  readonly ring: () => void;
}

export class HandClock implements Clock {
  #now: number;
  #timers: Timer[] = [];

  constructor(startAt: number) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - 1_000;
  }

  after(ms: number, ring: () => void): () => void {
    const timer = { at: this.#now + ms, ring };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Moves time and rings what is due on the way; what promises bring about comes between two rings. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#now = Math.max(this.#now, next.at);
      next.ring();
      await settled();
    }
    this.#now = until;
  }

  /** Moves time and rings nothing, as for a process that stood still; what became due rings when time passes next. */
  skip(ms: number): void {
    this.#now += ms;
  }

  #next(until: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  }
}

/** Whatever has been promised so far has happened. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve));
}

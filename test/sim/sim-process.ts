// One process of the simulator: a clock of its own, a gate that stands still while it is frozen, and a death between any two effects.
import type { Clock } from "../../packages/runtime/src/corridor/ports.ts";
import type { SimTime } from "../walk/sim-time.ts";

/** What befalls the process before its n-th effect from now. */
export interface Fate {
  effects: number;
  readonly befall: () => void;
}

export class SimProcess {
  readonly #time: SimTime;
  /** Its wall clock is so much ahead of the store's, ms. */
  readonly skewMs: number;
  alive = true;
  fate: Fate | undefined;
  #frozen = false;
  #draining = false;
  #held: (() => void)[] = [];

  constructor(time: SimTime, skewMs: number) {
    this.#time = time;
    this.skewMs = skewMs;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** It stands still, or has not yet caught up with what came in meanwhile. */
  get stands(): boolean {
    return this.#frozen || this.#draining;
  }

  readonly clock: Clock = {
    now: () => this.#time.now() + this.skewMs,
    monotonic: () => this.#time.now(),
    after: (ms, callback) => this.#time.after(ms, () => this.pass(callback)),
  };

  /** Something comes in: at once, or when the process goes on, or never. */
  pass(run: () => void): void {
    if (!this.alive) return;
    if (this.#frozen || this.#draining) this.#held.push(run);
    else run();
  }

  /** Something goes out. A process that was stopped between reading its clock and sending sends when it goes on. */
  effect(run: () => void): void {
    const { fate } = this;
    if (fate !== undefined && --fate.effects <= 0) {
      this.fate = undefined;
      fate.befall();
    }
    if (!this.alive) return;
    if (this.#frozen) this.#held.push(run);
    else run();
  }

  /** It is gone: nothing that it still does reaches anybody. */
  die(): void {
    this.alive = false;
    this.#held = [];
  }

  freeze(ms: number): void {
    if (this.#frozen || !this.alive) return;
    this.#frozen = true;
    this.#time.after(ms, () => this.thaw());
  }

  /** It goes on where it stood, with what has come in since, one thing after another. */
  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    this.#draining = true;
    this.#next();
  }

  #next(): void {
    if (!this.alive || this.#frozen) return;
    const run = this.#held.shift();
    if (run === undefined) {
      this.#draining = false;
      return;
    }
    run();
    this.#time.after(0, () => this.#next());
  }
}

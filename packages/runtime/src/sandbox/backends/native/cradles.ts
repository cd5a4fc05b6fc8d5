// A few launchers that wait for an order: a cold box then costs what bubblewrap costs, and no fork on its caller's way.
import type { Cradle } from "./cradle.ts";

export class Cradles {
  readonly #count: number;
  readonly #make: () => Promise<Cradle>;
  readonly #onError: (error: Error) => void;
  readonly #ready: Cradle[] = [];
  #filling: Promise<void> | undefined;
  #closed = false;

  constructor(count: number, make: () => Promise<Cradle>, onError: (error: Error) => void) {
    this.#count = count;
    this.#make = make;
    this.#onError = onError;
  }

  /** Undefined = none waits. */
  take(): Cradle | undefined {
    let cradle = this.#ready.shift();
    while (cradle?.hasEnded) {
      void discard(cradle);
      cradle = this.#ready.shift();
    }
    return cradle;
  }

  /** To be called when nobody waits: each costs a fork. */
  refill(): void {
    if (this.#closed || this.#filling !== undefined) return;
    this.#filling = this.#fill()
      .catch((error: unknown) => this.#onError(error as Error))
      .finally(() => (this.#filling = undefined));
  }

  async #fill(): Promise<void> {
    while (!this.#closed && this.#ready.length < this.#count) this.#ready.push(await this.#make());
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#filling;
    await Promise.all(this.#ready.splice(0).map(discard));
  }
}

async function discard(cradle: Cradle): Promise<void> {
  cradle.kill();
  await cradle.exit;
  await cradle.remove();
}

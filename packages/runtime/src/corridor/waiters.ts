// Who waits for which call: callers of sync invokes, woken when the end (or the park) is stored.
import type { Call } from "../call/types.ts";
import type { Clock } from "./ports.ts";

type Wake = (call: Call) => void;

export class Waiters {
  readonly #waiting = new Map<string, Set<Wake>>();

  /** Wakes everybody who waits for this call. */
  tell(key: string, call: Call): void {
    const wakes = this.#waiting.get(key);
    if (wakes === undefined) return;
    this.#waiting.delete(key);
    for (const wake of wakes) wake(call);
  }

  /** Starts listening now; nothing told after this call is missed. */
  listen(key: string): { told: Promise<Call>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<Call>();
    let wakes = this.#waiting.get(key);
    if (wakes === undefined) this.#waiting.set(key, (wakes = new Set()));
    wakes.add(resolve);
    const stop = (): void => {
      const current = this.#waiting.get(key);
      current?.delete(resolve);
      if (current?.size === 0) this.#waiting.delete(key);
    };
    return { told: promise, stop };
  }

  has(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Who is waited for: tenants and ids, as the key was made of them. */
  calls(): readonly { readonly tenant: string; readonly callId: string }[] {
    return [...this.#waiting.keys()].map((key) => {
      const at = key.indexOf("\u0000");
      return { tenant: key.slice(0, at), callId: key.slice(at + 1) };
    });
  }

  get size(): number {
    return this.#waiting.size;
  }
}

/** Waits for `told`, for `ms`, or until the caller goes away; undefined when the call was not told of in time. */
export async function waitAtMost(
  told: Promise<Call>,
  ms: number,
  clock: Clock,
  signals: readonly (AbortSignal | undefined)[],
): Promise<Call | undefined> {
  const { promise: enough, resolve } = Promise.withResolvers<undefined>();
  const giveUp = (): void => resolve(undefined);
  const takeBack = clock.after(ms, giveUp);
  const listening = signals.filter((signal) => signal !== undefined);
  for (const signal of listening) {
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
  }
  try {
    return await Promise.race([told, enough]);
  } finally {
    takeBack();
    for (const signal of listening) signal.removeEventListener("abort", giveUp);
  }
}

// Remembers for a while which calls this worker has done, so that a second lease of one is answered and not run again.
import type { Result } from "@signalbox/protocol";

const entriesMax = 10_000;
const ageMsMax = 10 * 60_000;
/** Guards the memory against ten thousand results of a megabyte. */
const charsMax = 64 * 1024 * 1024;

interface Entry {
  readonly result: Result;
  readonly atMs: number;
}

/**
 * Succeeded results of calls that change the world, after the runtime let go of them. Why only those:
 * a read is cheap to repeat, and a stale one would be wrong; a failed call that comes back under a new lease is a
 * deliberate retry. A succeeded write that comes back means that the runtime lost our answer: running it again would
 * do it twice.
 */
export class DoneWindow {
  /** Oldest first; a call that is answered from here is added again when the answer is acknowledged. */
  readonly #entries = new Map<string, Entry>();
  #chars = 0;

  get size(): number {
    return this.#entries.size;
  }

  add(tenant: string, result: Result, nowMs: number): void {
    const key = keyOf(tenant, result.callId);
    this.#drop(key);
    this.#entries.set(key, { result, atMs: nowMs });
    this.#chars += charsOf(result);
    for (const [oldest, entry] of this.#entries) {
      const fits = this.#entries.size <= entriesMax && this.#chars <= charsMax;
      if (fits && nowMs - entry.atMs < ageMsMax) break;
      this.#drop(oldest);
    }
  }

  find(tenant: string, callId: string, nowMs: number): Result | undefined {
    const entry = this.#entries.get(keyOf(tenant, callId));
    return entry === undefined || nowMs - entry.atMs >= ageMsMax ? undefined : entry.result;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#chars -= charsOf(entry.result);
    this.#entries.delete(key);
  }
}

/** Call ids are unique in a tenant only: a worker of the platform must not answer one tenant with another's result. */
function keyOf(tenant: string, callId: string): string {
  return `${callId} ${tenant}`;
}

export function charsOf(result: Result): number {
  return (result.outputJson?.length ?? 0) + (result.error?.detailsJson?.length ?? 0);
}

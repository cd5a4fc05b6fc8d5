// Remembers for a while which calls this worker has done, so that another lease of one is answered and not run again.
import type { Result } from "@signalbox/protocol";

const entriesMax = 10_000;
const ageMsMax = 10 * 60_000;
/** Guards the memory against ten thousand results of a megabyte. */
const charsMax = 64 * 1024 * 1024;

interface Entry<Value> {
  readonly value: Value;
  readonly atMs: number;
  readonly chars: number;
}

/** The youngest entries, oldest first, as many as fit. */
class Recent<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  #chars = 0;

  set(key: string, value: Value, chars: number, nowMs: number): void {
    this.#drop(key);
    this.#entries.set(key, { value, atMs: nowMs, chars });
    this.#chars += chars;
    for (const [oldest, { atMs }] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#chars <= charsMax && nowMs - atMs < ageMsMax) break;
      this.#drop(oldest);
    }
  }

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || nowMs - entry.atMs >= ageMsMax ? undefined : entry.value;
  }

  #drop(key: string): void {
    this.#chars -= this.#entries.get(key)?.chars ?? 0;
    this.#entries.delete(key);
  }
}

/** Two memories, each of the last 10 000 calls and ten minutes; apart, so that a flood of reads pushes no result out. */
export class DoneWindow {
  readonly #results = new Recent<Result>();
  readonly #fences = new Recent<number>();

  /** Whatever became of the call: this lease of it is never run a second time. */
  ended(tenant: string, callId: string, fence: number, nowMs: number): void {
    this.#fences.set(keyOf(tenant, callId), fence, 0, nowMs);
  }

  /** The last fence under which the call ended here; 0 when it did not. */
  lastFence(tenant: string, callId: string, nowMs: number): number {
    return this.#fences.get(keyOf(tenant, callId), nowMs) ?? 0;
  }

  /**
   * Keeps the result of a succeeded call that changes the world. Why only those: a read is cheap to repeat, and a stale
   * one would be wrong; a failed call that comes back under a new lease is a deliberate retry. A succeeded write that
   * comes back means that the runtime lost our answer: running it again would do it twice.
   */
  keep(tenant: string, result: Result, nowMs: number): void {
    this.#results.set(keyOf(tenant, result.callId), result, charsOf(result), nowMs);
  }

  result(tenant: string, callId: string, nowMs: number): Result | undefined {
    return this.#results.get(keyOf(tenant, callId), nowMs);
  }
}

/** Call ids are unique in a tenant only: a worker of the platform must not answer one tenant with another's result. */
function keyOf(tenant: string, callId: string): string {
  return `${callId} ${tenant}`;
}

export function charsOf(result: Result): number {
  return (result.outputJson?.length ?? 0) + (result.error?.detailsJson?.length ?? 0);
}

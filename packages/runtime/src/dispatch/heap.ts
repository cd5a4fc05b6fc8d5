// A binary heap of instants: which call needs looking at first.

export interface Due<T> {
  readonly at: number;
  readonly what: T;
}

/** Entries are not removed when they become stale; whoever pops one looks whether it still holds. */
export class DueHeap<T> {
  readonly #entries: Due<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** Infinity when empty. */
  nextAt(): number {
    return this.#entries[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  push(at: number, what: T): void {
    const entries = this.#entries;
    let i = entries.length;
    const entry = { at, what };
    entries.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = entries[parent] as Due<T>;
      if (above.at <= at) break;
      entries[i] = above;
      i = parent;
    }
    entries[i] = entry;
  }

  /** Takes the earliest entry at or before `now`. */
  popDue(now: number): T | undefined {
    const entries = this.#entries;
    const top = entries[0];
    if (top === undefined || top.at > now) return undefined;
    const last = entries.pop() as Due<T>;
    if (entries.length > 0) this.#sink(last);
    return top.what;
  }

  #sink(entry: Due<T>): void {
    const entries = this.#entries;
    const size = entries.length;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && (entries[child + 1] as Due<T>).at < (entries[child] as Due<T>).at) child++;
      if ((entries[child] as Due<T>).at >= entry.at) break;
      entries[i] = entries[child] as Due<T>;
      i = child;
    }
    entries[i] = entry;
  }
}

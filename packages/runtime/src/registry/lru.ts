// A bounded map that forgets what was not asked for the longest.

export class Lru<Key, Value> {
  readonly #entriesMax: number;
  /** A Map keeps insertion order: the first entry is the oldest. */
  readonly #entries = new Map<Key, Value>();

  constructor(entriesMax: number) {
    if (!Number.isInteger(entriesMax) || entriesMax < 1) throw new RangeError("entriesMax must be a positive integer");
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Gives the key that had to make room, if one had to. */
  set(key: Key, value: Value): Key | undefined {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return undefined;
    const oldest = this.#entries.keys().next();
    if (oldest.done === true) return undefined;
    this.#entries.delete(oldest.value);
    return oldest.value;
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}

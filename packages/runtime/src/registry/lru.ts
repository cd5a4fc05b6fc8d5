// A bounded map that forgets what was not asked for the longest.

export class Lru<Key, Value> {
  readonly #weightMax: number;
  readonly #weigh: (value: Value) => number;
  #weight = 0;
  /** A Map keeps insertion order: the first entry is the oldest. */
  readonly #entries = new Map<Key, Value>();

  /** @param weigh an entry's weight, which never changes; without it all entries weigh 1 */
  constructor(weightMax: number, weigh: (value: Value) => number = () => 1) {
    if (!Number.isInteger(weightMax) || weightMax < 1) throw new RangeError("weightMax must be a positive integer");
    this.#weightMax = weightMax;
    this.#weigh = weigh;
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

  /** What alone weighs more than all may is not kept. */
  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weigh(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#weightMax) return;
      this.delete(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weigh(value);
  }
}

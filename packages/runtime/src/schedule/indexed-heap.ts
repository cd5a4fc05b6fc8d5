// A binary heap that knows where its items are, so that any of them can be moved or taken out.

/** Every operation that changes it is O(log n); `before` is a strict order of the items as they are when it is asked. */
export class IndexedHeap<T extends object> {
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();
  readonly #before: (one: T, other: T) => boolean;

  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  has(item: T): boolean {
    return this.#places.has(item);
  }

  /** As the heap lies: 0 is the first of all, and what lies at `n` comes before what lies at `2n + 1` and `2n + 2`. */
  at(place: number): T | undefined {
    return this.#items[place];
  }

  first(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item, or moves it to where it belongs now. */
  put(item: T): void {
    const place = this.#places.get(item) ?? this.#items.push(item) - 1;
    this.#sink(item, this.#rise(item, place));
  }

  delete(item: T): boolean {
    const place = this.#places.get(item);
    if (place === undefined) return false;
    this.#places.delete(item);
    const last = this.#items.pop() as T;
    if (last !== item) this.#sink(last, this.#rise(last, place));
    return true;
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.delete(first);
    return first;
  }

  #rise(item: T, from: number): number {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#before(item, above)) break;
      this.#lay(above, place);
      place = parent;
    }
    return place;
  }

  #sink(item: T, from: number): void {
    const size = this.#items.length;
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#before(this.#items[child + 1] as T, this.#items[child] as T)) child++;
      const below = this.#items[child] as T;
      if (!this.#before(below, item)) break;
      this.#lay(below, place);
      place = child;
    }
    this.#lay(item, place);
  }

  #lay(item: T, place: number): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }
}

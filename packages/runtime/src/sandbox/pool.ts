// Boxes that wait ready-made, by class: used once, replaced in the background, dropped when nobody asks for their class any more.
import type { BoxSpec } from "./types.ts";

export interface PoolPorts<Item> {
  /** Makes one ready box of the class of `spec`. */
  start(spec: BoxSpec): Promise<Item>;
  discard(item: Item): Promise<void>;
  /** False for a box that died while it waited. */
  isFit(item: Item): boolean;
  now(): number;
  onError(error: Error): void;
}

export interface PoolLimits {
  /** Kept for a class that was asked for lately, unless `want` says another number. */
  readonly perClass: number;
  /** Of all classes together. */
  readonly itemsMax: number;
  /** A class that was not asked for in this time keeps none. */
  readonly idleMs: number;
  /** Made at one time: the machine belongs to those who run. */
  readonly startsMax: number;
}

interface Shelf<Item> {
  readonly spec: BoxSpec;
  readonly items: Item[];
  wanted: number;
  /** What it is wanted to be again when it made room and somebody asks. */
  floor: number;
  starting: number;
  askedAt: number;
  /** A class that cannot be made is not tried again until somebody asks for it. */
  failed: boolean;
}

/**
 * Boxes of one class are the same to the last byte: same code, runtime, limits and environment. The tenant stands in it as
 * well: a parked box has a tool's code in it, and code is its tenant's.
 */
export function poolClass(spec: BoxSpec): string {
  const { tenant, tool, version, runtime, entry, limits, env } = spec;
  const sorted = (fields: object): unknown => Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([tenant, tool, version, runtime, entry, spec.package?.digest, sorted(limits), sorted(env)]);
}

export class Pool<Item> {
  readonly #ports: PoolPorts<Item>;
  readonly #limits: PoolLimits;
  readonly #shelves = new Map<string, Shelf<Item>>();
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  constructor(ports: PoolPorts<Item>, limits: PoolLimits) {
    this.#ports = ports;
    this.#limits = limits;
  }

  #shelf(spec: BoxSpec, wanted: number): Shelf<Item> {
    const key = poolClass(spec);
    const there = this.#shelves.get(key);
    if (there !== undefined) return there;
    const shelf = { spec, items: [], wanted, floor: wanted, starting: 0, askedAt: this.#ports.now(), failed: false };
    this.#shelves.set(key, shelf);
    return shelf;
  }

  #count(what: (shelf: Shelf<Item>) => number): number {
    return [...this.#shelves.values()].reduce((sum, shelf) => sum + what(shelf), 0);
  }

  get parked(): number {
    return this.#count(({ items }) => items.length);
  }

  /** One that is ready, which is the caller's from here on; undefined = make one. Another is made in its place. */
  take(spec: BoxSpec): Item | undefined {
    // A socket belongs to one box alone, and a parked one has none.
    if (this.#closed || spec.egressSocket !== null) return undefined;
    const shelf = this.#shelf(spec, this.#limits.perClass);
    shelf.askedAt = this.#ports.now();
    shelf.failed = false;
    shelf.wanted = Math.max(shelf.wanted, shelf.floor);
    let item = shelf.items.pop();
    while (item !== undefined && !this.#ports.isFit(item)) {
      this.#drop(item);
      item = shelf.items.pop();
    }
    return item;
  }

  /** Makes what is missing; to be called when nobody waits for it. */
  refill(): void {
    for (const shelf of this.#shelves.values()) {
      while (this.#mayStart(shelf)) this.#start(shelf);
    }
  }

  #mayStart(shelf: Shelf<Item>): boolean {
    const { itemsMax, startsMax } = this.#limits;
    const starting = this.#count((each) => each.starting);
    if (this.#closed || shelf.failed || starting >= startsMax) return false;
    if (shelf.items.length + shelf.starting >= shelf.wanted) return false;
    return this.parked + starting < itemsMax || this.#makeRoom(shelf);
  }

  /** Whoever was asked for before everybody else makes room; nobody does for a class that was asked for even earlier. */
  #makeRoom(shelf: Shelf<Item>): boolean {
    const others = [...this.#shelves.values()].filter(
      ({ items, askedAt }) => items.length > 0 && askedAt < shelf.askedAt,
    );
    const [oldest] = others.toSorted((a, b) => a.askedAt - b.askedAt);
    const item = oldest?.items.pop();
    if (oldest === undefined || item === undefined) return false;
    oldest.wanted = oldest.items.length;
    this.#drop(item);
    return true;
  }

  #start(shelf: Shelf<Item>): void {
    shelf.starting += 1;
    const start = async (): Promise<void> => {
      try {
        const item = await this.#ports.start(shelf.spec);
        if (this.#closed) await this.#ports.discard(item);
        else shelf.items.push(item);
      } catch (error) {
        shelf.failed = true;
        this.#ports.onError(error instanceof Error ? error : new Error(String(error)));
      } finally {
        shelf.starting -= 1;
      }
      this.refill();
    };
    this.#track(start());
  }

  #drop(item: Item): void {
    this.#track(this.#ports.discard(item).catch((error: unknown) => this.#ports.onError(error as Error)));
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /** This many of a class, from now on; 0 = none, and those that wait go. */
  want(spec: BoxSpec, count: number): void {
    const shelf = this.#shelf(spec, count);
    shelf.wanted = count;
    shelf.floor = count;
    shelf.askedAt = this.#ports.now();
    shelf.failed = false;
    for (const item of shelf.items.splice(count)) this.#drop(item);
    this.refill();
  }

  /** Drops classes that nobody asked for lately. */
  sweep(): void {
    for (const [key, shelf] of this.#shelves) {
      if (this.#ports.now() - shelf.askedAt < this.#limits.idleMs || shelf.starting > 0) continue;
      this.#shelves.delete(key);
      for (const item of shelf.items) this.#drop(item);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const shelf of this.#shelves.values()) for (const item of shelf.items.splice(0)) this.#drop(item);
    await Promise.all(this.#running);
  }
}

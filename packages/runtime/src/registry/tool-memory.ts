// What the ledger says of tools, kept in memory until somebody says that a tool has changed.
import { Lru } from "./lru.ts";
import { orderVersions, pickVersion, type OrderedVersion, type Picked } from "./pick.ts";
import type { ListedVersion, ToolRecord, ToolVersion } from "./types.ts";

export interface ToolReads {
  tool(tenant: string, tool: string): Promise<ToolRecord | undefined>;
  toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined>;
  toolVersions(tenant: string, tool: string): Promise<readonly ListedVersion[]>;
}

export interface ToolMemorySizes {
  readonly toolsMax: number;
  readonly versionsMax: number;
  /** Entries of all lists of versions together. */
  readonly listedMax: number;
  readonly picksMax: number;
}

/** What was read of one tool since it last changed; a change puts a new shelf in its place. */
interface Shelf {
  record?: Promise<ToolRecord | undefined>;
  /** While it is being read: who asks meanwhile waits for the same list. */
  listing?: Promise<Listing>;
}

interface Listing {
  readonly ordered: readonly OrderedVersion[];
  readonly picks: Map<string, Picked>;
}

/** Belongs to the shelf; once that one is gone it says nothing any more. */
interface Of<Value> {
  readonly shelf: Shelf;
  readonly value: Value;
}

// Neither tenants, tools nor versions hold a line feed.
const keyOf = (...parts: readonly string[]): string => parts.join("\n");

/**
 * Whatever was read before a change hangs on the shelf of before, so an answer that was on its way when the tool changed
 * is never kept. It knows nothing of changes by other replicas: whoever hears of one calls `forget`.
 */
export class ToolMemory {
  readonly #reads: ToolReads;
  readonly #picksMax: number;
  readonly #shelves: Lru<string, Shelf>;
  readonly #versions: Lru<string, Of<ToolVersion>>;
  readonly #listings: Lru<string, Of<Listing>>;

  constructor(reads: ToolReads, sizes: ToolMemorySizes) {
    this.#reads = reads;
    this.#picksMax = sizes.picksMax;
    this.#shelves = new Lru(sizes.toolsMax);
    this.#versions = new Lru(sizes.versionsMax);
    this.#listings = new Lru(sizes.listedMax, ({ value }) => value.ordered.length + 1);
  }

  forget(tenant: string, tool: string): void {
    this.#shelves.delete(keyOf(tenant, tool));
  }

  /** Another replica has changed something, and nobody says what. */
  forgetAll(): void {
    this.#shelves.clear();
  }

  /** The tool's record in this tenant alone; that there is none is remembered as well. */
  record(tenant: string, tool: string): Promise<ToolRecord | undefined> {
    const shelf = this.#shelf(tenant, tool);
    return (shelf.record ??= this.#kept(tenant, tool, shelf, this.#reads.tool(tenant, tool)));
  }

  /** Only what may run is remembered; to look again at the rest costs little beside its refusal. */
  async version(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined> {
    const shelf = this.#shelf(tenant, tool);
    const key = keyOf(tenant, tool, version);
    const known = this.#versions.get(key);
    if (known?.shelf === shelf) return known.value;
    const value = await this.#reads.toolVersion(tenant, tool, version);
    if (value !== undefined && value.status !== "quarantined" && this.#isCurrent(tenant, tool, shelf))
      this.#versions.set(key, { shelf, value });
    return value;
  }

  /** Newest first. */
  async versions(tenant: string, tool: string): Promise<readonly OrderedVersion[]> {
    return (await this.#listing(tenant, tool)).ordered;
  }

  /** @param requested a range, or empty for the newest stable version */
  async pick(tenant: string, tool: string, requested: string): Promise<Picked> {
    const { ordered, picks } = await this.#listing(tenant, tool);
    const known = picks.get(requested);
    if (known !== undefined) return known;
    const picked = pickVersion(ordered, requested);
    if (picks.size >= this.#picksMax) picks.clear();
    picks.set(requested, picked);
    return picked;
  }

  async #listing(tenant: string, tool: string): Promise<Listing> {
    const shelf = this.#shelf(tenant, tool);
    const key = keyOf(tenant, tool);
    const known = this.#listings.get(key);
    if (known?.shelf === shelf) return known.value;
    shelf.listing ??= this.#kept(tenant, tool, shelf, this.#readListing(tenant, tool));
    const value = await shelf.listing;
    // From here on the list may make room for others, which a shelf would not let it.
    delete shelf.listing;
    if (this.#isCurrent(tenant, tool, shelf)) this.#listings.set(key, { shelf, value });
    return value;
  }

  async #readListing(tenant: string, tool: string): Promise<Listing> {
    return { ordered: orderVersions(await this.#reads.toolVersions(tenant, tool)), picks: new Map() };
  }

  #shelf(tenant: string, tool: string): Shelf {
    const key = keyOf(tenant, tool);
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const shelf: Shelf = {};
    this.#shelves.set(key, shelf);
    return shelf;
  }

  #isCurrent(tenant: string, tool: string, shelf: Shelf): boolean {
    return this.#shelves.get(keyOf(tenant, tool)) === shelf;
  }

  /** A read that failed must not stand there as the answer. */
  #kept<T>(tenant: string, tool: string, shelf: Shelf, reading: Promise<T>): Promise<T> {
    reading.catch(() => {
      if (this.#isCurrent(tenant, tool, shelf)) this.forget(tenant, tool);
    });
    return reading;
  }
}

// The waiting line: one lane per tool version, each in the order of its tags.

interface Entry {
  readonly tenant: string;
  readonly project: string;
  readonly callId: string;
  readonly startTag: number;
  readonly notBefore: number;
}

interface Lane {
  entries: Entry[];
  /** Entries before it are gone; the array is cut when half of it is. */
  head: number;
}

/** First come, first served by tag: tags are given in order of admission, and a call that is queued again keeps its tag. */
export class Line {
  readonly #lanes = new Map<string, Lane>();
  readonly #depth = new Map<string, number>();
  #tag = 0;

  nextTag(): number {
    return ++this.#tag;
  }

  saw(tag: number): void {
    if (tag > this.#tag) this.#tag = tag;
  }

  depth(tenant: string): number {
    return this.#depth.get(tenant) ?? 0;
  }

  waits(laneKey: string): boolean {
    return this.#lanes.has(laneKey);
  }

  add(laneKey: string, entry: Entry): void {
    let lane = this.#lanes.get(laneKey);
    if (lane === undefined) this.#lanes.set(laneKey, (lane = { entries: [], head: 0 }));
    lane.entries.splice(this.#place(lane, entry), 0, entry);
    this.#depth.set(entry.tenant, this.depth(entry.tenant) + 1);
  }

  remove(laneKey: string, entry: Pick<Entry, "tenant" | "callId" | "startTag">): void {
    const lane = this.#lanes.get(laneKey);
    if (lane === undefined) return;
    const at = this.#find(lane, entry);
    if (at < 0) return;
    if (at === lane.head) lane.head++;
    else lane.entries.splice(at, 1);
    if (lane.head * 2 > lane.entries.length) {
      lane.entries = lane.entries.slice(lane.head);
      lane.head = 0;
    }
    if (lane.entries.length === lane.head) this.#lanes.delete(laneKey);
    const left = this.depth(entry.tenant) - 1;
    if (left <= 0) this.#depth.delete(entry.tenant);
    else this.#depth.set(entry.tenant, left);
  }

  /** Good until the line next changes. */
  *peek(laneKey: string, lookAheadMax: number): Iterable<Entry> {
    const lane = this.#lanes.get(laneKey);
    if (lane === undefined) return;
    const end = Math.min(lane.entries.length, lane.head + lookAheadMax);
    for (let at = lane.head; at < end; at++) yield lane.entries[at] as Entry;
  }

  /** Where the entry belongs: behind every entry of a smaller or equal tag. */
  #place(lane: Lane, entry: Pick<Entry, "startTag">): number {
    let low = lane.head;
    let high = lane.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((lane.entries[middle] as Entry).startTag <= entry.startTag) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #find(lane: Lane, entry: Pick<Entry, "tenant" | "callId" | "startTag">): number {
    for (let at = this.#place(lane, entry) - 1; at >= lane.head; at--) {
      const found = lane.entries[at] as Entry;
      if (found.startTag !== entry.startTag) return -1;
      if (found.callId === entry.callId && found.tenant === entry.tenant) return at;
    }
    return -1;
  }
}

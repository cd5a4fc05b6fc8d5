// Looks down a lane in fair order, from the best to the worst, without taking anything out.
import { isCallBefore, rankAt, type Lane, type Queue, type Stand } from "./fair-nodes.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import type { Gate, Waiting } from "./types.ts";

/** So many calls of one tenant are looked at before those of others are, however much sooner it is its turn. */
const ofOneTenantMax = 16;

/** A call, and where it stands among those of all tenants. */
export interface Ranked {
  readonly key: number;
  readonly order: number;
  readonly rank: number;
  readonly call: Waiting;
}

/** Stands for what is at one place of a heap and below it: nothing there comes before its own call. */
type Spot = Ranked &
  (
    | { readonly level: "stand"; readonly at: number }
    | { readonly level: "queue"; readonly at: number; readonly stand: Stand }
    | { readonly level: "call"; readonly at: number; readonly queue: Queue }
  );

export function isRankedBefore(one: Ranked, other: Ranked): boolean {
  if (one.key !== other.key) return one.key < other.key;
  if (one.order !== other.order) return one.order < other.order;
  return one.rank === other.rank ? isCallBefore(one.call, other.call) : one.rank < other.rank;
}

export interface Held {
  readonly stands: Stand[];
  readonly queues: Queue[];
}

/** At most `callsMax` calls. What the gate holds back is left out, not counted, and noted in `held`. */
export class Walk {
  readonly held: Held = { stands: [], queues: [] };
  readonly #lane: Lane;
  readonly #now: number;
  readonly #gate: Gate;
  readonly #frontier = new IndexedHeap<Spot>(isRankedBefore);
  readonly #seen = new Map<Stand, number>();
  #aside: Spot[] = [];
  #ofOneMax = ofOneTenantMax;

  constructor(lane: Lane, now: number, gate: Gate) {
    this.#lane = lane;
    this.#now = now;
    this.#gate = gate;
    this.#addStand(0);
  }

  *calls(callsMax: number): Iterable<Waiting> {
    for (let left = callsMax; left > 0;) {
      const spot = this.#next();
      if (spot === undefined) return;
      if (spot.level === "stand") this.#openStand(spot.at);
      else if (spot.level === "queue") this.#openQueue(spot.stand, spot.at);
      else if (this.#isAside(spot)) this.#aside.push(spot);
      else {
        this.#addCall(spot.queue, 2 * spot.at + 1);
        this.#addCall(spot.queue, 2 * spot.at + 2);
        left--;
        yield spot.call;
      }
    }
  }

  /** Those that were put aside come when there is nobody else. */
  #next(): Spot | undefined {
    if (this.#frontier.size === 0 && this.#aside.length > 0) {
      this.#ofOneMax = Number.POSITIVE_INFINITY;
      for (const spot of this.#aside) this.#frontier.put(spot);
      this.#aside = [];
    }
    return this.#frontier.pop();
  }

  #isAside({ queue: { stand } }: Extract<Spot, { level: "call" }>): boolean {
    const seen = this.#seen.get(stand) ?? 0;
    if (seen >= this.#ofOneMax) return true;
    this.#seen.set(stand, seen + 1);
    return false;
  }

  #openStand(at: number): void {
    const stand = this.#lane.stands.at(at) as Stand;
    this.#addStand(2 * at + 1);
    this.#addStand(2 * at + 2);
    if (this.#gate.holdsTenant(stand.turns.tenant)) this.held.stands.push(stand);
    else this.#addQueue(stand, 0);
  }

  #openQueue(stand: Stand, at: number): void {
    const queue = stand.queues.at(at) as Queue;
    this.#addQueue(stand, 2 * at + 1);
    this.#addQueue(stand, 2 * at + 2);
    if (this.#gate.holds(queue.calls.first() as Waiting)) this.held.queues.push(queue);
    else this.#addCall(queue, 0);
  }

  #addStand(at: number): void {
    const stand = this.#lane.stands.at(at);
    if (stand === undefined) return;
    const first = stand.queues.first() as Queue;
    this.#frontier.put({ level: "stand", at, key: stand.key, order: stand.turns.order, rank: first.rank, call: first.calls.first() as Waiting });
  }

  #addQueue(stand: Stand, at: number): void {
    const queue = stand.queues.at(at);
    if (queue === undefined) return;
    this.#frontier.put({ level: "queue", at, stand, ...this.#rank(stand, queue.rank, queue.calls.first() as Waiting) });
  }

  #addCall(queue: Queue, at: number): void {
    const call = queue.calls.at(at);
    if (call === undefined) return;
    const rank = rankAt(queue.classRank, call.admittedAt, this.#now);
    this.#frontier.put({ level: "call", at, queue, ...this.#rank(queue.stand, rank, call) });
  }

  #rank({ turns, start }: Stand, rank: number, call: Waiting): Ranked {
    return { key: start + rank, order: turns.order, rank, call };
  }
}

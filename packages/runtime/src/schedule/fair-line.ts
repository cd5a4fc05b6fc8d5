// The fair waiting line: tenants take turns by their weights, and within a tenant the class and age of a call decide.
import { agesAt, classRanks, newLane, newQueue, newStand, queueKeyOf, rankAt, type Lane, type Queue, type Stand } from "./fair-nodes.ts";
import { isRankedBefore, Walk, type Held, type Ranked } from "./fair-walk.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import { Turns, type TenantTurns } from "./tenant-turns.ts";
import type { CallPlace, Gate, Waiting } from "./types.ts";

/** A call in line: in a queue, or, before its instant, beside it. */
interface Entry {
  readonly call: Waiting;
  readonly queue: Queue;
}

/**
 * Start-time fair queueing over tenants. A turn is its tenant's, whichever lane, project or tool it is taken in. Pure and
 * deterministic: `now` is wall clock, ms since 1970, and never goes back. Every operation costs the logarithm of what waits, times
 * the lanes in which the tenant waits where its turn moves.
 */
export class FairLine {
  readonly #turns = new Turns();
  readonly #lanes = new Map<string, Lane>();
  readonly #entries = new Map<string, Entry>();
  /** Where a tenant waits. */
  readonly #stands = new Map<string, Set<Stand>>();
  /** What is held back, by tenant; it stands in no heap till it is woken. */
  readonly #held = new Map<string, Set<Stand | Queue>>();
  readonly #delayed = new IndexedHeap<Entry>((one, other) => one.call.notBefore < other.call.notBefore);
  readonly #ageing = new IndexedHeap<Queue>((one, other) => one.agesAt < other.agesAt);
  /** The last instant that anybody told. */
  #now = 0;

  /** Until it is said otherwise, a tenant weighs 1. */
  weigh(tenant: string, weight: number): void {
    const turns = this.#turns.of(tenant);
    if (turns.weight === weight) return;
    this.#turns.weigh(turns, weight);
    this.#moved(tenant);
  }

  nextTag(tenant: string): number {
    this.#settle();
    return this.#turns.nextTag(this.#turns.of(tenant));
  }

  /** The tag of the turn in which the call would be served now. */
  turnOf({ tenant }: Pick<Waiting, "tenant">): number {
    this.#settle();
    return this.#turns.turnOf(this.#turns.of(tenant));
  }

  /** One of its calls goes to a worker. */
  takeTurn(tenant: string): void {
    this.#settle();
    this.#turns.take(this.#turns.of(tenant));
    this.#moved(tenant);
  }

  /** A call that the ledger has, before anything else is asked: those that wait, and those that a worker has. In order of their tags. */
  saw({ tenant, startTag }: Pick<Waiting, "tenant" | "startTag">, leased: boolean): void {
    this.#turns.saw(this.#turns.of(tenant), startTag, leased);
  }

  depth(tenant: string): number {
    return this.#turns.waitingOf(tenant);
  }

  waits(laneKey: string): boolean {
    return this.#lanes.has(laneKey);
  }

  add(laneKey: string, call: Waiting): void {
    const key = entryKey(call);
    if (this.#entries.has(key)) return;
    const turns = this.#turns.of(call.tenant);
    this.#turns.joins(turns);
    const queue = this.#queueOf(this.#standOf(laneKey, turns), call);
    const entry = { call, queue };
    queue.size++;
    this.#entries.set(key, entry);
    // It is at least as late as when the call was admitted, whether or not anybody has told since.
    if (call.notBefore > Math.max(this.#now, call.admittedAt)) return this.#delayed.put(entry);
    queue.calls.put(call);
    this.#refresh(queue);
  }

  remove(laneKey: string, call: Pick<Waiting, "tenant" | "callId">): void {
    const key = entryKey(call);
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.queue.stand.lane.laneKey !== laneKey) return;
    this.#entries.delete(key);
    this.#turns.leaves(entry.queue.stand.turns);
    entry.queue.size--;
    if (!this.#delayed.delete(entry)) entry.queue.calls.delete(entry.call);
    this.#refresh(entry.queue);
    this.#tidy(entry.queue);
  }

  /** The first calls of a lane in fair order, without those that the gate holds back; good until the line next changes. */
  *peek(laneKey: string, lookAheadMax: number, now: number, gate: Gate): Iterable<Waiting> {
    this.#settle();
    this.#passTo(now);
    const lane = this.#lanes.get(laneKey);
    if (lane === undefined) return;
    const walk = new Walk(lane, this.#now, gate);
    try {
      yield* walk.calls(lookAheadMax);
    } finally {
      this.#hold(walk.held);
    }
  }

  /** Between calls of two lanes, or two looks. */
  isBefore(one: Waiting, other: Waiting, now: number): boolean {
    return isRankedBefore(this.#ranked(one, now), this.#ranked(other, now));
  }

  /** What was held back is asked about anew: of the whole tenant, and of the queues that share the project or the tool; of all, if none is named. */
  wake(place?: Pick<CallPlace, "tenant" | "project" | "tool">): void {
    const tenants = place === undefined ? [...this.#held.keys()] : [place.tenant];
    for (const tenant of tenants) {
      for (const held of this.#held.get(tenant) ?? []) if (place === undefined || concerns(place, held)) this.#release(tenant, held);
    }
  }

  #release(tenant: string, held: Stand | Queue): void {
    held.held = false;
    this.#forgetHeld(tenant, held);
    if ("queues" in held) this.#place(held);
    else this.#refresh(held);
  }

  #hold({ stands, queues }: Held): void {
    for (const stand of stands) {
      stand.held = true;
      this.#noteHeld(stand.turns.tenant, stand);
      this.#place(stand);
    }
    for (const queue of queues) {
      queue.held = true;
      this.#noteHeld(queue.stand.turns.tenant, queue);
      this.#refresh(queue);
    }
  }

  #noteHeld(tenant: string, what: Stand | Queue): void {
    const held = this.#held.get(tenant);
    if (held === undefined) this.#held.set(tenant, new Set([what]));
    else held.add(what);
  }

  #forgetHeld(tenant: string, what: Stand | Queue): void {
    const held = this.#held.get(tenant);
    held?.delete(what);
    if (held?.size === 0) this.#held.delete(tenant);
  }

  #ranked(call: Waiting, now: number): Ranked {
    const turns = this.#turns.of(call.tenant);
    const rank = rankAt(classRanks[call.priority], call.admittedAt, now);
    return { key: this.#turns.startOf(turns) + rank, order: turns.order, rank, call };
  }

  #settle(): void {
    if (!this.#turns.settle()) return;
    for (const tenant of this.#stands.keys()) this.#moved(tenant);
  }

  /** Calls whose instant has come go to their queues; queues whose first call has aged go up. */
  #passTo(now: number): void {
    if (now > this.#now) this.#now = now;
    for (let next = this.#delayed.first(); next !== undefined && next.call.notBefore <= this.#now; next = this.#delayed.first()) {
      this.#delayed.pop();
      next.queue.calls.put(next.call);
      this.#refresh(next.queue);
    }
    for (let next = this.#ageing.first(); next !== undefined && next.agesAt <= this.#now; next = this.#ageing.first()) this.#refresh(next);
  }

  /** The tenant's turn is another now, in all lanes. */
  #moved(tenant: string): void {
    for (const stand of this.#stands.get(tenant) ?? []) this.#place(stand);
  }

  #standOf(laneKey: string, turns: TenantTurns): Stand {
    let lane = this.#lanes.get(laneKey);
    if (lane === undefined) this.#lanes.set(laneKey, (lane = newLane(laneKey)));
    const known = lane.byTenant.get(turns.tenant);
    if (known !== undefined) return known;
    const stand = newStand(lane, turns);
    lane.byTenant.set(turns.tenant, stand);
    const stands = this.#stands.get(turns.tenant);
    if (stands === undefined) this.#stands.set(turns.tenant, new Set([stand]));
    else stands.add(stand);
    return stand;
  }

  #queueOf(stand: Stand, call: Waiting): Queue {
    const key = queueKeyOf(call);
    let queue = stand.byKey.get(key);
    if (queue === undefined) stand.byKey.set(key, (queue = newQueue(stand, key, call)));
    return queue;
  }

  /** After a change of its calls, or of the time. */
  #refresh(queue: Queue): void {
    const { stand, calls, classRank } = queue;
    const first = calls.first();
    if (first === undefined || queue.held) {
      this.#ageing.delete(queue);
      stand.queues.delete(queue);
    } else {
      queue.rank = rankAt(classRank, first.admittedAt, this.#now);
      queue.agesAt = agesAt(classRank, first.admittedAt, queue.rank);
      if (queue.agesAt === Number.POSITIVE_INFINITY) this.#ageing.delete(queue);
      else this.#ageing.put(queue);
      stand.queues.put(queue);
    }
    this.#place(stand);
  }

  /** Puts the stand where its first call belongs, or takes it out of the lane's order while it has none that could be served. */
  #place(stand: Stand): void {
    const first = stand.queues.first();
    if (first === undefined || stand.held) return void stand.lane.stands.delete(stand);
    stand.start = this.#turns.startOf(stand.turns);
    stand.key = stand.start + first.rank;
    stand.lane.stands.put(stand);
  }

  /** Nothing is kept of a queue, a stand or a lane in which nobody waits. */
  #tidy(queue: Queue): void {
    const { stand } = queue;
    const { lane, turns } = stand;
    if (queue.size > 0) return;
    stand.byKey.delete(queue.key);
    this.#forgetHeld(turns.tenant, queue);
    if (stand.byKey.size > 0) return;
    lane.byTenant.delete(turns.tenant);
    this.#forgetHeld(turns.tenant, stand);
    const stands = this.#stands.get(turns.tenant);
    stands?.delete(stand);
    if (stands?.size === 0) this.#stands.delete(turns.tenant);
    if (lane.byTenant.size === 0) this.#lanes.delete(lane.laneKey);
  }
}

/** No tenant's name holds the separator. */
function entryKey({ tenant, callId }: Pick<Waiting, "tenant" | "callId">): string {
  return `${tenant}\u0000${callId}`;
}

function concerns({ project, tool }: Pick<CallPlace, "project" | "tool">, held: Stand | Queue): boolean {
  return "queues" in held || held.place.project === project || held.place.tool === tool;
}

// What is looked at after every step: slots of workers in every replica's memory, and who was passed over in the line.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import { laneOf } from "../../packages/runtime/src/dispatch/state.ts";
import type { SimWorker } from "../walk/sim-worker.ts";
import type { SharedStore } from "./shared-store.ts";
import { isStopped } from "./shared-claims.ts";
import type { SimReplica } from "./sim-replica.ts";

/** How many of its lane may go before a call that could have gone: those that start with their admission, and what a claim has left alone. */
const passedOverMax = 25;

export class Watch {
  readonly #store: SharedStore;
  readonly #workers: readonly SimWorker[];
  readonly #problem: (text: string) => void;
  /** By call: those of its lane that came after it and have gone to workers since it began to wait, while it could have gone. */
  readonly #passedOver = new Map<string, Set<string>>();
  /** The most times that any call was. */
  mostPassedOver = 0;
  #seenLeases = 0;

  constructor(store: SharedStore, workers: readonly SimWorker[], problem: (text: string) => void) {
    this.#store = store;
    this.#workers = workers;
    this.#problem = problem;
  }

  look(replicas: readonly (SimReplica | undefined)[]): void {
    for (const replica of replicas) if (replica !== undefined) this.#slots(replica);
    const { leases } = this.#store.rows;
    if (leases.size === this.#seenLeases) return;
    const fresh = [...leases].slice(this.#seenLeases);
    this.#seenLeases = leases.size;
    for (const lease of fresh) this.#dispatched(lease.slice(0, lease.lastIndexOf("#")), replicas);
  }

  #slots({ hub, name }: SimReplica): void {
    for (const { holding, capacity, workerId, handlers } of hub.sessions()) {
      // A worker that comes here from another replica brings results that were not answered yet: they take slots here, and none there.
      const worker = this.#workers.find((one) => one.workerId === workerId);
      const held = [...holding.values()].filter(({ callId, fence }) => worker?.hasEnded(callId, fence) !== true);
      if (held.length > capacity) this.#problem(`${name}: ${workerId} holds ${held.length} calls, where ${capacity} fit`);
      for (const [lane, { busy, maxConcurrency, tool }] of handlers) {
        const own = held.filter(({ laneKey }) => laneKey === lane).length;
        if (own > maxConcurrency) this.#problem(`${name}: ${workerId} has ${own} of ${tool}, where ${maxConcurrency} fit`);
        const counted = [...holding.values()].filter(({ laneKey }) => laneKey === lane).length;
        if (busy !== counted) this.#problem(`${name}: counts ${busy} of ${tool} at ${workerId}, which holds ${counted}`);
      }
    }
  }

  /** Rows stand in the order in which they came into the ledger. */
  #dispatched(callId: string, replicas: readonly (SimReplica | undefined)[]): void {
    const before: Call[] = [];
    for (const row of this.#store.rows.calls.values()) {
      if (row.callId === callId) {
        // What may go already, the replica that takes it says by its own clock.
        const taker = replicas.find((one) => one?.name === row.replica);
        return this.#passed(before, row, taker?.process.clock.now() ?? this.#store.time.now());
      }
      if (row.state === "queued") before.push(row);
    }
  }

  #passed(before: readonly Call[], gone: Call, now: number): void {
    // It waits anew whenever it comes back.
    this.#passedOver.delete(gone.callId);
    for (const row of before) {
      if (!this.#couldHaveGone(row, gone, now)) continue;
      const by = this.#passedOver.get(row.callId) ?? new Set();
      this.#passedOver.set(row.callId, by.add(gone.callId));
      this.mostPassedOver = Math.max(this.mostPassedOver, by.size);
      if (by.size === passedOverMax + 1) this.#problem(`${row.callId}: was passed over by more than ${passedOverMax} that came after it`);
    }
  }

  #couldHaveGone(row: Call, gone: Call, now: number): boolean {
    const free = row.replica === null || !this.#store.lives(row.replica);
    return free && laneOf(row) === laneOf(gone) && row.notBefore <= now && !isStopped(this.#store, row);
  }
}

// What is looked at after every step: slots of workers in every replica's memory, and who was passed over in the line.
import { laneOf } from "../../packages/runtime/src/dispatch/state.ts";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { SharedStore } from "./shared-store.ts";
import { isStopped } from "./shared-claims.ts";
import type { SimReplica } from "./sim-replica.ts";

export class Watch {
  readonly #store: SharedStore;
  readonly #problem: (text: string) => void;
  /** By call: how many of its lane that came after it have gone to workers while it waited and could have gone. */
  readonly passedOver = new Map<string, number>();
  #seenLeases = 0;

  constructor(store: SharedStore, problem: (text: string) => void) {
    this.#store = store;
    this.#problem = problem;
  }

  look(replicas: readonly (SimReplica | undefined)[]): void {
    for (const replica of replicas) if (replica !== undefined) this.#slots(replica);
    const { leases } = this.#store.rows;
    if (leases.size === this.#seenLeases) return;
    const fresh = [...leases].slice(this.#seenLeases);
    this.#seenLeases = leases.size;
    for (const lease of fresh) this.#dispatched(lease.slice(0, lease.lastIndexOf("#")));
  }

  #slots({ hub, name }: SimReplica): void {
    for (const { holding, capacity, workerId, handlers } of hub.sessions()) {
      if (holding.size > capacity) this.#problem(`${name}: ${workerId} holds ${holding.size} calls, where ${capacity} fit`);
      for (const { busy, maxConcurrency, tool } of handlers.values())
        if (busy > maxConcurrency + 1) this.#problem(`${name}: ${workerId} has ${busy} of ${tool}, where ${maxConcurrency} fit`);
    }
  }

  /** Rows stand in the order in which they came into the ledger. */
  #dispatched(callId: string): void {
    const before: Call[] = [];
    for (const row of this.#store.rows.calls.values()) {
      if (row.callId === callId) return this.#passed(before, row);
      if (row.state === "queued") before.push(row);
    }
  }

  #passed(before: readonly Call[], gone: Call): void {
    for (const row of before) if (this.#couldHaveGone(row, gone)) this.passedOver.set(row.callId, (this.passedOver.get(row.callId) ?? 0) + 1);
  }

  #couldHaveGone(row: Call, gone: Call): boolean {
    const free = row.replica === null || !this.#store.lives(row.replica);
    return free && laneOf(row) === laneOf(gone) && row.notBefore <= this.#store.time.now() && !isStopped(this.#store, row);
  }
}

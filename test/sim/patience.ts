// What must not last where nothing is in the way: calls that are with a replica which does not know of them, and waiters of calls that are over.
import { isParked, isTerminal, type Call } from "../../packages/runtime/src/call/types.ts";
import { keyOf } from "../walk/sim-ledger.ts";
import type { SharedStore } from "./shared-store.ts";
import type { SimReplica } from "./sim-replica.ts";

/** How long a replica that nothing disturbs may take; its sweeps come every second, its polls twice as often. */
const patienceMs = 5_000;
/** Beside it: how long a replica that has died counts as living. */
const deadMs = 2_000;
const lookEveryMs = 250;

export class Patience {
  readonly #store: SharedStore;
  readonly #problem: (text: string) => void;
  /** Since when neither the store nor a stand-still was in a replica's way. */
  readonly #calmSince = new Map<string, number>();
  /** Since when something is as it should not stay. */
  #since = new Map<string, number>();
  readonly #told = new Set<string>();
  #lookedAt = 0;

  constructor(store: SharedStore, problem: (text: string) => void) {
    this.#store = store;
    this.#problem = problem;
  }

  look(replicas: readonly (SimReplica | undefined)[]): void {
    const now = this.#store.time.now();
    const open = replicas.flatMap((one) => (one?.open === true ? [one] : []));
    for (const { name, process, connection } of open)
      if (this.#store.failing || process.stands || connection.away || !this.#calmSince.has(name)) this.#calmSince.set(name, now);
    if (now - this.#lookedAt < lookEveryMs) return;
    this.#lookedAt = now;
    const before = this.#since;
    this.#since = new Map();
    for (const row of this.#store.rows.calls.values()) if (row.state === "queued" && row.replica !== null) this.#knows(row, replicas, before);
    for (const replica of open) this.#tells(replica, before);
  }

  #knows(row: Call, replicas: readonly (SimReplica | undefined)[], before: ReadonlyMap<string, number>): void {
    const { tenant, callId, replica: name } = row;
    const holder = replicas.find((one) => one?.name === name);
    if (holder === undefined) {
      const calm = replicas.flatMap((one) => (one?.open === true ? [this.#calmSince.get(one.name) ?? 0] : []));
      // Any other that is well gives it to everybody.
      this.#lasts(`${callId}: is with ${name}, which is dead`, Math.min(...calm) + deadMs, before);
    } else if (holder.open && holder.hub.find(tenant, callId) === undefined) {
      this.#lasts(`${callId}: is with ${name}, which does not know of it`, this.#calmSince.get(holder.name) ?? 0, before);
    }
  }

  #tells({ name, driver, hub }: SimReplica, before: ReadonlyMap<string, number>): void {
    for (const call of driver.waiters.calls()) {
      // Till the lease is over it may take the call for its own, where the wake-up was lost.
      if (hub.find(call.tenant, call.callId) !== undefined) continue;
      const row = this.#store.rows.calls.get(keyOf(call));
      // A session goes on to wait for calls that people are asked about.
      if (row === undefined || !(isTerminal(row.state) || (isParked(row) && row.sessionId === ""))) continue;
      this.#lasts(`${call.callId}: is ${row.state}, and who waits for it at ${name} is not told`, this.#calmSince.get(name) ?? 0, before);
    }
  }

  #lasts(text: string, calmSince: number, before: ReadonlyMap<string, number>): void {
    const now = this.#store.time.now();
    const since = before.get(text) ?? now;
    this.#since.set(text, since);
    if (now - Math.max(since, calmSince) <= patienceMs || this.#told.has(text)) return;
    this.#told.add(text);
    this.#problem(text);
  }
}

// One replica's way to the shared store: commits and reads that take their time, fail, or go well without anybody hearing of it.
import {
  LedgerUnavailable,
  type CommitOutcome,
  type Ledger,
  type Unit,
} from "../../packages/runtime/src/ledger/port.ts";
import { newTenant } from "../../packages/runtime/src/tenancy/tenant.ts";
import type { Random } from "../walk/random.ts";
import type { SimTime } from "../walk/sim-time.ts";
import type { Books } from "./books.ts";
import { keyOf, type SimStore } from "./sim-store.ts";

/** `fail`: nothing is stored. `lie`: it is stored, and its caller is told that it is not. */
export type Trouble = "none" | "fail" | "lie";

export interface Pace {
  /** Longest way there, and longest way back. */
  latencyMs: number;
}

interface Underway {
  readonly unit: Unit;
  readonly trouble: Trouble;
  resolve(outcome: CommitOutcome): void;
  reject(error: Error): void;
}

const away = (): LedgerUnavailable => new LedgerUnavailable("the store is away");

export class SimLink {
  readonly life = { alive: true };
  trouble: Trouble = "none";
  readonly #store: SimStore;
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #pace: Pace;
  /** On their way to the store, in order. */
  #underway: Underway[] = [];
  #landsAt = 0;
  #answersAt = 0;
  #unsettled = 0;
  #flushing: (() => void)[] = [];

  constructor(world: {
    readonly store: SimStore;
    readonly time: SimTime;
    readonly random: Random;
    readonly pace: Pace;
  }) {
    this.#store = world.store;
    this.#time = world.time;
    this.#random = world.random;
    this.#pace = world.pace;
  }

  /** The process is gone: some of what it had sent still arrives, in order, and nobody hears of it. */
  cut(): void {
    this.life.alive = false;
    this.#underway = this.#underway.slice(0, this.#random.below(this.#underway.length + 1));
  }

  #way(): number {
    return this.#random.below(this.#pace.latencyMs + 1);
  }

  commit(unit: Unit): Promise<CommitOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    const item: Underway = { unit, trouble: this.trouble, resolve, reject };
    this.#underway.push(item);
    this.#unsettled++;
    this.#landsAt = Math.max(this.#landsAt, this.#time.now() + this.#way());
    this.#time.after(this.#landsAt - this.#time.now(), () => this.#arrive(item));
    return promise;
  }

  #arrive(item: Underway): void {
    if (!this.#underway.includes(item)) return;
    this.#underway.splice(this.#underway.indexOf(item), 1);
    if (item.trouble === "fail") return this.#answer(() => item.reject(away()));
    const outcome = this.#store.apply(item.unit);
    this.#answer(() => (item.trouble === "lie" ? item.reject(away()) : item.resolve(outcome)));
  }

  #answer(tell: () => void): void {
    this.#answersAt = Math.max(this.#answersAt, this.#time.now() + this.#way());
    this.#time.after(this.#answersAt - this.#time.now(), () => {
      this.#unsettled--;
      if (!this.life.alive) return;
      tell();
      if (this.#unsettled === 0) for (const wake of this.#flushing.splice(0)) wake();
    });
  }

  async #flush(): Promise<void> {
    if (this.#unsettled === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushing.push(resolve);
    await promise;
  }

  /** What is read is what stands there at one instant between the question and the answer. */
  #read<T>(look: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const isLost = this.trouble !== "none" && this.#random.chance(0.3);
    this.#time.after(this.#way(), () => {
      const found = look();
      this.#time.after(this.#way(), () => {
        if (!this.life.alive) return;
        if (isLost) reject(away());
        else resolve(found);
      });
    });
    return promise;
  }

  ledger({ tool, version, keys, grants, policies }: Books): Ledger {
    const store = this.#store;
    const { shelf } = store;
    const none = async (): Promise<readonly never[]> => [];
    const reads = {
      commit: (unit: Unit) => this.commit(unit),
      flush: () => this.#flush(),
      probe: async () => {
        if (this.trouble !== "none") throw away();
      },
      getCall: (tenant: string, callId: string) => this.#read(() => store.calls.get(keyOf({ tenant, callId }))),
      attempts: (tenant: string, callId: string) => this.#read(() => store.attemptsOf(tenant, callId)),
      approval: (tenant: string, approvalId: string) => this.#read(() => shelf.approval(tenant, approvalId)),
      dueApprovals: (until: number) => this.#read(() => shelf.pending().filter(({ expiresAt }) => expiresAt <= until)),
      nextApprovalAt: () => this.#read(() => shelf.pending()[0]?.expiresAt),
      openCalls: async function* () {
        yield* store.openCalls();
      },
      tenants: async () => [newTenant("acme", 1, 0)],
      keys: async () => keys,
      grants: async () => grants,
      tool: async (tenant: string) => (tenant === "acme" ? tool : undefined),
      toolVersion: async (tenant: string) => (tenant === "acme" ? version : undefined),
      policies: async () => policies,
      projects: none,
      limits: none,
      usage: async () => ({ items: [], next: undefined }),
      toolPins: none,
      projectTools: none,
      freezes: none,
      policyDefaults: none,
      webhooks: none,
      dueDeliveries: none,
      nextDeliveryAt: async () => undefined,
      // Nobody talks with agents here.
      freeSessions: async () => 0,
      idleSessions: none,
      streamChunks: none,
      lastStreamSeq: async () => 0,
    };
    return reads as unknown as Ledger;
  }
}

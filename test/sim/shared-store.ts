// The database that replicas of the simulator share: rows, who lives, roles, brakes; each process has a connection of its own to it.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit, type Write } from "../../packages/runtime/src/ledger/port.ts";
import type { SessionClaim } from "../../packages/runtime/src/ledger/sessions.ts";
import type { Beat, Fleet, Wake } from "../../packages/runtime/src/ledger/shared.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";
import type { Random } from "../walk/random.ts";
import { sessionKey } from "../walk/session-shelf.ts";
import { SimStore, keyOf } from "../walk/sim-ledger.ts";
import type { SimTime } from "../walk/sim-time.ts";
import { SessionTrail } from "./session-trail.ts";
import type { SimProcess } from "./sim-process.ts";

interface Living {
  readonly beat: Beat;
  livesUntil: number;
}

export interface StoreFaults {
  /** Of wake-ups, 0 to 1. */
  loseWakes: number;
  doubleWakes: number;
  wakeDelayMs: number;
  /** Of transactions: done, and whoever sent them hears of an error. */
  loseAnswers: number;
}

export type Heard = Wake | { readonly type: "lost" };

export class SharedStore {
  readonly rows: SimStore;
  readonly faults: StoreFaults = { loseWakes: 0.05, doubleWakes: 0.02, wakeDelayMs: 30, loseAnswers: 0 };
  readonly time: SimTime;
  readonly random: Random;
  /** Beside the other: with or without lost answers, an episode begins the same way. */
  readonly luck: Random;
  /** Tenant and tool, as in {@link Freeze}. */
  readonly freezes = new Set<string>();
  revision = 1;
  #tag = 0;
  readonly #replicas = new Map<string, Living>();
  readonly #roles = new Map<string, { replica: string; until: number }>();
  readonly #ears = new Map<SimProcess, (heard: Heard) => void>();
  readonly connections = new Set<Connection>();
  readonly trail = new SessionTrail();

  constructor(time: SimTime, { random, luck }: { readonly random: Random; readonly luck: Random }) {
    this.time = time;
    this.random = random;
    this.luck = luck;
    this.rows = new SimStore(time, random);
  }

  get failing(): boolean {
    return this.rows.failing;
  }

  lives(replica: string | null): boolean {
    const living = replica === null ? undefined : this.#replicas.get(replica);
    return living !== undefined && living.livesUntil > this.time.now();
  }

  beat(beat: Beat): Fleet {
    this.#replicas.set(beat.replica, { beat, livesUntil: this.time.now() + beat.livesMs });
    const peers = [...this.#replicas.values()].map((one) => one.beat).filter(({ replica }) => this.lives(replica));
    const queued: Record<string, number> = {};
    for (const { tenant, state } of this.rows.calls.values()) if (state === "queued") queued[tenant] = (queued[tenant] ?? 0) + 1;
    return { peers: peers.toSorted((a, b) => (a.replica < b.replica ? -1 : 1)), revision: this.revision, storeNow: this.time.now(), queued };
  }

  leave(replica: string): void {
    this.#replicas.delete(replica);
    for (const [role, held] of this.#roles) if (held.replica === replica) this.#roles.delete(role);
    for (const row of this.rows.calls.values()) if (row.state === "queued" && row.replica === replica) this.give(row, null);
  }

  freeOfTheDead(): void {
    for (const row of this.rows.calls.values())
      if (row.state === "queued" && row.replica !== null && !this.lives(row.replica)) this.give(row, null);
  }

  give(row: Call, replica: string | null): Call {
    const changesHands = (row.state === "dispatched" || row.state === "running") && row.replica !== replica;
    const given = { ...row, replica, mayHaveRun: row.mayHaveRun || changesHands };
    this.rows.calls.set(keyOf(row), given);
    return given;
  }

  hold(role: string, replica: string, ms: number): boolean {
    const held = this.#roles.get(role);
    const now = this.time.now();
    if (held !== undefined && held.replica !== replica && held.until > now && this.lives(held.replica)) return false;
    this.#roles.set(role, { replica, until: now + ms });
    return true;
  }

  /** A row that comes into the line gets its place from here: replicas have no line together but this one. */
  apply(unit: Unit, writer: string): CommitOutcome {
    const strangers = unit.writes.flatMap((write) => (write.op === "update_call" ? this.#strange(write, writer) : []));
    const tagged = unit.writes.map((write) => {
      if (write.op !== "insert_call" || (write.row.state !== "queued" && write.row.state !== "awaiting_approval")) return write;
      return { ...write, row: { ...write.row, startTag: ++this.#tag } };
    });
    const outcome = this.rows.apply({ writes: tagged });
    if (outcome.applied) this.rows.violations.push(...strangers);
    if (outcome.applied) this.trail.wrote(unit, writer);
    return outcome;
  }

  /** Who writes a call that waits or works and is another's says so, for it must know. */
  #strange({ row, expect }: Extract<Write, { op: "update_call" }>, writer: string): string[] {
    const stored = this.rows.calls.get(keyOf(row));
    if (stored === undefined || stored.replica === null || stored.replica === writer || expect.replica === stored.replica) return [];
    if (stored.state !== "queued" && stored.state !== "dispatched" && stored.state !== "running") return [];
    return [`${row.callId}: was changed by ${writer} as its own, and it is with ${stored.replica}`];
  }

  claimSession(claim: SessionClaim): Session | undefined {
    const before = this.rows.sessions.rows.get(sessionKey(claim));
    const claimed = this.rows.sessions.claim(claim);
    if (before !== undefined && claimed !== undefined) this.trail.claimed(claim, before, claimed);
    return claimed;
  }

  listen(process: SimProcess, hear: (heard: Heard) => void): void {
    this.#ears.set(process, hear);
  }

  broadcast(from: SimProcess | undefined, wakes: readonly Wake[]): void {
    const { random, faults, time } = this;
    for (const [process, hear] of this.#ears) {
      if (process === from) continue;
      for (const wake of wakes) {
        const copies = random.chance(faults.loseWakes) ? 0 : random.chance(faults.doubleWakes) ? 2 : 1;
        for (let copy = 0; copy < copies; copy++)
          time.after(random.below(faults.wakeDelayMs + 1), () => process.pass(() => hear(wake)));
      }
    }
  }

  /** The way to one replica was away; it hears that it may have missed something, or not even that. */
  loseWay(process: SimProcess): void {
    const hear = this.#ears.get(process);
    if (hear !== undefined && !this.random.chance(0.2)) process.pass(() => hear({ type: "lost" }));
  }

  brakes(): void {
    this.revision++;
    this.broadcast(undefined, [{ type: "governance" }]);
  }
}

interface Waiting {
  readonly unit: Unit;
  readonly settle: (outcome: CommitOutcome) => void;
  readonly fail: (error: Error) => void;
}

const unknownOutcome = (): LedgerUnavailable => new LedgerUnavailable("the way to the store was cut before the answer came");

/** What one process has to say to the store: its units in order, everything else whenever it gets there. */
export class Connection {
  readonly #store: SharedStore;
  readonly #process: SimProcess;
  readonly #replica: string;
  readonly #queue: Waiting[] = [];
  #busy = false;
  /** True: nothing gets through, and that is known at once. */
  away = false;

  constructor(store: SharedStore, process: SimProcess, replica: string) {
    this.#store = store;
    this.#process = process;
    this.#replica = replica;
    store.connections.add(this);
  }

  get idle(): boolean {
    return this.#queue.length === 0;
  }

  commit(unit: Unit): Promise<CommitOutcome> {
    return this.#ask<CommitOutcome>((settle, fail) => {
      this.#queue.push({ unit, settle, fail });
      this.#kick();
    });
  }

  /** One transaction of its own, beside the units. */
  ask<T>(act: () => T, delayMs = 4): Promise<T> {
    const { time, random } = this.#store;
    return this.#ask<T>((settle, fail) => {
      time.after(random.below(delayMs + 1), () => {
        if (this.#down) return fail(new LedgerUnavailable("the store cannot write"));
        const found = act();
        time.after(random.below(2), () => (this.#answerIsLost ? fail(unknownOutcome()) : settle(found)));
      });
    });
  }

  #ask<T>(send: (settle: (value: T) => void, fail: (error: Error) => void) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const process = this.#process;
    process.effect(() =>
      send(
        (value) => process.pass(() => resolve(value)),
        (error) => process.pass(() => reject(error)),
      ),
    );
    return promise;
  }

  get #down(): boolean {
    return this.#store.failing || this.away;
  }

  /** What the dead process has sent: some of it reaches the store all the same, in order, the rest never does. */
  crash(): void {
    const landing = this.#store.random.below(this.#queue.length + 1);
    this.#queue.splice(landing);
    if (this.#queue.length === 0) this.#store.connections.delete(this);
  }

  #kick(): void {
    if (this.#busy || this.#queue.length === 0) return;
    this.#busy = true;
    const { time, random } = this.#store;
    time.after(random.below(5), () => {
      this.#busy = false;
      for (const item of this.#queue.splice(0, 1 + random.below(8))) this.#settle(item);
      if (!this.#process.alive && this.#queue.length === 0) this.#store.connections.delete(this);
      this.#kick();
    });
  }

  #settle({ unit, settle, fail }: Waiting): void {
    if (this.#down) return fail(new LedgerUnavailable("the store cannot write"));
    const outcome = this.#store.apply(unit, this.#replica);
    const { time, random } = this.#store;
    time.after(random.below(2), () => (this.#answerIsLost ? fail(unknownOutcome()) : settle(outcome)));
  }

  get #answerIsLost(): boolean {
    return this.#store.luck.chance(this.#store.faults.loseAnswers);
  }
}

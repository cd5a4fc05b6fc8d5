// One episode: the real corridor and workers, a store that outlives them, and everything that goes wrong between them.
import type { SideEffectClass } from "@signalbox/protocol";
import { errorBody, limits } from "@signalbox/protocol";
import { Driver } from "../../packages/runtime/src/corridor/driver.ts";
import { resultCheck } from "../../packages/runtime/src/corridor/check-result.ts";
import { waitKey } from "../../packages/runtime/src/corridor/driver.ts";
import type { Call, CallIdentity } from "../../packages/runtime/src/call/types.ts";
import { isTerminal } from "../../packages/runtime/src/call/types.ts";
import { Hub } from "../../packages/runtime/src/dispatch/hub.ts";
import type { HubLimits, ToolFacts } from "../../packages/runtime/src/dispatch/types.ts";
import { LedgerUnavailable, type Ledger } from "../../packages/runtime/src/ledger/port.ts";
import { Line } from "../../packages/runtime/src/schedule/line.ts";
import { brokenRules } from "./predicates.ts";
import { seeded, type Random } from "./random.ts";
import { SimStore, keyOf } from "./sim-ledger.ts";
import type { Link, NetworkFaults } from "./sim-link.ts";
import { SimTime } from "./sim-time.ts";
import { SimWorker, type Acknowledged, type Entry } from "./sim-worker.ts";

const tools: Readonly<Record<string, SideEffectClass>> = {
  read: "read_only",
  put: "idempotent_write",
  pay: "non_idempotent_write",
  launch: "irreversible_action",
};
const tenant = "t";
const startAt = 1_700_000_000_000;

export const hubLimits: HubLimits = {
  queueWaitMs: limits.queueWaitMs,
  startDeadlineMs: limits.startDeadlineMs,
  leaseMs: limits.leaseMs,
  stopMarginMs: 1_000,
  lostAttemptsMax: limits.lostAttemptsMax,
  placementsMax: limits.placementsMax,
  workerSilentMs: limits.workerSilentMs,
  heartbeatMs: limits.heartbeatMs,
  heartbeatsMissedMax: limits.heartbeatsMissedMax,
  lazyWriteMs: limits.lazyWriteMs,
  queueDepthPerTenantMax: limits.queueDepthPerTenantMax,
  workerCapacityMax: limits.workerCapacityMax,
  handlersPerWorkerMax: limits.handlersPerWorkerMax,
  workersPerTenantMax: limits.workersPerTenantMax,
};

interface Replica {
  readonly driver: Driver;
  readonly hub: Hub;
  readonly life: { alive: boolean };
}

export interface Verdict {
  readonly seed: number;
  readonly steps: number;
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
}

export interface EpisodeOptions {
  readonly seed: number;
  readonly calls: number;
  /** Turns the store's guards off; the walk must notice. */
  readonly guards?: boolean;
}

export class World {
  readonly time = new SimTime(startAt);
  readonly #random: Random;
  readonly #faults: NetworkFaults = { lose: 0.01, double: 0.02, delayMs: 20 };
  readonly store: SimStore;
  readonly entries: Entry[] = [];
  readonly acknowledged: string[] = [];
  readonly told: Call[] = [];
  readonly stored: Acknowledged[] = [];
  readonly retries = new Map<string, number>();
  readonly #workers: SimWorker[];
  #replica: Replica | undefined;
  #restarts = 0;
  #nextCall = 0;
  readonly problems: string[] = [];

  constructor(options: EpisodeOptions) {
    this.#random = seeded(options.seed);
    this.store = new SimStore(this.time, this.#random);
    this.store.guards = options.guards ?? true;
    const world = {
      time: this.time,
      random: this.#random,
      faults: this.#faults,
      entries: this.entries,
      acknowledged: (result: Acknowledged) => this.#noteStored(result),
      dial: (link: Link) => this.#dial(link),
    };
    const names = Object.keys(tools);
    this.#workers = [0, 1, 2].map((n) => new SimWorker(`w${n}`, n === 2 ? names.slice(0, 3) : names, world));
  }

  async run(options: EpisodeOptions): Promise<Verdict> {
    this.#startReplica();
    for (const worker of this.#workers) worker.start();
    await this.#live(options.calls);
    await this.#comeToRest();
    const broken = [...this.problems, ...brokenRules({ ...this, retriesByPeople: this.retries })];
    const ends: Record<string, number> = {};
    for (const call of this.store.calls.values()) ends[call.state] = (ends[call.state] ?? 0) + 1;
    return { seed: options.seed, steps: this.time.steps, calls: this.store.calls.size, ends, broken };
  }

  async #live(calls: number): Promise<void> {
    const random = this.#random;
    while (this.#nextCall < calls) {
      this.#clientDoes();
      if (random.chance(0.04)) this.#misfortune();
      await this.#pass(random.below(600));
    }
  }

  /** Faults stop, everybody is up; whatever is still open must now come to an end by itself. */
  async #comeToRest(): Promise<void> {
    this.#faults.lose = 0;
    this.#faults.double = 0;
    this.store.failing = false;
    if (this.#replica === undefined) this.#startReplica();
    for (const worker of this.#workers) if (!worker.up) worker.start();
    await this.#pass(240_000);
  }

  async #pass(ms: number): Promise<void> {
    const until = this.time.now() + ms;
    while (this.time.step(until)) await microtasks();
  }

  #dial(link: Link): boolean {
    const replica = this.#replica;
    if (replica === undefined) return false;
    replica.driver.attach(link.runtimeEnd, { tenant, principal: "service:worker" });
    return true;
  }

  #startReplica(): void {
    const life = { alive: true };
    const clock = this.time.clock(() => life.alive);
    const hub = new Hub(`r${++this.#restarts}`, hubLimits, new Line(), clock.now());
    const { store } = this;
    const ledger = {
      commit: (unit: Parameters<Ledger["commit"]>[0]) => store.commit(unit, life),
      probe: async () => {
        if (store.failing) throw new LedgerUnavailable("the disk is full");
      },
      getCall: async (of: string, callId: string) => store.calls.get(keyOf({ tenant: of, callId })),
      attempts: async (of: string, callId: string) => store.attemptsOf(of, callId),
    } as unknown as Ledger;
    const meters = { count() {}, observe() {}, text: async () => "" };
    const log = { info() {}, warn() {}, error: (fields: object, message: string) => this.#heard(fields, message) };
    const consult = {
      recheck: async () => (this.#random.chance(0.02) ? { error: barred } : { epoch: hub.epoch, until: clock.now() + 1_000 }),
      endApproval: async () => undefined,
      trigger: async () => undefined,
      vet: async () => [],
    };
    const driver = new Driver({ hub, ledger, clock, meters, log, factsFor: async () => facts, consult });
    for (const row of store.calls.values()) {
      if (isTerminal(row.state)) continue;
      hub.restore(row, facts, clock.now());
    }
    driver.pump();
    this.#replica = { driver, hub, life };
  }

  /** A full disk is part of the walk; any other trouble is a finding. */
  #heard(fields: object, message: string): void {
    const text = `${message} ${JSON.stringify(fields)}`;
    if (!text.includes("disk is full")) this.problems.push(text);
  }

  /** Whoever is told "stored" finds it stored at that very moment. */
  #noteStored(result: Acknowledged): void {
    this.stored.push(result);
    const row = this.store.calls.get(keyOf({ tenant, callId: result.callId }));
    if (row === undefined || !isTerminal(row.state)) this.problems.push(`${result.callId}: acknowledged before it was stored`);
  }

  #crashReplica(): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#replica = undefined;
    this.store.crash(replica.life);
    replica.driver.stop();
    this.time.after(200 + this.#random.below(8_000), () => this.#startReplica());
  }

  #misfortune(): void {
    const random = this.#random;
    const worker = random.pick(this.#workers);
    const kind = random.below(6);
    if (kind === 0) return this.#crashReplica();
    if (kind === 1) return worker.breakLink();
    if (kind === 2) return worker.freeze(random.below(25_000));
    if (kind === 3 && worker.up) {
      worker.kill();
      this.time.after(random.below(20_000), () => !worker.up && worker.start());
    }
    if (kind === 4) {
      this.store.failing = true;
      this.time.after(random.below(4_000), () => {
        this.store.failing = false;
      });
    }
    if (kind === 5) {
      this.#faults.lose = 0.2;
      this.time.after(random.below(4_000), () => {
        this.#faults.lose = Math.min(this.#faults.lose, 0.01);
      });
    }
  }

  #clientDoes(): void {
    const random = this.#random;
    const choice = random.next();
    if (choice < 0.8) return this.#invoke();
    const known = [...this.store.calls.values()].slice(-40);
    if (known.length === 0 || this.#replica === undefined) return;
    const { callId, state } = random.pick(known);
    if (choice < 0.93) return void this.#replica.driver.happen(tenant, callId, { type: "cancel", by: "user:walk" });
    if (state === "indeterminate") this.#resolve(callId);
  }

  #resolve(callId: string): void {
    const verdict = this.#random.pick(["confirm", "retry", "fail"] as const);
    const output = verdict === "confirm" ? { json: '"confirmed"', hash: "h", bytes: 11 } : null;
    const result = this.#replica?.driver.happen(tenant, callId, { type: "resolve", verdict, by: "user:op", comment: "", output });
    if (result?.ok === true && verdict === "retry") this.retries.set(callId, (this.retries.get(callId) ?? 0) + 1);
  }

  #invoke(): void {
    const replica = this.#replica;
    if (replica === undefined || replica.driver.behind) return;
    const identity = this.#identity();
    const { told } = replica.driver.waiters.listen(waitKey(tenant, identity.callId));
    void told.then((call) => replica.life.alive && this.told.push(call));
    // Rules, grants and tools change now and then, also between a decision and its admission.
    const clearance = { epoch: replica.hub.epoch, until: this.time.now() + 1_000 };
    if (this.#random.chance(0.05)) replica.hub.newEpoch();
    replica.driver.admit({ identity, edited: null, facts, clearance }, 0).then(
      (outcome) => {
        if (outcome.applied && replica.life.alive) this.acknowledged.push(keyOf(identity));
      },
      () => undefined,
    );
  }

  #identity(): CallIdentity {
    const random = this.#random;
    const tool = random.pick(Object.keys(tools));
    const now = this.time.now();
    return {
      tenant,
      callId: `exec_${++this.#nextCall}`,
      project: "p",
      tool,
      toolTenant: tenant,
      version: "1.0.0",
      requestedVersion: "",
      manifestDigest: "",
      executor: "worker",
      sideEffectClass: tools[tool] ?? "read_only",
      onIndeterminate: random.chance(0.8) ? "ask" : "fail",
      principal: "user:walk",
      onBehalfOf: "",
      sessionId: "",
      turn: 0,
      step: 0,
      index: 0,
      contextJson: "{}",
      traceparent: "",
      requestId: "req_1",
      idempotencyKey: null,
      fingerprint: "",
      inputHash: "",
      inputJson: "{}",
      priority: "normal",
      decision: { id: "dec_1", outcome: "allow", reason: "", rules: [], spentMicros: 0 },
      admittedAt: now,
      timeoutMs: 30_000,
      graceMs: 2_000,
      resultBytesMax: limits.resultBytesMax,
      totalDeadlineAt: random.chance(0.1) ? now + random.below(60_000) : null,
    };
  }
}

const facts: ToolFacts = { check: resultCheck(undefined, (text) => `h${text.length}`), integrity: { identities: [], imageDigests: [] } };
const barred = errorBody("forbidden", "the grant is gone");

/** Lets everything that was promised happen before time goes on; the corridor's chains are shorter than this. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

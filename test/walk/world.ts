// One episode: the real corridor and workers, a store that outlives them, and everything that goes wrong between them.
import { limits, type WorkError } from "@signalbox/protocol";
import { reconsider } from "../../packages/runtime/src/corridor/reconsider.ts";
import { decisionOf, begin, hear, judge } from "../../packages/runtime/src/corridor/governor.ts";
import { openingOf } from "../../packages/runtime/src/corridor/opening.ts";
import type { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import { waitKey } from "../../packages/runtime/src/corridor/driver.ts";
import type { Call, CallIdentity } from "../../packages/runtime/src/call/types.ts";
import { pinnedRetry, type RetryPolicy } from "../../packages/runtime/src/call/retry.ts";
import { admitOrAnswer, type ResultCachePorts } from "../../packages/runtime/src/corridor/result-cache.ts";
import type { CapBook, ToolFacts } from "../../packages/runtime/src/dispatch/types.ts";
import type { CommitOutcome, Ledger } from "../../packages/runtime/src/ledger/port.ts";
import { brokenRules } from "./predicates.ts";
import { seeded, type Random } from "./random.ts";
import { SimStore, keyOf } from "./sim-ledger.ts";
import type { Link, NetworkFaults } from "./sim-link.ts";
import { People, someAmount } from "./sim-people.ts";
import { facts, fragile, startReplica, type Replica } from "./sim-replica.ts";
import { bookOfRules, governed, hash, readyTool, tenant, tools } from "./sim-rules.ts";
import { SimTime } from "./sim-time.ts";
import { declined, SimWorker, type Acknowledged, type Entry } from "./sim-worker.ts";
import { Spans } from "./spans.ts";

const startAt = 1_700_000_000_000;

export interface Verdict {
  readonly seed: number;
  readonly steps: number;
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  /** How the approvals ended, `pending` for those that did not. */
  readonly answers: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
}

export interface EpisodeOptions {
  readonly seed: number;
  readonly calls: number;
  /** Turns the store's guards off; the walk must notice. */
  readonly guards?: boolean;
  /** False: nobody caps the calls at work at once. */
  readonly caps?: boolean;
  /** False: no tool has a policy of retries, and no failure is worth one. */
  readonly retries?: boolean;
}

/** What tools say of retries; few attempts and short waits, so that an episode sees them to their end. */
const retryPolicies: readonly (RetryPolicy | null)[] = [
  null,
  { attempts: 2, strategy: "fixed", initialMs: 500, factor: 2, maxMs: 500, timeouts: true },
  { attempts: 4, strategy: "exponential", initialMs: 1_000, factor: 3, maxMs: 6_000, timeouts: false },
  { attempts: 5, strategy: "linear", initialMs: 200, factor: 2, maxMs: 10_000, timeouts: true },
];

export class World {
  readonly time = new SimTime(startAt);
  readonly #random: Random;
  readonly #faults: NetworkFaults = { lose: 0.01, double: 0.02, delayMs: 20 };
  readonly store: SimStore;
  readonly entries: Entry[] = [];
  readonly acknowledged: string[] = [];
  readonly told: Call[] = [];
  readonly stored: Acknowledged[] = [];
  readonly barred = new Spans();
  readonly frozen = new Spans();
  readonly #people: People;
  #policies: PolicyBook | undefined;
  readonly #workers: SimWorker[];
  #replica: Replica | undefined;
  #restarts = 0;
  #nextCall = 0;
  readonly problems: string[] = [];
  /** Calls at work at once, at most; drawn now and then, by a chance of its own: what else happens stays the same. */
  #cap = Number.POSITIVE_INFINITY;
  readonly #capRandom: Random;
  readonly #retryRandom: Random | null;
  #working = 0;
  #lookedAt = 0;

  constructor(options: EpisodeOptions) {
    this.#random = seeded(options.seed);
    this.#capRandom = seeded(options.seed + 1_000_000_007);
    this.#retryRandom = options.retries === false ? null : seeded(options.seed + 2_000_000_011);
    this.store = new SimStore(this.time, this.#random);
    this.store.guards = options.guards ?? true;
    const { time, store } = this;
    this.#people = new People({ time, store, random: this.#random, problem: (text) => this.problems.push(text) });
    const world = {
      time: this.time,
      random: this.#random,
      faults: this.#faults,
      failing: this.#retryRandom === null ? null : () => this.#failure(),
      entries: this.entries,
      acknowledged: (result: Acknowledged) => this.#noteStored(result),
      dial: (link: Link) => this.#dial(link),
    };
    const names = Object.keys(tools);
    this.#workers = [0, 1, 2].map((n) => new SimWorker(`w${n}`, n === 2 ? names.slice(0, 3) : names, world));
  }

  async run(options: EpisodeOptions): Promise<Verdict> {
    this.#policies = await rules;
    this.#startReplica();
    for (const worker of this.#workers) worker.start();
    await this.#live(options);
    await this.#comeToRest();
    const broken = [...this.problems, ...brokenRules({ ...this, endedAt: this.time.now() })];
    const ends = tally([...this.store.calls.values()].map(({ state }) => state));
    const answers = tally([...this.store.shelf.approvals.values()].map(({ outcome }) => outcome ?? "pending"));
    return { seed: options.seed, steps: this.time.steps, calls: this.store.calls.size, ends, answers, broken };
  }

  async #live({ calls, caps = true }: EpisodeOptions): Promise<void> {
    const random = this.#random;
    while (this.#nextCall < calls) {
      if (caps && this.#capRandom.chance(0.02)) this.#drawCap();
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
    for (const tool of this.barred.names) this.#unbar(tool);
    for (const tool of this.frozen.names) this.#unfreeze(tool);
    this.#cap = Number.POSITIVE_INFINITY;
    this.#replica?.hub.capsAre(this.#caps(), this.time.now());
    // No process starts while writes of a dead one are still on their way.
    while (this.#replica === undefined && !this.store.idle) await this.#pass(4);
    if (this.#replica === undefined) this.#startReplica();
    for (const worker of this.#workers) if (!worker.up) worker.start();
    await this.#pass(240_000);
  }

  async #pass(ms: number): Promise<void> {
    const until = this.time.now() + ms;
    while (this.time.step(until)) {
      await microtasks();
      this.#noteWorking();
    }
  }

  /** A cap that was lowered takes nothing away from whoever works already; it only lets nobody in. */
  #noteWorking(): void {
    if (this.#replica === undefined) return;
    const working = workingIn(this.#replica);
    // A row that is read again, since memory had it wrong, takes a place that nobody could hold back: it began before.
    const given = working > this.#cap && working > this.#working && this.#replica.hub.openCallsOf(tenant).some(({ dispatchedAt }) => (dispatchedAt ?? 0) >= this.#lookedAt);
    if (given) this.problems.push(`${working} calls work at once, where ${this.#cap} may`);
    this.#working = working;
    this.#lookedAt = this.time.now();
  }

  #drawCap(): void {
    const random = this.#capRandom;
    this.#cap = random.chance(0.5) ? Number.POSITIVE_INFINITY : 1 + random.below(6);
    if (this.#replica === undefined) return;
    this.#working = workingIn(this.#replica);
    this.#replica.hub.capsAre(this.#caps(), this.time.now());
    this.#replica.driver.pump();
  }

  #caps(): CapBook {
    const cap = this.#cap;
    return { any: cap < Number.POSITIVE_INFINITY, concurrentMax: () => cap, concurrentMaxOfProject: () => Number.POSITIVE_INFINITY };
  }

  get #facts(): ToolFacts {
    return this.#retryRandom === null ? facts : fragile;
  }

  /** Most failures are worth another attempt; some say when. */
  #failure(): WorkError {
    const random = this.#retryRandom;
    if (random === null || random.chance(0.3)) return declined;
    const details = random.chance(0.2) ? { detailsJson: JSON.stringify({ retry_after_ms: random.below(9_000) }) } : {};
    return { code: "busy", message: "not now", retryable: true, ...details };
  }

  #dial(link: Link): boolean {
    const replica = this.#replica;
    if (replica === undefined) return false;
    replica.driver.attach(link.runtimeEnd, { tenant, principal: "service:worker" });
    return true;
  }

  #startReplica(): void {
    if (this.#policies === undefined) throw new Error("the rules are not read yet");
    const { time, store, barred, frozen } = this;
    const heard = (fields: object, message: string): void => this.#heard(fields, message);
    const name = `r${++this.#restarts}`;
    const caps = this.#caps();
    this.#replica = startReplica({ name, caps, facts: this.#facts, time, store, barred, frozen, heard, random: this.#random, policies: this.#policies });
    // What it finds at work is whatever its predecessor left.
    this.#working = workingIn(this.#replica);
  }

  /** A full disk is part of the walk; any other trouble is a finding. */
  #heard(fields: object, message: string): void {
    const text = `${message} ${JSON.stringify(fields)}`;
    if (!text.includes("disk is full") && !text.includes("cannot write")) this.problems.push(text);
  }

  /** Whoever is told "stored" finds it stored at that very moment. */
  #noteStored(result: Acknowledged): void {
    this.stored.push(result);
    const ended = this.store.attempts.has(`${keyOf({ tenant, callId: result.callId })}#${result.fence}`);
    if (!ended) this.problems.push(`${result.callId}: acknowledged before it was stored`);
  }

  #crashReplica(): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#replica = undefined;
    this.store.crash(replica.life);
    replica.driver.stop();
    replica.approvals.stop();
    this.time.after(200 + this.#random.below(8_000), () => this.#replica === undefined && this.#startReplica());
  }

  #misfortune(): void {
    const random = this.#random;
    const worker = random.pick(this.#workers);
    const kind = random.below(8);
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
    if (kind === 6) this.#freeze();
    if (kind === 7) this.#bar();
  }

  /** Of all tools or of one; as in the real brakes, memory comes before the record. */
  #freeze(): void {
    const random = this.#random;
    const tool = random.chance(0.3) ? "" : random.pick(Object.keys(tools));
    this.#replica?.hub.freeze(tenant, tool);
    this.frozen.begin(tool, this.time.now());
    this.time.after(random.below(40_000), () => this.#unfreeze(tool));
  }

  #unfreeze(tool: string): void {
    if (!this.frozen.holds(tool)) return;
    this.frozen.end(tool, this.time.now());
    this.#replica?.hub.unfreeze(tenant, tool, this.time.now());
    this.#replica?.driver.pump();
  }

  /** A tool may not run for a while; sometimes all that waits is looked at once more, as after a quarantine. */
  #bar(): void {
    const random = this.#random;
    const tool = random.pick(Object.keys(tools));
    this.barred.begin(tool, this.time.now());
    const replica = this.#replica;
    replica?.hub.newEpoch();
    if (replica !== undefined && random.chance(0.3)) void this.#reconsider(replica);
    this.time.after(random.below(8_000), () => this.#unbar(tool));
  }

  async #reconsider({ governing, driver, approvals }: Replica): Promise<void> {
    const log = { info() {}, warn() {}, error: (fields: object, message: string) => this.#heard(fields, message) };
    await reconsider({ ...governing, driver, approvals, log });
  }

  #unbar(tool: string): void {
    this.barred.end(tool, this.time.now());
    this.#replica?.hub.newEpoch();
  }

  #clientDoes(): void {
    const random = this.#random;
    const choice = random.next();
    if (choice < 0.62) return this.#invoke();
    if (choice < 0.84) return this.#vote();
    const known = [...this.store.calls.values()].slice(-40);
    if (known.length === 0 || this.#replica === undefined) return;
    const { callId, state } = random.pick(known);
    if (choice < 0.94) return void this.#replica.driver.happen(tenant, callId, { type: "cancel", by: "user:walk" });
    if (state === "indeterminate") this.#resolve(callId);
  }

  #vote(): void {
    if (this.#random.chance(0.1)) this.#people.voteElsewhere();
    else if (this.#replica !== undefined) this.#people.vote(this.#replica);
  }

  #resolve(callId: string): void {
    const verdict = this.#random.pick(["confirm", "retry", "fail"] as const);
    const output = verdict === "confirm" ? { json: '"confirmed"', hash: "h", bytes: 11 } : null;
    this.#replica?.driver.happen(tenant, callId, { type: "resolve", verdict, by: "user:op", comment: "", output });
  }

  #invoke(): void {
    const replica = this.#replica;
    if (replica === undefined || replica.driver.behind) return;
    const identity = this.#identity();
    const { told } = replica.driver.waiters.listen(waitKey(tenant, identity.callId));
    void told.then((call) => replica.life.alive && this.told.push(call));
    const admission = this.#random.chance(0.15) ? this.#judged(replica, { ...identity, principal: governed, inputJson: someAmount(this.#random) }) : this.#unasked(replica, identity);
    admission?.then(
      (outcome) => {
        if (outcome.applied && replica.life.alive) this.acknowledged.push(keyOf(identity));
      },
      () => undefined,
    );
  }

  #unasked(replica: Replica, identity: CallIdentity): Promise<CommitOutcome> | undefined {
    if (this.barred.holds(identity.tool)) return undefined;
    // Rules, grants and tools change now and then, also between a decision and its admission.
    const clearance = { epoch: replica.hub.epoch, until: this.time.now() + 1_000 };
    if (this.#random.chance(0.05)) replica.hub.newEpoch();
    return admitOrAnswer(this.#caching(replica), { identity, edited: null, facts: this.#facts, clearance }, { cacheTtlMs, since: 0, admissible: () => undefined });
  }

  #caching({ hub, driver, governing, life }: Replica): ResultCachePorts {
    const ledger = { cachedResult: async (...[, cacheKey, from]: Parameters<Ledger["cachedResult"]>) => (life.alive ? this.store.cachedResult(cacheKey, from) : undefined) };
    return { hub, driver, ledger: ledger as unknown as Ledger, clock: governing.clock, meters: silent };
  }

  /** The stages of a real admission that bear on approvals; the others have no part in the walk. */
  #judged(replica: Replica, identity: CallIdentity): Promise<CommitOutcome> | undefined {
    const { governing, driver, approvals } = replica;
    if (this.barred.holds(identity.tool)) return undefined;
    const tool = readyTool(identity.tool);
    const asking = { tenant, project: identity.project, principal: governed, holdings: { permissions: ["*"], roles: [] }, tool, context: {} };
    const heard = hear(governing, begin(governing, asking, "dec_1"), JSON.parse(identity.inputJson ?? "null"), tool);
    const judgement = judge(governing, heard);
    if (judgement.decision.outcome === "deny") return undefined;
    const decided = { ...identity, decision: decisionOf(judgement) };
    const admission = { identity: decided, edited: null, facts: this.#facts, clearance: heard.clearance };
    const opening = openingOf({ approvals, clock: governing.clock, hash }, decided, null, judgement);
    if (opening === null) return driver.admit(admission, 0);
    const { approvalId, asked, guards, writes, expiresAt } = opening;
    return driver.park({ ...admission, approvalId, asked, beside: { guards, writes } }).then((outcome) => {
      if (outcome.applied) approvals.opened(expiresAt);
      return outcome;
    });
  }

  #retryPolicy(): string | null {
    const policy = this.#retryRandom?.pick(retryPolicies) ?? null;
    return policy === null ? null : pinnedRetry(policy, "read_only");
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
      sandbox: null,
      boxJson: null,
      filesJson: "[]",
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
      // Few keys, so that twins meet.
      cacheKey: tools[tool] === "read_only" && random.chance(0.5) ? `${tool} ${random.below(2)}` : null,
      // Also of the unsafe ones, where it has no effect: the machine must see to that by itself.
      retryJson: this.#retryPolicy(),
    };
  }
}

/** Shorter than an episode: results come of age in it. */
const cacheTtlMs = 20_000;
const silent = { count: () => undefined, observe: () => undefined, text: async () => "" };

/** The same for all episodes: nothing in it changes. */
const rules = bookOfRules();

const workingIn = ({ hub }: Replica): number => hub.countIn("dispatched") + hub.countIn("running");

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** Lets what was promised happen before time goes on. The chains of a call are shorter than this; a vote's go on in the next step. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

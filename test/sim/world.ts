// One episode of the simulator: replicas on one ledger, workers and callers, and everything that goes wrong between them.
import { limits, type WorkError } from "@signalbox/protocol";
import { pinnedRetry } from "../../packages/runtime/src/call/retry.ts";
import type { CallIdentity } from "../../packages/runtime/src/call/types.ts";
import type { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import { seeded, type Random } from "../walk/random.ts";
import { keyOf } from "../walk/sim-ledger.ts";
import type { Link, NetworkFaults } from "../walk/sim-link.ts";
import { People, someAmount } from "../walk/sim-people.ts";
import { bookOfRules, governed, tenant, tools } from "../walk/sim-rules.ts";
import { SimTime } from "../walk/sim-time.ts";
import { declined, SimWorker, type Acknowledged, type Entry } from "../walk/sim-worker.ts";
import { Spans } from "../walk/spans.ts";
import { Callers } from "./callers.ts";
import { Misfortunes } from "./misfortunes.ts";
import { Patience } from "./patience.ts";
import { brokenInSim } from "./predicates.ts";
import { brokenSessions, unknownEnds } from "./predicates-sessions.ts";
import { SharedStore } from "./shared-store.ts";
import { publishAgents } from "./sim-agents.ts";
import { attach, makeReplica, startReplica, type SimReplica, type SimReplicaParts } from "./sim-replica.ts";
import { Talkers } from "./talkers.ts";
import { Watch } from "./watch.ts";

/** Short waits, so that an episode sees them to their end. */
const retry = pinnedRetry({ attempts: 3, strategy: "exponential", initialMs: 500, factor: 3, maxMs: 4_000, timeouts: true }, "read_only");
const busy: WorkError = { code: "busy", message: "not now", retryable: true };
const startAt = 1_700_000_000_000;

export interface SimVerdict {
  readonly seed: number;
  readonly steps: number;
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Where sessions stand at the end, and what they have done. */
  readonly sessions: Readonly<Record<string, number>>;
  /** What went wrong around it, how often. */
  readonly misfortunes: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
}

export interface SimOptions {
  readonly seed: number;
  readonly calls: number;
  readonly replicas: number;
  /** Of transactions: done, and whoever sent them hears of an error. 0 to 1. */
  readonly loseAnswers: number;
  /** Agents are there, and people talk to them. */
  readonly sessions?: boolean;
}

/** So that most episodes have some. */
export const someAnswersLost = 0.003;

export class SimWorld {
  readonly time = new SimTime(startAt);
  readonly random: Random;
  readonly faults: NetworkFaults = { lose: 0.005, double: 0.01, delayMs: 20 };
  readonly store: SharedStore;
  readonly entries: Entry[] = [];
  readonly stored: Acknowledged[] = [];
  /** Tools that may not run. */
  readonly barred = new Spans();
  readonly problems: string[] = [];
  readonly workers: SimWorker[];
  readonly replicas: (SimReplica | undefined)[];
  readonly callers: Callers;
  readonly watch: Watch;
  readonly #people: People;
  readonly #talkers: Talkers | undefined;
  readonly #misfortunes: Misfortunes;
  readonly #patience: Patience;
  #policies: PolicyBook | undefined;
  #starts = 0;
  #nextCall = 0;
  #atRest = false;
  /** Calls at work at once, of all replicas. */
  cap = Number.POSITIVE_INFINITY;

  constructor(options: SimOptions) {
    this.random = seeded(options.seed);
    this.store = new SharedStore(this.time, { random: this.random, luck: seeded(options.seed + 1_000_000_000) });
    this.store.faults.loseAnswers = options.loseAnswers;
    this.replicas = Array.from({ length: options.replicas }, () => undefined);
    const problem = (text: string): void => void this.problems.push(text);
    this.#people = new People({ time: this.time, store: this.store.rows, random: this.random, problem: (text) => this.#votingProblem(text) });
    const { time, random, barred } = this;
    this.callers = new Callers({ time, random, barred, problem, anyReplica: () => this.anyReplica() });
    this.#misfortunes = new Misfortunes(this);
    this.#talkers = options.sessions === true ? new Talkers({ random, rows: this.store.rows, problem, anyReplica: () => this.anyReplica() }) : undefined;
    if (this.#talkers !== undefined) publishAgents(this.store.rows);
    const world = {
      time,
      random,
      faults: this.faults,
      entries: this.entries,
      failing: () => (random.chance(0.5) ? declined : busy),
      acknowledged: (result: Acknowledged) => this.#noteStored(result),
      dial: (link: Link, _worker: string, to: string) => this.#dial(link, to),
      dropped: (worker: string, incarnation: string, lease: { readonly callId: string; readonly fence: number }) => this.#noteDrop(worker, incarnation, lease),
      busy: (worker: string, handlers: number) => {
        if (handlers > 3) problem(`${worker}: ${handlers} handlers at once, where 3 fit`);
      },
    };
    const names = Object.keys(tools);
    this.workers = [0, 1, 2, 3].map((n) => new SimWorker(`w${n}`, n === 2 ? names.slice(0, 3) : names, world));
    this.watch = new Watch(this.store, this.workers, problem);
    this.#patience = new Patience(this.store, problem);
  }

  async run(options: SimOptions): Promise<SimVerdict> {
    this.#policies = await rules;
    for (const place of this.replicas.keys()) this.startReplica(place);
    for (const worker of this.workers) worker.start();
    while (this.#nextCall < options.calls) {
      this.#someoneDoes();
      if (this.random.chance(this.hasSessions ? 0.15 : 0.06)) this.#misfortunes.strike();
      // Sessions are taken over after so many seconds; an episode with them lasts longer.
      await this.#pass(this.random.below(this.hasSessions ? 2_000 : 500));
    }
    await this.#comeToRest();
    const { rows } = this.store;
    const trace = { store: rows, entries: this.entries, answers: this.callers.answers, stored: this.stored, endedAt: this.time.now() };
    const broken = [...this.problems, ...brokenInSim({ ...trace, replicas: this.replicas }), ...this.#brokenSessions()];
    const ends = tally([...rows.calls.values()].map(({ state }) => state));
    const sessions = this.#talkers === undefined ? {} : sessionsTold(this.store);
    return { seed: options.seed, steps: this.time.steps, calls: rows.calls.size, ends, sessions, misfortunes: this.#misfortunes.counts, broken };
  }

  get hasSessions(): boolean {
    return this.#talkers !== undefined;
  }

  #brokenSessions(): string[] {
    if (this.#talkers === undefined) return [];
    const { trail, rows } = this.store;
    return [...trail.broken, ...brokenSessions({ store: rows, replicas: this.replicas, said: this.#talkers.entries, endedAt: this.time.now() })];
  }

  anyReplica(): SimReplica | undefined {
    // A caller does not know who stands still.
    const open = this.replicas.filter((one) => one?.open === true);
    return open.length === 0 ? undefined : this.random.pick(open);
  }

  startReplica(place: number): void {
    const { time, random, store, barred } = this;
    if (this.#policies === undefined || this.replicas[place] !== undefined) return;
    // In production a clock follows the store's within some ms; here also by much more.
    const skewMs = random.chance(0.5) ? random.below(41) - 20 : random.below(4_001) - 2_000;
    const parts: SimReplicaParts = {
      name: `r${place}-${++this.#starts}`,
      place,
      skewMs,
      time,
      random,
      store,
      barred,
      withSessions: this.#talkers !== undefined,
      policies: this.#policies,
      cap: () => this.cap,
      heard: (fields, message) => this.#heard(fields, message),
    };
    const replica = makeReplica(parts);
    this.replicas[place] = replica;
    // A process that cannot reach the store at its start ends, and is started again.
    startReplica(parts, replica).catch(() => this.crash(replica));
  }

  crash(replica: SimReplica): void {
    if (!replica.process.alive) return;
    replica.process.die();
    replica.open = false;
    replica.connection.crash();
    for (const link of replica.links) link.break("the replica died");
    if (this.replicas[replica.place] === replica) this.replicas[replica.place] = undefined;
    this.time.after(this.#atRest ? 100 : 200 + this.random.below(8_000), () => this.startReplica(replica.place));
  }

  /** As on SIGTERM: workers are sent away, then the process ends. */
  async drain(replica: SimReplica): Promise<void> {
    if (replica.hub.draining) return;
    await replica.replicas.drain();
    await replica.sessions?.driver.stop();
    replica.sessions?.leaving.abort();
    await replica.driver.drain(5_000 + this.random.below(20_000), replica.replicas.addresses());
    await replica.replicas.stop();
    this.crash(replica);
  }

  /** Faults stop, everybody is up; whatever is still open must now come to an end by itself. */
  async #comeToRest(): Promise<void> {
    this.#atRest = true;
    this.faults.lose = 0;
    this.faults.double = 0;
    this.store.faults.loseWakes = 0;
    this.store.faults.loseAnswers = 0;
    this.#misfortunes.end();
    this.cap = Number.POSITIVE_INFINITY;
    for (const tool of this.barred.names) this.barred.end(tool, this.time.now());
    this.store.freezes.clear();
    this.store.brakes();
    for (const replica of this.replicas) if (replica !== undefined) replica.process.fate = undefined;
    for (const [place, replica] of this.replicas.entries()) if (replica === undefined) this.startReplica(place);
    for (const worker of this.workers) if (!worker.up) worker.start();
    await this.#pass(300_000);
    if (this.#talkers !== undefined) await this.#sayUnknownEnds();
  }

  /** What a session waits for, and only people can know: they say it, and the session goes on. */
  async #sayUnknownEnds(): Promise<void> {
    for (let rounds = 0; rounds < 10; rounds++) {
      const open = unknownEnds(this.store.rows);
      if (open.length === 0) return;
      for (const { callId } of open) this.callers.resolve(callId);
      await this.#pass(100_000);
    }
  }

  async #pass(ms: number): Promise<void> {
    const until = this.time.now() + ms;
    while (this.time.step(until)) {
      await microtasks();
      this.watch.look(this.replicas);
      this.#patience.look(this.replicas);
    }
  }

  #dial(link: Link, to: string): boolean {
    const wanted = to === "" ? undefined : this.replicas[Number(to)];
    const replica = wanted?.open === true ? wanted : this.anyReplica();
    if (replica === undefined) return false;
    attach(replica, link);
    return true;
  }

  /** A store that is away is part of the simulation; any other trouble is a finding. */
  #heard(fields: object, message: string): void {
    const text = `${message} ${JSON.stringify(fields)}`;
    if (!text.includes("cannot write") && !text.includes("LedgerUnavailable")) this.problems.push(text);
  }

  #votingProblem(text: string): void {
    if (!/ledger_unavailable|cannot write|others are voting/.test(text)) this.problems.push(text);
  }

  /** Whoever is told "stored" finds it stored at that very moment. */
  #noteStored(result: Acknowledged): void {
    this.stored.push(result);
    const ended = this.store.rows.attempts.has(`${keyOf({ tenant, callId: result.callId })}#${result.fence}`);
    if (!ended) this.problems.push(`${result.callId}: acknowledged before it was stored`);
  }

  /** A worker forgets only what the ledger has taken from it. */
  #noteDrop(worker: string, incarnation: string, { callId, fence }: { readonly callId: string; readonly fence: number }): void {
    const row = this.store.rows.calls.get(keyOf({ tenant, callId }));
    const has = row !== undefined && (row.state === "dispatched" || row.state === "running") && row.fence === fence;
    if (has && row.workerId === worker && row.incarnation === incarnation) this.problems.push(`${callId}: ${worker} was told to drop its lease ${fence}`);
  }

  #someoneDoes(): void {
    const { random } = this;
    if (this.#talkers !== undefined && random.chance(0.5)) return this.#talkers.act();
    const choice = random.next();
    if (choice < 0.02) return this.#burst();
    if (choice < 0.65) return this.#invoke(random.pick(Object.keys(tools)));
    const replica = this.anyReplica();
    if (choice < 0.82) {
      if (replica !== undefined) replica.process.pass(() => this.#people.vote(replica));
      return;
    }
    const known = [...this.store.rows.calls.values()].slice(-40);
    if (known.length === 0) return;
    const { callId, state } = random.pick(known);
    if (choice < 0.92) this.callers.cancel(callId);
    else if (state === "indeterminate") this.callers.resolve(callId);
  }

  /** More than the workers have room for, of one tool: some of them wait, and the order in which they go is looked at. */
  #burst(): void {
    const tool = this.random.pick(Object.keys(tools));
    for (let n = 0; n < 16; n++) this.#invoke(tool);
  }

  #invoke(tool: string): void {
    const key = `key_${++this.#nextCall}`;
    const { random } = this;
    const asksPeople = random.chance(0.15);
    const drawn = {
      tool,
      inputJson: asksPeople ? someAmount(random) : "{}",
      principal: asksPeople ? governed : "user:sim",
      onIndeterminate: random.chance(0.8) ? ("ask" as const) : ("fail" as const),
      totalMs: random.chance(0.1) ? random.below(60_000) : null,
      retryJson: random.chance(0.3) ? retry : null,
      cacheKey: tools[tool] === "read_only" && random.chance(0.4) ? `${tool} ${random.below(2)}` : null,
    };
    let asks = 0;
    void this.callers.invoke((now) => identityOf({ ...drawn, callId: `exec_${key}_${++asks}`, now }), key);
    // Some have two programs that ask under one key at once.
    if (random.chance(0.1)) void this.callers.invoke((now) => identityOf({ ...drawn, callId: `exec_${key}_${++asks}`, now }), key);
  }
}

interface Drawn extends Pick<CallIdentity, "callId" | "tool" | "inputJson" | "principal" | "onIndeterminate" | "cacheKey" | "retryJson"> {
  readonly totalMs: number | null;
  readonly now: number;
}

function identityOf({ totalMs, now, ...drawn }: Drawn): CallIdentity {
  return {
    ...drawn,
    tenant,
    project: "p",
    toolTenant: tenant,
    version: "1.0.0",
    requestedVersion: "",
    manifestDigest: "",
    executor: "worker",
    sandbox: null,
    boxJson: null,
    filesJson: "[]",
    sideEffectClass: tools[drawn.tool] ?? "read_only",
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
    priority: "normal",
    decision: { id: "dec_1", outcome: "allow", reason: "", rules: [], spentMicros: 0 },
    admittedAt: now,
    timeoutMs: 30_000,
    graceMs: 2_000,
    resultBytesMax: limits.resultBytesMax,
    totalDeadlineAt: totalMs === null ? null : now + totalMs,
  };
}

/** The same for all episodes: nothing in it changes. */
const rules = bookOfRules();

function sessionsTold({ rows, trail }: SharedStore): Record<string, number> {
  const { completions, claims, takenOver } = trail;
  const all = [...rows.sessions.rows.values()];
  const turns = all.reduce((sum, { turn }) => sum + turn, 0);
  const calls = [...rows.calls.values()].filter(({ sessionId }) => sessionId !== "").length;
  return { ...tally(all.map(({ state }) => state)), turns, calls, completions, claims, taken_over: takenOver };
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** Lets what was promised happen before time goes on. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 16; i++) await Promise.resolve();
}

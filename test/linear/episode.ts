// One run in simulated time: two replicas on one store, people who vote, edit, cancel and ask again, and everything that goes wrong between them.
import { seeded } from "../walk/random.ts";
import { SimTime } from "../walk/sim-time.ts";
import { asked } from "../support/corridor.ts";
import { settled } from "../support/hand-clock.ts";
import type { Books } from "./books.ts";
import { Clients, type Doors } from "./clients.ts";
import { findings, type Outcome } from "./findings.ts";
import { History } from "./history.ts";
import { amount0 } from "./rules.ts";
import type { Misfortune, Plan, Scenario } from "./scenario.ts";
import { SimReplica, type SimWorld } from "./sim-replica.ts";
import { SimStore, keyOf } from "./sim-store.ts";

export const startAt = 1_700_000_000_000;
/** From when on nothing goes wrong any more. */
const calmAfterMs = 6_000;
/** Five escalations of two seconds, and the queue's deadline of a call that nobody could take. */
const restMs = 60_000;

export interface Circumstances {
  /** 1: all requests go to the first one. Two, when it is left out. */
  readonly replicas?: 1 | 2;
  /** Nothing goes wrong. */
  readonly calm?: boolean;
}

export class Episode {
  readonly #scenario: Scenario;
  readonly #world: SimWorld;
  readonly #replicas: readonly [SimReplica, SimReplica];
  readonly #crashed: (() => void)[][] = [[], []];

  constructor(scenario: Scenario, booksOf: readonly Books[], circumstances: Circumstances = {}) {
    const books = booksOf[scenario.house];
    if (books === undefined) throw new Error(`there is no house ${scenario.house}`);
    const time = new SimTime(startAt);
    const random = seeded(scenario.chance);
    const store = new SimStore();
    const plans =
      circumstances.replicas === 1
        ? scenario.plans.map((plan): Plan => ({ ...plan, replica: 0, again: "here" }))
        : scenario.plans;
    this.#scenario = { ...scenario, plans, ...(circumstances.calm === true ? { misfortunes: [] } : {}) };
    this.#world = { time, random, store, books, pace: { latencyMs: 0 }, executions: [], problems: [] };
    this.#replicas = [new SimReplica("r1", this.#world), new SimReplica("r2", this.#world)];
  }

  async run(): Promise<Outcome> {
    const { time, store, pace, executions, problems, books } = this.#world;
    const { call, first } = await this.#open();
    const history = new History(() => time.now());
    const clients = new Clients(this.#doors(call.callId), history, first);
    pace.latencyMs = this.#scenario.latencyMs;
    clients.follow(this.#scenario);
    for (const one of this.#scenario.misfortunes) this.#plan(one);
    await this.#pass(calmAfterMs);
    this.#calm();
    await this.#pass(restMs);
    const row = store.calls.get(keyOf(call));
    if (row === undefined) throw new Error("the call is gone");
    const mayBeLost = this.#scenario.misfortunes.some(({ kind }) => kind !== "fail");
    const { shelf } = store;
    return findings({
      house: books.house,
      operations: history.operations,
      first: first.row,
      approvals: [...shelf.approvals.values()],
      votes: shelf.votes,
      notices: shelf.notices,
      call: row,
      executions,
      mayBeLost,
      problems: [...problems, ...store.violations, ...clients.odd],
      startAt,
    });
  }

  /** The call comes to the first replica, and people are asked about it. */
  async #open() {
    const [one, two] = this.#replicas;
    const { stranger } = this.#scenario;
    const { store } = this.#world;
    void one.start();
    if (stranger) void two.start();
    await this.#pass(30);
    const invoked = one.runtime?.service.invoke(asked(), { tool: "pay", input: { amount: amount0 }, mode: "async" });
    await this.#pass(30);
    const answer = await invoked;
    if (answer?.call.approvalId === null || answer === undefined) throw new Error("the call did not park");
    if (!stranger) void two.start();
    await this.#pass(30);
    const row = store.shelf.approval("acme", answer.call.approvalId)?.approval;
    if (row === undefined) throw new Error("the call parked without an approval");
    return { call: answer.call, first: { approvalId: row.approvalId, argsHash: row.argsHash, row } };
  }

  #doors(callId: string): Doors {
    return {
      callId,
      service: (replica) => this.#replicas[replica as 0 | 1].runtime?.service,
      onCrash: (replica, tell) => void this.#crashed[replica]?.push(tell),
      after: (ms, run) => void this.#world.time.after(ms, run),
    };
  }

  #plan({ kind, replica, at, forMs }: Misfortune): void {
    const { time } = this.#world;
    const { startMs, spreadMs } = this.#scenario;
    const one = this.#replicas[replica];
    time.after(startMs + Math.floor((at * spreadMs) / 1_000), () => {
      if (kind === "crash") return this.#crash(replica, forMs);
      const { link } = one;
      if (link === undefined) return;
      link.trouble = kind;
      time.after(forMs, () => {
        link.trouble = "none";
      });
    });
  }

  #crash(replica: 0 | 1, forMs: number): void {
    const one = this.#replicas[replica];
    if (one.runtime === undefined) return;
    one.crash();
    for (const tell of this.#crashed[replica]?.splice(0) ?? []) tell();
    this.#world.time.after(forMs, () => this.#restart(one));
  }

  /** A store that is away keeps a replica from starting; it is started until it stands. */
  #restart(one: SimReplica): void {
    one.start().catch(() => {
      one.crash();
      this.#world.time.after(100, () => this.#restart(one));
    });
  }

  #calm(): void {
    for (const { link } of this.#replicas) if (link !== undefined) link.trouble = "none";
  }

  async #pass(ms: number): Promise<void> {
    const { time } = this.#world;
    const until = time.now() + ms;
    await settled();
    while (time.step(until)) await settled();
  }
}

// People who talk to agents: they start sessions at any replica, say more, cancel what they like of them, and end them.
import { SignalboxError } from "@signalbox/protocol";
import { LedgerUnavailable } from "../../packages/runtime/src/ledger/port.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";
import type { Asked } from "../../packages/runtime/src/tenancy/types.ts";
import type { Random } from "../walk/random.ts";
import { governed, tenant } from "../walk/sim-rules.ts";
import type { SimStore } from "../walk/sim-ledger.ts";
import { agents } from "./sim-agents.ts";
import type { SimReplica } from "./sim-replica.ts";

export interface TalkersWorld {
  readonly random: Random;
  readonly rows: SimStore;
  anyReplica(): SimReplica | undefined;
  problem(text: string): void;
}

/** An entry that somebody was told is stored. */
export interface SaidEntry {
  readonly sessionId: string;
  readonly seq: number;
}

/** Of all that start; the others are talked to. */
const sessionsMax = 12;
const expected = new Set(["ledger_unavailable", "conflict", "draining", "queue_full", "execution_not_found", "session_not_found"]);

function askedAs(name: string): Asked {
  return { principal: { tenant, project: "p", name, keyId: "k", scopes: new Set(["*"] as const), roles: [] }, requestId: "req_1" };
}

export class Talkers {
  readonly #world: TalkersWorld;
  readonly entries: SaidEntry[] = [];
  #started = 0;
  #said = 0;

  constructor(world: TalkersWorld) {
    this.#world = world;
  }

  act(): void {
    const { random, rows } = this.#world;
    const all = [...rows.sessions.rows.values()];
    if (this.#started < sessionsMax && (all.length === 0 || random.chance(0.35))) return this.#start();
    if (all.length === 0) return;
    const busy = all.filter(({ state }) => state === "running" || state === "awaiting_tool" || state === "awaiting_approval");
    const session = random.pick(busy.length > 0 && random.chance(0.6) ? busy : all);
    const choice = random.next();
    if (choice < 0.65) this.#say(session);
    else if (choice < 0.95) this.#cancel(session);
    else this.#at(session, (replica, asked) => replica.sessions?.service.completeSession(asked, session.sessionId));
  }

  #start(): void {
    const { random } = this.#world;
    const name = random.chance(0.6) ? governed : "user:sim";
    const start = {
      agent: random.pick(agents).agent,
      idempotencyKey: `start_${++this.#started}`,
      ...(random.chance(0.8) ? { message: "go" } : {}),
      ...(random.chance(0.1) ? { deadlineMs: 1_000 + random.below(60_000) } : {}),
    };
    this.#ask((replica) => replica.sessions?.service.startSession(askedAs(name), start), true);
  }

  /** Twice under one key, at two replicas: it is heard once. */
  #say(session: Session): void {
    const { random } = this.#world;
    const message = { text: `more ${++this.#said}`, idempotencyKey: `said_${this.#said}` };
    const say = (replica: SimReplica, asked: Asked): Promise<unknown> | undefined =>
      replica.sessions?.service.sendMessage(asked, session.sessionId, message).then(({ entry }) => this.entries.push({ sessionId: session.sessionId, seq: entry.seq }));
    this.#at(session, say);
    if (random.chance(0.2)) this.#at(session, say);
  }

  #cancel(session: Session): void {
    const { random, rows } = this.#world;
    const scope = random.chance(0.15) ? "session" : random.pick(["turn", "batch", "call"] as const);
    if (scope !== "call") return this.#at(session, (replica, asked) => replica.sessions?.service.cancelSession(asked, session.sessionId, { scope }));
    const call = [...rows.calls.values()].findLast(({ sessionId }) => sessionId === session.sessionId);
    if (call !== undefined) this.#at(session, (replica, asked) => replica.sessions?.service.cancelSession(asked, session.sessionId, { scope, callId: call.callId }));
  }

  #at({ principal }: Session, act: (replica: SimReplica, asked: Asked) => Promise<unknown> | undefined): void {
    this.#ask((replica) => act(replica, askedAs(principal)), false);
  }

  /** @param again where it may be asked for twice */
  #ask(act: (replica: SimReplica) => Promise<unknown> | undefined, again: boolean): void {
    const { random } = this.#world;
    const replica = this.#world.anyReplica();
    if (replica === undefined) return;
    replica.process.pass(() => {
      act(replica)?.catch((error: unknown) => {
        const fine = error instanceof LedgerUnavailable || (error instanceof SignalboxError && expected.has(error.code));
        if (replica.process.alive && !fine) this.#world.problem(`a session could not be talked to: ${String(error)}`);
      });
    });
    if (again && random.chance(0.3)) this.#ask(act, false);
  }
}

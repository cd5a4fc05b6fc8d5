// Who asks: callers with keys who ask again elsewhere when no answer comes, and people who cancel, resolve and wait at any replica.
import { SignalboxError, limits } from "@signalbox/protocol";
import type { Call, CallIdentity } from "../../packages/runtime/src/call/types.ts";
import { isParked, isTerminal } from "../../packages/runtime/src/call/types.ts";
import { waitKey } from "../../packages/runtime/src/corridor/driver.ts";
import { cancel, resolve } from "../../packages/runtime/src/corridor/executions.ts";
import { begin, decisionOf, hear, judge } from "../../packages/runtime/src/corridor/governor.ts";
import type { InvokePorts } from "../../packages/runtime/src/corridor/invoke.ts";
import { openingOf } from "../../packages/runtime/src/corridor/opening.ts";
import { admitOrAnswer } from "../../packages/runtime/src/corridor/result-cache.ts";
import { waitAtMost } from "../../packages/runtime/src/corridor/waiters.ts";
import { LedgerUnavailable, type CommitOutcome } from "../../packages/runtime/src/ledger/port.ts";
import type { Random } from "../walk/random.ts";
import { facts } from "../walk/sim-replica.ts";
import { governed, hash, readyTool, tenant } from "../walk/sim-rules.ts";
import type { SimTime } from "../walk/sim-time.ts";
import type { Spans } from "../walk/spans.ts";
import type { SimReplica } from "./sim-replica.ts";

export interface CallersWorld {
  readonly time: SimTime;
  readonly random: Random;
  readonly barred: Spans;
  /** Any replica that takes requests; undefined = there is none. */
  anyReplica(): SimReplica | undefined;
  problem(text: string): void;
}

/** What a caller was answered with. */
export interface Answer {
  readonly key: string;
  readonly call: Call;
}

const cacheTtlMs = 20_000;
const silent = { count: () => undefined, observe: () => undefined, text: async () => "" };
const asked = {
  principal: { tenant, project: "p", name: "user:op", keyId: "k", scopes: new Set(["*"] as const), roles: [] },
  requestId: "req_1",
};

export class Callers {
  readonly #world: CallersWorld;
  /** Calls that a caller was told of, by key. */
  readonly answers: Answer[] = [];

  constructor(world: CallersWorld) {
    this.#world = world;
  }

  /** Asks at some replica; when there is no answer for long, or an error that says so, asks again at another. */
  async invoke(make: (now: number) => CallIdentity, key: string, tries = 0): Promise<void> {
    const { time, random } = this.#world;
    const replica = this.#world.anyReplica();
    if (tries > 12) return;
    const again = (ms: number): void => void time.after(ms, () => void this.invoke(make, key, tries + 1));
    if (replica === undefined) return again(500);
    let settled = false;
    // A replica that says nothing is given up; it may answer yet, and nobody listens.
    const cancelTimer = time.after(3_000 + random.below(60_000), () => {
      if (!settled) again(0);
      settled = true;
    });
    const identity = { ...make(replica.process.clock.now()), idempotencyKey: key };
    const first = { alive: true };
    replica.process.pass(() => {
      this.#at(replica, identity).then(
        (call) => {
          if (settled || !replica.process.alive) return;
          settled = true;
          cancelTimer();
          if (call !== undefined) this.answers.push({ key, call });
        },
        (error: unknown) => {
          if (settled || !replica.process.alive || !first.alive) return;
          settled = true;
          cancelTimer();
          if (!isRetryable(error)) this.#world.problem(`${identity.callId}: could not be asked for: ${String(error)}`);
          again(100 + random.below(2_000));
        },
      );
    });
    await Promise.resolve();
  }

  /** The stages of a real request that bear on the ledger. */
  async #at(replica: SimReplica, identity: CallIdentity): Promise<Call | undefined> {
    const { ledger, driver, hub, process } = replica;
    const existing = await ledger.getCallByKey(tenant, identity.project, identity.idempotencyKey ?? "");
    if (existing !== undefined) return this.#existing(replica, existing);
    if (hub.draining) throw new SignalboxError("draining", "try again");
    const { told, stop } = driver.waiters.listen(waitKey(tenant, identity.callId));
    try {
      const outcome = await this.#admit(replica, identity);
      if (outcome === undefined) return undefined;
      if (!outcome.applied) {
        const winner = await ledger.getCallByKey(tenant, identity.project, identity.idempotencyKey ?? "");
        if (winner === undefined) throw new SignalboxError("conflict", "try again");
        return await this.#existing(replica, winner);
      }
      const call = await waitAtMost(told, limits.syncWaitMs, process.clock, []);
      return call ?? (await ledger.getCall(tenant, identity.callId));
    } finally {
      stop();
    }
  }

  async #existing({ ledger, driver, process }: SimReplica, { callId }: Call): Promise<Call | undefined> {
    const { told, stop } = driver.waiters.listen(waitKey(tenant, callId));
    try {
      const now = await ledger.getCall(tenant, callId);
      if (now === undefined || isTerminal(now.state) || isParked(now)) return now;
      return (await waitAtMost(told, limits.syncWaitMs, process.clock, [])) ?? (await ledger.getCall(tenant, callId));
    } finally {
      stop();
    }
  }

  /** @returns undefined when it is denied */
  async #admit(replica: SimReplica, identity: CallIdentity): Promise<CommitOutcome | undefined> {
    const { driver, hub, governing, approvals, ledger, process } = replica;
    if (this.#world.barred.holds(identity.tool)) return undefined;
    const { clock } = process;
    if (identity.principal !== governed) {
      const clearance = { epoch: hub.epoch, until: clock.now() + 1_000 };
      const ports = { hub, driver, ledger, clock, meters: silent };
      return admitOrAnswer(ports, { identity, edited: null, facts, clearance }, { cacheTtlMs, since: 0, admissible: () => undefined });
    }
    const tool = readyTool(identity.tool);
    const asking = { tenant, project: identity.project, principal: governed, holdings: { permissions: ["*"], roles: [] }, tool, context: {} };
    const heard = hear(governing, begin(governing, asking, "dec_1"), JSON.parse(identity.inputJson ?? "null"), tool);
    const judgement = judge(governing, heard);
    if (judgement.decision.outcome === "deny") return undefined;
    const decided = { ...identity, cacheKey: null, decision: decisionOf(judgement) };
    const admission = { identity: decided, edited: null, facts, clearance: heard.clearance };
    const opening = openingOf({ approvals, clock, hash }, decided, null, judgement);
    if (opening === null) return driver.admit(admission, 0);
    const { approvalId, asked: question, guards, writes, expiresAt } = opening;
    const outcome = await driver.park({ ...admission, approvalId, asked: question, beside: { guards, writes } });
    if (outcome.applied) approvals.opened(expiresAt);
    return outcome;
  }

  cancel(callId: string): void {
    this.#wish(callId, "cancelled", (ports) => cancel(ports, asked, callId).then(({ call }) => call));
  }

  resolve(callId: string): void {
    const verdict = this.#world.random.pick(["confirm", "retry", "fail"] as const);
    const outputJson = verdict === "confirm" ? { outputJson: '"confirmed"' } : {};
    this.#wish(callId, "resolved", (ports) => resolve(ports, asked, callId, { verdict, ...outputJson }));
  }

  #wish(callId: string, what: string, act: (ports: InvokePorts) => Promise<Call>): void {
    const replica = this.#world.anyReplica();
    if (replica === undefined) return;
    const { ledger, driver, hub, process, refusals, approvals, governing } = replica;
    const ports = { ...governing, ledger, driver, hub, refusals, approvals, hash, clock: process.clock } as unknown as InvokePorts;
    process.pass(() => {
      act(ports).then(
        (call) => process.alive && this.answers.push({ key: "", call }),
        (error: unknown) => {
          if (process.alive && !isRetryable(error)) this.#world.problem(`${callId}: could not be ${what}: ${String(error)}`);
        },
      );
    });
  }
}

/** Errors that a caller is told to expect where things fail around it. */
function isRetryable(error: unknown): boolean {
  if (error instanceof LedgerUnavailable) return true;
  return error instanceof SignalboxError && ["ledger_unavailable", "conflict", "draining"].includes(error.code);
}

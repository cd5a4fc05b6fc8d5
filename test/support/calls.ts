// Calls for tests of the machine and the hub: one identity, small round limits, and a way to play happenings one by one.
import type { SideEffectClass } from "@signalbox/protocol";
import type { CheckedResult, Effect, Happening, Live, MachineLimits, StepResult } from "../../packages/runtime/src/call/machine.ts";
import { admit } from "../../packages/runtime/src/call/admit.ts";
import { step } from "../../packages/runtime/src/call/step.ts";
import type { CallIdentity } from "../../packages/runtime/src/call/types.ts";

/** The instant at which the calls of these tests are admitted. */
export const at0 = 1_000_000;

export const machineLimits: MachineLimits = {
  queueWaitMs: 30_000,
  startDeadlineMs: 10_000,
  leaseMs: 15_000,
  stopMarginMs: 1_000,
  lostAttemptsMax: 3,
  placementsMax: 10,
};

/** A call of `pay@1.0.0` by user:ann, admitted at {@link at0}, with 20 s to run and 5 s of grace. */
export function identityOf(changes: Partial<CallIdentity> = {}): CallIdentity {
  return {
    tenant: "acme",
    callId: "exec_1",
    project: "shop",
    tool: "pay",
    toolTenant: "acme",
    version: "1.0.0",
    requestedVersion: "",
    manifestDigest: "digest1",
    executor: "worker",
    sandbox: null,
    boxJson: null,
    filesJson: "[]",
    sideEffectClass: "read_only",
    onIndeterminate: "ask",
    principal: "user:ann",
    onBehalfOf: "",
    sessionId: "",
    turn: 0,
    step: 0,
    index: 0,
    contextJson: "{}",
    traceparent: "",
    requestId: "req_1",
    idempotencyKey: null,
    fingerprint: "fp1",
    inputHash: "in1",
    inputJson: '{"amount":5}',
    priority: "normal",
    decision: { id: "dec_1", outcome: "allow", reason: "granted", rules: [], spentMicros: 7 },
    admittedAt: at0,
    timeoutMs: 20_000,
    graceMs: 5_000,
    resultBytesMax: 1_048_576,
    totalDeadlineAt: null,
    cacheKey: null,
    retryJson: null,
    ...changes,
  };
}

export function admitted(changes: Partial<CallIdentity> = {}): Live {
  return accept(admit(identityOf(changes), at0, { startTag: 1, queueWaitMs: 30_000, edited: null })).live;
}

export const ofClass = (sideEffectClass: SideEffectClass): Partial<CallIdentity> => ({ sideEffectClass });

export function checkedResult(fence: number, changes: Partial<CheckedResult> = {}): CheckedResult {
  return {
    fence,
    workerId: "w1",
    status: "succeeded",
    outputJson: '"paid"',
    outputHash: "out1",
    outputBytes: 6,
    outputIllFormed: false,
    error: null,
    usage: { durationMs: 40 },
    ...changes,
  };
}

export const assign: Happening = { type: "assign", workerId: "w1", incarnation: "i1", replica: "r1" };

/** A look at the clock; by default the worker's stream is alive and leases may run out. */
export function look(known: Partial<Extract<Happening, { type: "due" }>> = {}): Happening {
  return { type: "due", streamAlive: true, handlerKnown: true, mayExpireLeases: true, ...known };
}

export function result(fence: number, changes: Partial<CheckedResult> = {}): Happening {
  return { type: "result", result: checkedResult(fence, changes) };
}

export type Accepted = Extract<StepResult, { ok: true }>;

export function accept(outcome: StepResult): Accepted {
  if (!outcome.ok) throw new Error(`the machine refused: ${outcome.reason}`);
  return outcome;
}

/** One step that must not be refused; `afterMs` counts from {@link at0}. */
export function play(live: Live, happening: Happening, afterMs: number, limits: MachineLimits = machineLimits): Accepted {
  return accept(step(live, happening, at0 + afterMs, limits));
}

/** Steps in order, each `[ms after at0, what happens]`; the last one's outcome. */
export function playAll(live: Live, ...happenings: readonly (readonly [number, Happening])[]): Accepted {
  let outcome: Accepted = { ok: true, live, effects: [], durability: "none" };
  for (const [afterMs, happening] of happenings) outcome = play(outcome.live, happening, afterMs);
  return outcome;
}

/** Effects in order, by their types, events with their own: `event:queued`. */
export function outline(effects: readonly Effect[]): string[] {
  return effects.map((effect) => (effect.type === "event" ? `event:${effect.event.type}` : effect.type));
}

export function only<T extends Effect["type"]>(effects: readonly Effect[], type: T): Extract<Effect, { type: T }>[] {
  return effects.filter((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
}

/** What the events say: type, seq and data. */
export function told(effects: readonly Effect[]): [type: string, seq: number, data: unknown][] {
  return only(effects, "event").map(({ event }) => [event.type, event.seq, JSON.parse(event.dataJson)]);
}

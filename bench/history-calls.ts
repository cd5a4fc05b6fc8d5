// The units of calls that have ended long ago, made by the same machine that moves the runtime's calls.
import { canonicalJson, errorBody, makeId } from "@signalbox/protocol";
import { sha256, systemChance } from "../packages/runtime/src/adapters/system/crypto.ts";
import { admit, deny } from "../packages/runtime/src/call/admit.ts";
import type { CheckedResult, Happening, Live, StepResult } from "../packages/runtime/src/call/machine.ts";
import { step } from "../packages/runtime/src/call/step.ts";
import type { Call, CallIdentity } from "../packages/runtime/src/call/types.ts";
import { hubLimits } from "../packages/runtime/src/config.ts";
import { writesOf } from "../packages/runtime/src/dispatch/apply.ts";
import type { Unit, Write } from "../packages/runtime/src/ledger/port.ts";

/** What few calls of a history have; a list that asks for it must pass over all others. */
export interface RareNames {
  readonly tool: string;
  readonly principal: string;
}

export const rare: RareNames = { tool: "bench.rare", principal: "agent:rare" };

/** Calls of a history that bear the rare names, spread evenly: fewer than a page holds. */
export const rareCalls = 20;

/** Of a thousand calls; the others succeeded. */
const ends = { failed: 15, denied: 10, cancelled: 5 } as const;
/** One in so many came with an idempotency key. */
const keyedEvery = 10;
const textBytes = 480;
const filler = "It was asked, it was answered, and it was written down. ".repeat(10);

const chance = systemChance();
/** A call takes so long from its admission to its end, ms. */
const tookMs = 2;

export interface HistoryCall {
  readonly callId: string;
  readonly succeeded: boolean;
  /** In the order in which they were committed. */
  readonly units: readonly Unit[];
}

export interface HistoryPlace {
  /** From 0. */
  readonly index: number;
  readonly calls: number;
  /** Wall clock, ms since 1970. */
  readonly admittedAt: number;
}

/**
 * One call as it was left behind.
 * @param template a call of the same tool that the runtime has made and settled: tool, decision, worker and limits are its own
 */
export function historyCall(template: Call, place: HistoryPlace): HistoryCall {
  const { index, admittedAt } = place;
  const identity = identityOf(template, place);
  const { callId } = identity;
  const kind = endOf(index);
  if (kind === "denied") {
    const decided: CallIdentity = { ...identity, decision: { ...identity.decision, outcome: "deny" } };
    return { callId, succeeded: false, units: [opened(must(deny(decided, admittedAt, errorBody("forbidden", "a rule says no"))))] };
  }
  const born = must(admit(identity, admittedAt, { startTag: index, queueWaitMs: hubLimits.queueWaitMs, edited: null }));
  if (kind === "cancelled") {
    const cancelled = moved(born.live, [{ type: "cancel", by: identity.principal }], admittedAt + tookMs);
    return { callId, succeeded: false, units: [opened(born), cancelled] };
  }
  const { workerId, incarnation, replica } = template;
  if (workerId === null || incarnation === null || replica === null) throw new Error("the template ran in no worker");
  const given = must(step(born.live, { type: "assign", workerId, incarnation, replica }, admittedAt, hubLimits));
  const { fence } = given.live.call;
  const happenings: Happening[] = [
    { type: "accepted", fence },
    { type: "started", fence },
    { type: "result", result: resultOf(given.live.call, kind) },
  ];
  return { callId, succeeded: kind === "succeeded", units: [opened(given, born), moved(given.live, happenings, admittedAt + tookMs)] };
}

/** Another call like the template, with an id, an input and an instant of its own. */
export function identityOf(template: Call, { index, calls, admittedAt }: HistoryPlace): CallIdentity {
  const isRare = index % Math.ceil(calls / rareCalls) === 0;
  const tool = isRare ? rare.tool : template.tool;
  const input = { text: `${index} ${filler}`.slice(0, textBytes) };
  const canonical = canonicalJson(input);
  const id = (prefix: "exec" | "req" | "dec"): string => makeId(prefix, admittedAt, chance.bytes(10));
  return {
    ...template,
    tool,
    principal: isRare ? rare.principal : template.principal,
    callId: id("exec"),
    requestId: id("req"),
    decision: { ...template.decision, id: id("dec") },
    inputJson: JSON.stringify(input),
    inputHash: sha256(canonical),
    fingerprint: sha256(`{"input":${canonical},"tool":"${tool}","version":"${template.requestedVersion}"}`),
    idempotencyKey: index % keyedEvery === 0 ? `history-${index}` : null,
    admittedAt,
  };
}

type End = keyof typeof ends | "succeeded";

/** Steps of a size that shares no factor with a thousand, so that calls with one end do not stand side by side. */
function endOf(index: number): End {
  let place = (index * 389 + 500) % 1_000;
  for (const [end, share] of Object.entries(ends) as [keyof typeof ends, number][]) {
    if (place < share) return end;
    place -= share;
  }
  return "succeeded";
}

function resultOf({ fence, workerId, inputJson }: Call, status: "succeeded" | "failed"): CheckedResult {
  const base = { fence, workerId: workerId ?? "", outputIllFormed: false, usage: { durationMs: 1, cpuMs: 0 } };
  if (status === "failed")
    return {
      ...base,
      status,
      outputJson: null,
      outputHash: null,
      outputBytes: 0,
      error: errorBody("tool_error", "the tool said no", { tool_code: "refused" }),
    };
  const outputJson = inputJson ?? "null";
  return { ...base, status, outputJson, outputHash: sha256(outputJson), outputBytes: outputJson.length, error: null };
}

export type Taken = Extract<StepResult, { ok: true }>;

export function must(result: StepResult): Taken {
  if (!result.ok) throw new Error(`the call machine refused: ${result.reason}`);
  return result;
}

/** The call's first unit; what it was born with stands before what was done at once. */
export function opened({ live, effects }: Taken, born?: Taken): Unit {
  return { writes: [{ op: "insert_call", row: live.call }, ...writesOf([...(born?.effects ?? []), ...effects])] };
}

/** All that happened since rides in the unit that ends the call, as it does when the call is quick. */
function moved(from: Live, happenings: readonly Happening[], now: number): Unit {
  const writes: Write[] = [];
  let live = from;
  for (const happening of happenings) {
    const taken = must(step(live, happening, now, hubLimits));
    live = taken.live;
    writes.push(...writesOf(taken.effects));
  }
  const { state, fence } = from.call;
  return { writes: [{ op: "update_call", expect: { state, fence }, before: from.call, row: live.call }, ...writes] };
}

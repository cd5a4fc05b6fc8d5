// The units of calls that a runtime left open when it died: half of them wait, half were with a worker that is gone too.
import { admit } from "../packages/runtime/src/call/admit.ts";
import { step } from "../packages/runtime/src/call/step.ts";
import type { Call, CallIdentity } from "../packages/runtime/src/call/types.ts";
import { hubLimits } from "../packages/runtime/src/config.ts";
import type { Unit } from "../packages/runtime/src/ledger/port.ts";
import { identityOf, must, opened, type HistoryPlace, type Taken } from "./history-calls.ts";

/** Nobody serves them while the figure is taken, and none of them shall end by that. */
const queueWaitMs = 3_600_000;

/** How the calls of a kind stand in the end: what waits and what is safe waits (again), the rest is parked. */
export function endsOf(calls: number): { readonly queued: number; readonly indeterminate: number } {
  const indeterminate = Math.floor(calls / 4);
  return { queued: calls - indeterminate, indeterminate };
}

/** @param template a call of the same tool that the runtime has made: tool, decision, worker and limits are its own */
export function openCall(template: Call, place: HistoryPlace): Unit {
  const { index, admittedAt } = place;
  const isUnsafe = index % 4 === 3;
  const identity: CallIdentity = {
    ...identityOf(template, place),
    sideEffectClass: isUnsafe ? "non_idempotent_write" : "read_only",
    idempotencyKey: null,
    timeoutMs: queueWaitMs,
  };
  const limits = { ...hubLimits, queueWaitMs };
  const born = must(admit(identity, admittedAt, { startTag: index, queueWaitMs, edited: null }));
  if (index % 2 === 0) return opened(born);
  const { workerId, incarnation, replica } = template;
  if (workerId === null || incarnation === null || replica === null) throw new Error("the template ran in no worker");
  const given = must(step(born.live, { type: "assign", workerId: `${workerId}-gone`, incarnation, replica }, admittedAt, limits));
  const { fence } = given.live.call;
  const accepted = must(step(given.live, { type: "accepted", fence }, admittedAt, limits));
  const started = must(step(accepted.live, { type: "started", fence }, admittedAt, limits));
  const all: Taken = { ...started, effects: [...given.effects, ...accepted.effects, ...started.effects] };
  return opened(all, born);
}

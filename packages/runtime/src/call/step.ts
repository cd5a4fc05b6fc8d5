// The call machine: the only function that may change a call. One table, state first, then event.
import { accepted, cancel, disowned, due, late, missing, nack, renew, result, started } from "./leased.ts";
import type { Happening, Live, MachineLimits, StepResult } from "./machine.ts";
import { refused } from "./change.ts";
import type { CallState } from "./types.ts";
import {
  approved,
  askedInQueue,
  askedWhileParked,
  assign,
  barred,
  broken,
  cached,
  cancelWaiting,
  parkedDue,
  queueDue,
  rejected,
  resolve,
  thawed,
} from "./waiting.ts";

type Handler<T extends Happening["type"]> = (
  live: Live,
  event: Extract<Happening, { type: T }>,
  now: number,
  limits: MachineLimits,
) => StepResult;

type Row = { readonly [T in Happening["type"]]?: Handler<T> };

/** Nobody holds the call, so whatever a worker says of it speaks of an old lease. */
const lateResult: Handler<"result"> = (live, event, now) => late(live, event.result, now);

/** A result under the fence that settled the call is a repeat whose acknowledgement was lost. */
const settledResult: Handler<"result"> = (live, event, now) =>
  event.result.fence === live.call.fence
    ? refused("already_settled", [{ type: "ack", fence: event.result.fence, verdict: "stored" }])
    : late(live, event.result, now);

const leased: Row = { accepted, started, result, nack, cancel, renew, missing, disowned, due };
const settled: Row = { result: settledResult };

export const transitions: Readonly<Record<CallState, Row>> = {
  awaiting_approval: {
    approved,
    rejected,
    asked: askedWhileParked,
    cancel: cancelWaiting,
    due: (live, _event, now) => parkedDue(live, now),
    result: lateResult,
  },
  queued: { assign, asked: askedInQueue, barred, broken, cached, thawed, cancel: cancelWaiting, due: queueDue, result: lateResult },
  dispatched: leased,
  running: leased,
  indeterminate: { resolve, asked: askedWhileParked, result: lateResult },
  denied: settled,
  succeeded: settled,
  failed: settled,
  timed_out: settled,
  cancelled: settled,
};

/**
 * Pure: no clock, no chance, no promise. `now` is wall clock, ms since 1970.
 * A refusal changes nothing; its effects (an acknowledgement, kept evidence) still go out.
 */
export function step(live: Live, event: Happening, now: number, limits: MachineLimits): StepResult {
  const handler = transitions[live.call.state][event.type] as Handler<Happening["type"]> | undefined;
  return handler === undefined ? refused(`${event.type}_in_${live.call.state}`) : handler(live, event, now, limits);
}

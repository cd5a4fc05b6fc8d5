// The table: every state and every happening, and what becomes of the call, written down by hand.
import type { ErrorBody, SideEffectClass } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { admitted, assign, at0, look, machineLimits, ofClass, playAll, result } from "../../../../test/support/calls.ts";
import type { Happening, Live } from "./machine.ts";
import { step, transitions } from "./step.ts";
import { callStates, isTerminal, openStates, terminalStates, type CallState, type TerminalState } from "./types.ts";

const error: ErrorBody = { code: "approval_denied", message: "no", type: "permission", retryable: false };
const output = { json: '"seen"', hash: "h1", bytes: 6 };

/** Everything that can happen, under the fence 1; `%old` is said under a fence that is over, 0. */
const happenings: Readonly<Record<string, Happening>> = {
  approved: { type: "approved", by: ["user:bo"], args: null },
  asked: { type: "asked", approvalId: "apr_2", outcome: "no_handler", args: null, data: {} },
  askedAgain: { type: "asked", approvalId: "apr_2", outcome: null, args: null, data: {} },
  barred: { type: "barred", error },
  thawed: { type: "thawed", reason: "unfrozen" },
  rejected: { type: "rejected", error, by: null },
  assign,
  accepted: { type: "accepted", fence: 1 },
  started: { type: "started", fence: 1 },
  succeeded: result(1),
  failed: result(1, { status: "failed", error }),
  nackElsewhere: { type: "nack", fence: 1, reason: "retry_elsewhere", code: "draining", message: "leaving" },
  nackReject: { type: "nack", fence: 1, reason: "reject", code: "unknown_tool", message: "no such tool" },
  cancel: { type: "cancel", by: "user:bo" },
  renew: { type: "renew", fence: 1 },
  missing: { type: "missing", fence: 1 },
  disowned: { type: "disowned", fence: 1 },
  due: look(),
  confirm: { type: "resolve", verdict: "confirm", by: "user:op", comment: "", output },
  confirmNothing: { type: "resolve", verdict: "confirm", by: "user:op", comment: "", output: null },
  retry: { type: "resolve", verdict: "retry", by: "user:op", comment: "", output: null },
  fail: { type: "resolve", verdict: "fail", by: "user:op", comment: "", output: null },
  acceptedOld: { type: "accepted", fence: 0 },
  startedOld: { type: "started", fence: 0 },
  resultOld: result(0),
  nackOld: { type: "nack", fence: 0, reason: "reject", code: "c", message: "m" },
  renewOld: { type: "renew", fence: 0 },
  missingOld: { type: "missing", fence: 0 },
  disownedOld: { type: "disowned", fence: 0 },
};
const said = Object.keys(happenings);

/** `next`: the state that follows. Whatever a row leaves out is refused because the state knows no such happening. */
type Row = Readonly<Record<string, CallState | `refused ${string}`>>;

const oldFences: Row = {
  acceptedOld: "refused old_fence",
  startedOld: "refused old_fence",
  resultOld: "refused old_fence",
  nackOld: "refused old_fence",
  renewOld: "refused old_fence",
  missingOld: "refused old_fence",
  disownedOld: "refused old_fence",
};
const notHeld: Row = { succeeded: "refused old_fence", failed: "refused old_fence", resultOld: "refused old_fence", due: "refused not_due" };

const rows: Readonly<Record<string, { safe: Row; unsafe?: Row }>> = {
  awaiting_approval: { safe: { ...notHeld, approved: "queued", rejected: "denied", asked: "awaiting_approval", askedAgain: "awaiting_approval", cancel: "cancelled" } },
  queued: {
    safe: {
      ...notHeld,
      assign: "dispatched",
      asked: "awaiting_approval",
      askedAgain: "refused asked_without_outcome",
      barred: "denied",
      thawed: "queued",
      cancel: "cancelled",
    },
  },
  dispatched: {
    safe: {
      ...oldFences,
      accepted: "dispatched",
      started: "running",
      succeeded: "succeeded",
      failed: "failed",
      nackElsewhere: "queued",
      nackReject: "failed",
      cancel: "dispatched",
      renew: "dispatched",
      missing: "queued",
      disowned: "queued",
      due: "refused not_due",
    },
    // No Go was sent: the handler cannot have been entered, so a cancel need not wait.
    unsafe: { cancel: "cancelled" },
  },
  accepted: {
    safe: {
      ...oldFences,
      accepted: "dispatched",
      started: "running",
      succeeded: "succeeded",
      failed: "failed",
      nackElsewhere: "queued",
      nackReject: "failed",
      cancel: "dispatched",
      renew: "dispatched",
      missing: "queued",
      disowned: "queued",
      due: "refused not_due",
    },
    unsafe: { missing: "indeterminate" },
  },
  running: {
    safe: {
      ...oldFences,
      accepted: "running",
      started: "refused already_running",
      succeeded: "succeeded",
      failed: "failed",
      nackElsewhere: "refused already_running",
      nackReject: "refused already_running",
      cancel: "running",
      renew: "running",
      missing: "queued",
      disowned: "queued",
      due: "refused not_due",
    },
    unsafe: { missing: "indeterminate" },
  },
  indeterminate: {
    safe: {
      succeeded: "refused old_fence",
      failed: "refused old_fence",
      resultOld: "refused old_fence",
      askedAgain: "indeterminate",
      asked: "indeterminate",
      confirm: "succeeded",
      confirmNothing: "refused confirm_needs_output",
      retry: "queued",
      fail: "failed",
    },
  },
  ...Object.fromEntries(
    terminalStates.map((state) => [
      state,
      { safe: { succeeded: "refused already_settled", failed: "refused already_settled", resultOld: "refused old_fence" } },
    ]),
  ),
};

/** A call that has come to this row of the table, a second after it was admitted. */
function liveIn(row: string, sideEffectClass: SideEffectClass): Live {
  const queued = admitted(ofClass(sideEffectClass));
  const as = (state: CallState): Live => ({ lease: null, call: { ...queued.call, state } });
  switch (row) {
    case "queued":
      return queued;
    case "dispatched":
      return playAll(queued, [0, assign]).live;
    case "accepted":
      return playAll(queued, [0, assign], [10, { type: "accepted", fence: 1 }]).live;
    case "running":
      return playAll(queued, [0, assign], [10, { type: "accepted", fence: 1 }], [20, { type: "started", fence: 1 }]).live;
    // Parking raises the fence; the results of the table are then those of the lease that was lost.
    case "indeterminate":
      return { lease: null, call: { ...queued.call, state: "indeterminate", fence: 2 } };
    default:
      return as(row as CallState);
  }
}

const classes = { read_only: "safe", idempotent_write: "safe", non_idempotent_write: "unsafe", irreversible_action: "unsafe" } as const;

describe.each(Object.keys(rows))("a call that is %s", (row) => {
  describe.each(Object.keys(classes) as SideEffectClass[])("and %s", (sideEffectClass) => {
    const { safe, unsafe = {} } = rows[row] as { safe: Row; unsafe?: Row };
    const expected: Row = classes[sideEffectClass] === "safe" ? safe : { ...safe, ...unsafe };

    test.each(said)("%s", (name) => {
      const live = liveIn(row, sideEffectClass);
      const happening = happenings[name] as Happening;
      const outcome = step(live, happening, at0 + 1_000, machineLimits);
      const became = outcome.ok ? outcome.live.call.state : `refused ${outcome.reason}`;
      expect(became).toBe(expected[name] ?? `refused ${happening.type}_in_${live.call.state}`);
    });
  });
});

test("the table knows every state, and a settled one nothing but results", () => {
  expect(Object.keys(transitions).sort()).toEqual([...callStates].sort());
  expect([...openStates, ...terminalStates].sort()).toEqual([...callStates].sort());
  const settled: TerminalState[] = ["denied", "succeeded", "failed", "timed_out", "cancelled"];
  for (const state of settled) expect(Object.keys(transitions[state])).toEqual(["result"]);
  expect(callStates.filter(isTerminal).sort()).toEqual(settled.sort());
});

// Calls that nobody holds: the queue's deadline, approvals, late and repeated results, and a person's word on an unknown end.
import { errorBody } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { admitted, assign, look, machineLimits, ofClass, only, outline, play, playAll, result, told } from "../../../../test/support/calls.ts";
import type { Happening, Live } from "./machine.ts";
import { step } from "./step.ts";

const unsafe = ofClass("non_idempotent_write");
const parked = (): Live =>
  playAll(admitted(unsafe), [0, assign], [0, { type: "accepted", fence: 1 }], [10, { type: "started", fence: 1 }], [15_000, look()]).live;
const word = (verdict: "confirm" | "retry" | "fail"): Happening => ({
  type: "resolve",
  verdict,
  by: "user:op",
  comment: "asked the bank",
  output: verdict === "confirm" ? { json: '{"id":7}', hash: "h7", bytes: 8 } : null,
});

describe("the queue's deadline", () => {
  test.each([
    [false, "no_handler", "no connected worker serves pay@1.0.0"],
    [true, "capacity_exhausted", "every worker that serves pay@1.0.0 stayed busy until the queue deadline"],
  ])("with somebody who serves it: %s → %s", (handlerKnown, code, message) => {
    const live = admitted(unsafe);
    expect(step(live, look({ handlerKnown }), 1_029_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    const outcome = play(live, look({ handlerKnown }), 30_000);
    expect(outcome.live.call).toMatchObject({
      state: "failed",
      routingOutcome: code,
      settledAt: 1_030_000,
      fence: 1,
      error: { code, message, retryable: true, details: { tool: "pay", version: "1.0.0" } },
    });
    expect(outline(outcome.effects)).toEqual(["event:failed", "audit", "tell"]);
  });

  test.each([
    ["quota", { quota: "concurrent_executions" }],
    ["tool", { limit: "concurrent_calls" }],
  ] as const)("held back by a cap, of a %s: its details name it", (capped, named) => {
    const { error } = play(admitted(unsafe), look({ capped }), 30_000).live.call;
    expect(error).toEqual({
      code: "capacity_exhausted",
      message: "as many calls as may work at once were at work until the queue deadline",
      type: error?.type,
      retryable: true,
      details: { tool: "pay", version: "1.0.0", ...named },
    });
  });

  test("no box is there any more: sandbox_unavailable, and no routing outcome", () => {
    const live = admitted({ executor: "sandbox", sandbox: "native", boxJson: "{}" });
    const { call } = play(live, look({ handlerKnown: false }), 30_000).live;
    expect(call).toMatchObject({ state: "failed", routingOutcome: null, error: { code: "sandbox_unavailable", details: { sandbox: "native" } } });
    expect(play(live, look(), 30_000).live.call).toMatchObject({ routingOutcome: "capacity_exhausted", error: { code: "capacity_exhausted" } });
  });

  test("the total deadline is looked at first", () => {
    const live = admitted({ totalDeadlineAt: 1_030_000 });
    expect(play(live, look({ handlerKnown: false }), 30_000).live.call).toMatchObject({ state: "timed_out", routingOutcome: null });
  });
});

describe("approvals", () => {
  const waiting = (): Live => {
    const { call } = admitted(unsafe);
    return { lease: null, call: { ...call, state: "awaiting_approval", queueDeadlineAt: null } };
  };

  test("approved: queued, with its 30 s from now", () => {
    const outcome = play(waiting(), { type: "approved", by: ["user:bo", "user:cy"], args: null }, 90_000);
    expect(outcome.live.call).toMatchObject({ state: "queued", enqueuedAt: 1_090_000, notBefore: 1_090_000, queueDeadlineAt: 1_120_000, startTag: 1, attempt: 1 });
    expect(outline(outcome.effects)).toEqual(["event:approved", "event:queued", "enqueue"]);
    expect(told(outcome.effects)).toEqual([
      ["approved", 3, { by: ["user:bo", "user:cy"] }],
      ["queued", 4, { attempt: 1 }],
    ]);
  });

  test("rejected: denied, with the error that was given", () => {
    const error = errorBody("approval_expired", "nobody decided in time");
    const outcome = play(waiting(), { type: "rejected", error, by: null }, 90_000);
    expect(outcome.live.call).toMatchObject({ state: "denied", error, settledAt: 1_090_000 });
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.denied", status: "denied", errorCode: "approval_expired" });
  });
});

describe("results that are late or come again", () => {
  const lateRow = { tenant: "acme", callId: "exec_1", fence: 1, at: 1_020_000, workerId: "w1", status: "succeeded", outputJson: '"paid"', errorJson: null };

  test.each([
    ["indeterminate", parked()],
    ["queued again", playAll(admitted(), [0, assign], [0, { type: "started", fence: 1 }], [15_000, look()]).live],
    ["with the next worker", playAll(admitted(), [0, assign], [0, { type: "started", fence: 1 }], [15_000, look()], [15_000, assign]).live],
    ["failed for good", play(parked(), word("fail"), 16_000).live],
  ])("%s: it changes nothing, is kept as evidence, and is answered lease_lost", (_, live) => {
    const outcome = step(live, result(1), 1_020_000, machineLimits);
    expect(outcome).toEqual({
      ok: false,
      reason: "old_fence",
      effects: [
        { type: "late_result", row: lateRow },
        { type: "ack", fence: 1, verdict: "lease_lost" },
      ],
    });
  });

  test("a late failure keeps its error as JSON", () => {
    const error = errorBody("tool_error", "declined");
    const outcome = step(parked(), result(1, { status: "failed", error, outputJson: null }), 1_020_000, machineLimits);
    expect(only(outcome.effects, "late_result")[0]?.row).toMatchObject({
      status: "failed",
      outputJson: null,
      errorJson: '{"code":"tool_error","message":"declined","type":"tool","retryable":false}',
    });
  });

  test("the result that settled the call, once more: acknowledged as stored, with nothing new", () => {
    const settled = playAll(admitted(), [0, assign], [600, result(1)]).live;
    expect(step(settled, result(1, { outputJson: '"other"' }), 1_000_700, machineLimits)).toEqual({
      ok: false,
      reason: "already_settled",
      effects: [{ type: "ack", fence: 1, verdict: "stored" }],
    });
  });
});

describe("a person's word on an indeterminate call", () => {
  const approval = { approval: { by: ["user:op"], at: 1_060_000 } };

  test("confirm: succeeded, with the result that was given", () => {
    const outcome = play(parked(), word("confirm"), 60_000);
    expect(outcome.live.call).toMatchObject({
      state: "succeeded",
      fence: 2,
      attempt: 1,
      settledAt: 1_060_000,
      outputJson: '{"id":7}',
      outputHash: "h7",
      outputBytes: 8,
      error: null,
    });
    expect(outline(outcome.effects)).toEqual(["event:resolved", "event:succeeded", "audit", "tell"]);
    expect(told(outcome.effects)).toEqual([
      ["resolved", 6, { verdict: "confirm", by: "user:op", comment: "asked the bank" }],
      ["succeeded", 7, { attempt: 1, output_hash: "h7", output_bytes: 8, by: "user:op" }],
    ]);
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({
      action: "call.resolved",
      principal: "user:ann",
      status: "succeeded",
      ...approval,
      details: { kind: "resolve", verdict: "confirm", comment: "asked the bank" },
    });
  });

  test("confirm without a result is refused, and nothing is told", () => {
    const outcome = step(parked(), { type: "resolve", verdict: "confirm", by: "user:op", comment: "", output: null }, 1_060_000, machineLimits);
    expect(outcome).toEqual({ ok: false, reason: "confirm_needs_output", effects: [] });
  });

  test("retry: queued as the next attempt under a fresh fence, audited, and told once it is stored", () => {
    const outcome = play(parked(), word("retry"), 60_000);
    expect(outcome.live).toMatchObject({
      lease: null,
      call: {
        state: "queued",
        fence: 2,
        attempt: 2,
        placements: 0,
        mayHaveRun: false,
        stopReason: null,
        cancelRequestedAt: null,
        error: null,
        settledAt: null,
        notBefore: 1_060_000,
        queueDeadlineAt: 1_090_000,
        startTag: 1,
      },
    });
    expect(outline(outcome.effects)).toEqual(["event:resolved", "event:retried", "enqueue", "audit", "tell"]);
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.retried", attempt: 2, ...approval, details: { kind: "resolve", verdict: "retry" } });
  });

  test("retry takes back the cancel that led here", () => {
    const stopping = playAll(admitted(unsafe), [0, assign], [0, { type: "accepted", fence: 1 }], [500, { type: "cancel", by: "user:bo" }], [6_500, look()]).live;
    expect(stopping.call.state).toBe("indeterminate");
    const again = playAll(stopping, [60_000, word("retry")], [60_000, assign], [60_010, { type: "accepted", fence: 2 }]);
    expect(outline(again.effects)).toEqual(["send_go"]);
    expect(again.live.call).toMatchObject({ attempt: 2, fence: 2, stopReason: null, graceDeadlineAt: null });
  });

  test("fail: failed, and it may have executed", () => {
    const outcome = play(parked(), word("fail"), 60_000);
    expect(outcome.live.call).toMatchObject({ state: "failed", error: { code: "indeterminate", retryable: false, details: { may_have_executed: true } } });
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.resolved", status: "failed", ...approval });
    expect(outline(outcome.effects)).toEqual(["event:resolved", "event:failed", "audit", "tell"]);
  });

  test("a cancel is refused: whether it took effect is the question", () => {
    expect(step(parked(), { type: "cancel", by: "user:bo" }, 1_060_000, machineLimits)).toMatchObject({ ok: false, reason: "cancel_in_indeterminate" });
  });
});

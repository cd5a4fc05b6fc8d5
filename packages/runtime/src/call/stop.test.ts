// Cancel, timeout and total deadline in every phase: who is asked to stop, how long it has, and what an unheard stop means.
import { describe, expect, test } from "vitest";
import { admitted, assign, look, machineLimits, ofClass, only, outline, play, playAll, result, told } from "../../../../test/support/calls.ts";
import type { Happening, Live } from "./machine.ts";
import { step } from "./step.ts";

const accepted: Happening = { type: "accepted", fence: 1 };
const started: Happening = { type: "started", fence: 1 };
const cancel: Happening = { type: "cancel", by: "user:bo" };
const stopped = result(1, { status: "cancelled", outputJson: null, outputHash: null, outputBytes: 0 });
const askedToStop = { type: "send_cancel", fence: 1, workerId: "w1", incarnation: "i1", graceMs: 5_000 };

const safe = ofClass("read_only");
const unsafe = ofClass("irreversible_action");
const running = (changes: Parameters<typeof admitted>[0]): Live => playAll(admitted(changes), [0, assign], [0, accepted], [0, started]).live;

describe("cancel", () => {
  test.each(["queued", "awaiting_approval"] as const)("%s: nobody had it, so it ends at once, for every class", (state) => {
    const queued = admitted(unsafe);
    const outcome = play({ ...queued, call: { ...queued.call, state } }, cancel, 500);
    expect(outcome.live.call).toMatchObject({
      state: "cancelled",
      stopReason: "cancel",
      cancelRequestedAt: 1_000_500,
      cancelRequestedBy: "user:bo",
      settledAt: 1_000_500,
      queueDeadlineAt: null,
      error: { code: "cancelled", details: { stop_confirmed: true } },
    });
    expect(outline(outcome.effects)).toEqual(["event:cancelled", "audit", "tell"]);
    expect(told(outcome.effects)).toEqual([["cancelled", 3, { attempt: 1, code: "cancelled", by: "user:bo" }]]);
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.settled", status: "cancelled", details: { by: "user:bo" } });
  });

  test("unsafe and not accepted: no Go was sent, so nothing can have run, and it ends at once", () => {
    const outcome = playAll(admitted(unsafe), [0, assign], [500, cancel]);
    expect(outcome.live.call).toMatchObject({ state: "cancelled", fence: 2, error: { details: { stop_confirmed: true } } });
    expect(outcome.live.call.error?.details).not.toHaveProperty("may_have_executed");
    expect(outline(outcome.effects)).toEqual(["event:cancel_requested", "attempt_ended", "send_cancel", "event:cancelled", "audit", "tell"]);
    expect(only(outcome.effects, "send_cancel")).toEqual([{ ...askedToStop, reason: "lost" }]);
  });

  test.each([
    ["safe, not accepted", admitted(safe), [[0, assign]] as const],
    ["unsafe, accepted", admitted(unsafe), [[0, assign], [0, accepted]] as const],
    ["unsafe, running", admitted(unsafe), [[0, assign], [0, accepted], [0, started]] as const],
  ])("%s: the worker is asked, and has its grace and a second", (_, live, before) => {
    const outcome = playAll(live, ...before, [500, cancel]);
    expect(outcome.live.call).toMatchObject({
      fence: 1,
      stopReason: "cancel",
      cancelRequestedAt: 1_000_500,
      graceDeadlineAt: 1_006_500,
      startDeadlineAt: null,
      settledAt: null,
    });
    expect(outcome.durability).toBe("commit");
    expect(outline(outcome.effects)).toEqual(["event:cancel_requested", "send_cancel"]);
    expect(only(outcome.effects, "send_cancel")).toEqual([{ ...askedToStop, reason: "cancel" }]);
    expect(step(outcome.live, cancel, 1_000_600, machineLimits)).toMatchObject({ ok: false, reason: "already_cancelling", effects: [] });
  });

  test("a confirmed stop is a cancelled call", () => {
    const outcome = playAll(running(safe), [500, cancel], [900, stopped]);
    expect(outcome.live.call).toMatchObject({ state: "cancelled", fence: 1, error: { code: "cancelled", details: { stop_confirmed: true } } });
    expect(outline(outcome.effects)).toEqual(["attempt_ended", "event:cancelled", "audit", "tell", "ack"]);
    expect(only(outcome.effects, "attempt_ended")[0]?.row.endReason).toBe("cancelled");
    expect(told(outcome.effects)[0]?.[2]).toMatchObject({ by: "user:bo" });
  });

  test("an unsafe one that was running says that it may have executed", () => {
    const { call } = playAll(running(unsafe), [500, cancel], [900, stopped]).live;
    expect(call).toMatchObject({ state: "cancelled", error: { details: { stop_confirmed: true, may_have_executed: true } } });
  });

  test("a real result inside the grace wins, good or bad", () => {
    expect(playAll(running(safe), [500, cancel], [900, result(1)]).live.call).toMatchObject({ state: "succeeded", outputJson: '"paid"', error: null });
    const error = { code: "tool_error", message: "no", type: "tool", retryable: false } as const;
    expect(playAll(running(safe), [500, cancel], [900, result(1, { status: "failed", error })]).live.call).toMatchObject({ state: "failed", error });
  });

  test("accepted after the cancel: noted; no Go, no start deadline", () => {
    const outcome = playAll(admitted(unsafe), [0, assign], [0, accepted], [500, cancel], [600, accepted]);
    expect(outcome).toMatchObject({ durability: "none", effects: [], live: { call: { startDeadlineAt: null, graceDeadlineAt: 1_006_500 } } });
    const late = playAll(admitted(safe), [0, assign], [500, cancel], [600, accepted]);
    expect(late).toMatchObject({ effects: [], live: { lease: { acceptedAt: 1_000_600 }, call: { startDeadlineAt: null, mayHaveRun: true } } });
  });

  test.each(["retry_elsewhere", "reject"] as const)("a nack (%s) after it: nothing ran, and it is cancelled", (reason) => {
    const nack: Happening = { type: "nack", fence: 1, reason, code: "draining", message: "leaving" };
    const { call } = playAll(admitted(safe), [0, assign], [500, cancel], [600, nack]).live;
    expect(call).toMatchObject({ state: "cancelled", fence: 2, error: { code: "cancelled", details: { stop_confirmed: true } } });
  });
});

describe("no word before the grace is over", () => {
  test.each([
    ["safe", safe, "cancelled"],
    ["unsafe", unsafe, "indeterminate"],
  ])("%s, at the instant itself", (_, changes, state) => {
    const stopping = playAll(running(changes), [500, cancel], [4_000, { type: "renew", fence: 1 }]).live;
    expect(step(stopping, look(), 1_006_499, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    const outcome = play(stopping, look(), 6_500);
    expect(outcome.live).toMatchObject({ lease: null, call: { state, fence: 2 } });
    expect(only(outcome.effects, "send_cancel")).toEqual([{ ...askedToStop, reason: "lost" }]);
    expect(only(outcome.effects, "attempt_ended")[0]?.row.endReason).toBe("cancelled");
  });

  test("safe: the answer says that the stop was not confirmed", () => {
    const { call } = playAll(running(safe), [500, cancel], [6_500, look()]).live;
    expect(call.error).toMatchObject({ code: "cancelled", details: { stop_confirmed: false } });
  });

  test("unsafe: a person is asked", () => {
    const outcome = playAll(running(unsafe), [500, cancel], [6_500, look()]);
    expect(outcome.live.call).toMatchObject({ routingOutcome: "indeterminate", settledAt: null, error: { code: "indeterminate", details: { may_have_executed: true } } });
    expect(outline(outcome.effects)).toEqual(["attempt_ended", "send_cancel", "event:indeterminate", "audit", "tell"]);
  });

  test.each([
    ["safe", safe, "cancelled"],
    ["unsafe", unsafe, "indeterminate"],
  ])("a lease that is lost while it stops: %s", (_, changes, state) => {
    const stopping = playAll(running(changes), [500, cancel]).live;
    expect(play(stopping, { type: "missing", fence: 1 }, 2_000).live.call.state).toBe(state);
  });
});

describe("timeout", () => {
  test("at the run's deadline the worker is asked to stop, whatever the class", () => {
    for (const changes of [safe, unsafe]) {
      const live = playAll(running(changes), [14_000, { type: "renew", fence: 1 }]).live;
      expect(step(live, look(), 1_019_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
      const outcome = play(live, look(), 20_000);
      expect(outcome.live.call).toMatchObject({ state: "running", stopReason: "timeout", graceDeadlineAt: 1_026_000 });
      expect(outline(outcome.effects)).toEqual(["send_cancel"]);
      expect(only(outcome.effects, "send_cancel")).toEqual([{ ...askedToStop, reason: "timeout" }]);
      expect(step(outcome.live, look(), 1_025_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    }
  });

  const timingOut = (changes: Parameters<typeof admitted>[0]): Live =>
    playAll(running(changes), [14_000, { type: "renew", fence: 1 }], [20_000, look()], [24_000, { type: "renew", fence: 1 }]).live;

  test.each([
    ["a success", result(1, { usage: { durationMs: 20_001 } })],
    ["a failure", result(1, { status: "failed", error: { code: "tool_error", message: "", type: "tool", retryable: false } })],
    ["a confirmed stop", stopped],
  ])("%s inside the grace is still a timeout, with its stop confirmed", (_, answer) => {
    const { call } = play(timingOut(safe), answer, 25_000).live;
    expect(call).toMatchObject({
      state: "timed_out",
      error: { code: "timeout", message: "the call ran longer than its timeout of 20 s", retryable: true, details: { stop_confirmed: true } },
    });
  });

  test("what a handler finished inside the grace is kept as a late result, and told", () => {
    const outcome = play(timingOut(unsafe), result(1, { usage: { durationMs: 24_000 } }), 25_000);
    expect(outcome.live.call.error?.details).toEqual({ stop_confirmed: true, handler_completed: true, may_have_executed: true });
    expect(outcome.effects.filter(({ type }) => type === "late_result")).toHaveLength(1);
    expect(play(timingOut(unsafe), stopped, 25_000).effects.filter(({ type }) => type === "late_result")).toEqual([]);
  });

  test.each([safe, unsafe])("a success that took no longer than it might is one, however late the word of it comes", (changes) => {
    const { call } = play(timingOut(changes), result(1, { usage: { durationMs: 20_000 } }), 25_000).live;
    expect(call).toMatchObject({ state: "succeeded", stopReason: null, error: null, outputJson: '"paid"' });
  });

  test("an unsafe call that stopped in time has timed out, and may have executed", () => {
    expect(play(timingOut(unsafe), stopped, 25_000).live.call).toMatchObject({
      state: "timed_out",
      error: { retryable: false, details: { stop_confirmed: true, may_have_executed: true } },
    });
  });

  test("unheard: safe ends timed_out and unconfirmed, unsafe is parked", () => {
    expect(play(timingOut(safe), look(), 26_000).live.call).toMatchObject({ state: "timed_out", error: { details: { stop_confirmed: false } } });
    expect(play(timingOut(unsafe), look(), 26_000).live.call).toMatchObject({ state: "indeterminate", routingOutcome: "indeterminate" });
  });

  test("the first reason wins: a cancel during a timeout is kept, and changes nothing", () => {
    const outcome = play(timingOut(safe), cancel, 25_000);
    expect(outcome).toMatchObject({ durability: "commit", effects: [], live: { call: { stopReason: "timeout", cancelRequestedBy: "user:bo", graceDeadlineAt: 1_026_000 } } });
    expect(play(outcome.live, stopped, 25_500).live.call.state).toBe("timed_out");
  });

  test("nor does a total deadline that passes meanwhile lengthen the grace", () => {
    const late = playAll(running({ ...safe, totalDeadlineAt: 1_022_000 }), [14_000, { type: "renew", fence: 1 }], [20_000, look()]).live;
    expect(step(late, look(), 1_022_000, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    expect(play(late, look(), 26_000).live.call).toMatchObject({ state: "timed_out", stopReason: "timeout" });
  });

  test("and the other way round: the run's deadline passes over a call that is being cancelled", () => {
    const cancelling = playAll(running({ ...safe, graceMs: 30_000 }), [14_000, { type: "renew", fence: 1 }], [19_000, cancel]).live;
    expect(step(cancelling, look(), 1_020_000, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
  });
});

describe("the total deadline", () => {
  const soon = { totalDeadlineAt: 1_003_000 };
  const timedOut = { code: "timeout", message: expect.stringContaining("total deadline") as string };

  test.each(["queued", "awaiting_approval"] as const)("%s: ends at once", (state) => {
    const queued = admitted(soon);
    const live = { ...queued, call: { ...queued.call, state } };
    expect(step(live, look(), 1_002_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    const outcome = play(live, look(), 3_000);
    expect(outcome.live.call).toMatchObject({ state: "timed_out", stopReason: "total_deadline", error: timedOut, routingOutcome: null });
    expect(outline(outcome.effects)).toEqual(["event:timed_out", "audit", "tell"]);
  });

  test("unsafe and not accepted: ends at once", () => {
    const outcome = playAll(admitted({ ...unsafe, ...soon }), [0, assign], [3_000, look()]);
    expect(outcome.live.call).toMatchObject({ state: "timed_out", fence: 2, error: { ...timedOut, details: { stop_confirmed: true } } });
    expect(only(outcome.effects, "attempt_ended")[0]?.row.endReason).toBe("timed_out");
  });

  test.each([
    ["safe, not accepted", { ...safe, ...soon }, [[0, assign]] as const],
    ["unsafe, accepted", { ...unsafe, ...soon }, [[0, assign], [0, accepted]] as const],
    ["running", { ...unsafe, ...soon }, [[0, assign], [0, accepted], [0, started]] as const],
  ])("%s: the worker is asked to stop, and a result inside the grace is too late", (_, changes, before) => {
    const outcome = playAll(admitted(changes), ...before, [3_000, look()]);
    expect(outcome.live.call).toMatchObject({ stopReason: "total_deadline", graceDeadlineAt: 1_009_000, startDeadlineAt: null });
    expect(only(outcome.effects, "send_cancel")).toEqual([{ ...askedToStop, reason: "timeout" }]);
    expect(play(outcome.live, result(1), 4_000).live.call).toMatchObject({ state: "timed_out", error: timedOut });
  });

  test("an indeterminate call waits for its person: ending it would bury the question", () => {
    const parked = playAll(running({ ...unsafe, ...soon }), [1_000, { type: "missing", fence: 1 }]).live;
    expect(parked.call.state).toBe("indeterminate");
    expect(step(parked, look(), 1_900_000, machineLimits)).toMatchObject({ ok: false, reason: "due_in_indeterminate" });
  });
});

// Leases that end without a result: refusals, silence, a stream that went away; what is run again, and how often.
import { describe, expect, test } from "vitest";
import { admitted, assign, look, machineLimits, ofClass, only, outline, play, playAll, told } from "../../../../test/support/calls.ts";
import type { Happening, Live } from "./machine.ts";
import { step } from "./step.ts";

const accepted = (fence = 1): Happening => ({ type: "accepted", fence });
const started = (fence = 1): Happening => ({ type: "started", fence });
const nack = (fence: number, reason: "retry_elsewhere" | "reject" = "retry_elsewhere"): Happening => ({
  type: "nack",
  fence,
  reason,
  code: "over_capacity",
  message: "every slot is taken",
});
const lost = { type: "send_cancel", fence: 1, workerId: "w1", incarnation: "i1", reason: "lost", graceMs: 5_000 };

const safe = ofClass("idempotent_write");
const unsafe = ofClass("non_idempotent_write");

describe("no code ran", () => {
  test.each([
    ["retry_elsewhere", nack(1), 500, "nack:over_capacity", ["avoid"]],
    ["the start deadline", look(), 10_100, "start_deadline", ["avoid"]],
    ["the start deadline, the stream away", look({ streamAlive: false }), 10_100, "start_deadline", ["avoid"]],
    ["left out of the heartbeats", { type: "missing", fence: 1 } as const, 9_000, "lease_expired", ["avoid"]],
    ["not received", { type: "disowned", fence: 1 } as const, 500, "not_received", []],
  ])("%s: queued again whatever the class; the fence is raised, the attempt is not counted", (_, happening, afterMs, endReason, first) => {
    for (const sideEffectClass of ["read_only", "irreversible_action"] as const) {
      const outcome = playAll(admitted(ofClass(sideEffectClass)), [100, assign], [afterMs, happening]);
      expect(outline(outcome.effects)).toEqual([...first, "attempt_ended", "send_cancel", "event:queued", "enqueue"]);
      expect(outcome.durability).toBe("commit");
      expect(outcome.live).toMatchObject({
        lease: null,
        call: {
          state: "queued",
          fence: 2,
          attempt: 1,
          placements: 1,
          mayHaveRun: false,
          startTag: 1,
          workerId: null,
          incarnation: null,
          replica: null,
          dispatchedAt: null,
          startedAt: null,
          startDeadlineAt: null,
          leaseExpiresAt: null,
          enqueuedAt: 1_000_000 + afterMs,
          notBefore: 1_000_000 + afterMs,
          queueDeadlineAt: 1_030_000 + afterMs,
          error: null,
        },
      });
      expect(only(outcome.effects, "attempt_ended")[0]?.row).toMatchObject({ fence: 1, attempt: 1, endReason, endedAt: 1_000_000 + afterMs });
      expect(only(outcome.effects, "send_cancel")).toEqual([lost]);
      expect(told(outcome.effects)).toEqual([["queued", 4, { reason: endReason, attempt: 1, fence: 2 }]]);
    }
  });

  test("each refusal waits longer before the next lease, and the tenth is the last", () => {
    let live: Live = admitted(unsafe);
    const waits: number[] = [];
    let afterMs = 0;
    for (let fence = 1; fence <= 9; fence++) {
      live = playAll(live, [afterMs, assign], [afterMs, nack(fence)]).live;
      expect(live.call).toMatchObject({ state: "queued", fence: fence + 1, placements: fence, attempt: 1 });
      waits.push(live.call.notBefore - 1_000_000 - afterMs);
      afterMs = live.call.notBefore - 1_000_000;
      expect(live.call.queueDeadlineAt).toBe(live.call.notBefore + 30_000);
    }
    expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    const outcome = playAll(live, [afterMs, assign], [afterMs + 1, nack(10)]);
    expect(outcome.live.call).toMatchObject({
      state: "failed",
      fence: 11,
      routingOutcome: "capacity_exhausted",
      error: { code: "capacity_exhausted", retryable: true, details: { placements: 10, last: "nack:over_capacity" } },
    });
    expect(outline(outcome.effects)).toEqual(["avoid", "attempt_ended", "send_cancel", "event:failed", "audit", "tell"]);
  });

  test.each(["read_only", "irreversible_action"] as const)("a box that cannot be made is tried once more, then that error: %s", (sideEffectClass) => {
    const noBox = (fence: number): Happening => ({ type: "nack", fence, reason: "retry_elsewhere", code: "box_not_provisioned", message: "no room" });
    const boxed = admitted({ ...ofClass(sideEffectClass), sandbox: "native", boxJson: "{}" });
    const first = playAll(boxed, [100, assign], [200, accepted(1)], [300, noBox(1)]);
    expect(first.live.call).toMatchObject({ state: "queued", fence: 2, attempt: 1, placements: 1, mayHaveRun: false, notBefore: 1_000_300 });
    const second = playAll(first.live, [400, assign], [500, noBox(2)]);
    expect(second.live.call).toMatchObject({
      state: "failed",
      fence: 3,
      attempt: 1,
      mayHaveRun: false,
      routingOutcome: null,
      error: { code: "sandbox_unavailable", message: "no box could be made: no room", retryable: true, details: { sandbox: "native" } },
    });
    expect(second.live.call.error?.details).not.toHaveProperty("may_have_executed");
    // The code is a sandbox worker's word: of an application's worker it means nothing of the kind.
    const other = playAll(admitted(ofClass(sideEffectClass)), [100, assign], [200, noBox(1)], [300, assign], [400, noBox(2)]);
    expect(other.live.call).toMatchObject({ state: "queued", placements: 2 });
  });

  test("a call that was asked to stop is stopped, when its box cannot be made", () => {
    const boxed = admitted({ ...ofClass("read_only"), sandbox: "native", boxJson: "{}" });
    const noBox: Happening = { type: "nack", fence: 1, reason: "retry_elsewhere", code: "box_not_provisioned", message: "no room" };
    const outcome = playAll(boxed, [100, assign], [200, { type: "cancel", by: "user:ann" }], [300, noBox]);
    expect(outcome.live.call).toMatchObject({ state: "cancelled", error: { details: { stop_confirmed: true } } });
  });

  test("reject ends the call as failed, for every class, and nothing may have run", () => {
    const outcome = playAll(admitted(unsafe), [100, assign], [200, nack(1, "reject")]);
    expect(outcome.live.call).toMatchObject({
      state: "failed",
      fence: 2,
      routingOutcome: null,
      error: {
        code: "worker_rejected",
        message: "the worker refused the call: every slot is taken",
        retryable: false,
        details: { worker_code: "over_capacity" },
      },
    });
    expect(outcome.live.call.error?.details).not.toHaveProperty("may_have_executed");
    expect(outline(outcome.effects)).toEqual(["attempt_ended", "send_cancel", "event:failed", "audit", "tell"]);
    expect(only(outcome.effects, "attempt_ended")[0]?.row.endReason).toBe("nack");
  });
});

describe("the lease of a call that may have run", () => {
  test.each([
    ["went silent", look(), "lease_expired"],
    ["lost its stream", look({ streamAlive: false }), "indeterminate"],
  ])("safe, its worker %s: attempt + 1, three in all, then that error", (_, gone, code) => {
    let live: Live = admitted(safe);
    let afterMs = 0;
    for (const attempt of [1, 2]) {
      const outcome = playAll(live, [afterMs, assign], [afterMs, accepted(attempt)], [afterMs, started(attempt)], [afterMs + 15_000, gone]);
      expect(outline(outcome.effects)).toEqual(["attempt_ended", "send_cancel", "audit", "event:retried", "enqueue"]);
      expect(outcome.live.call).toMatchObject({ state: "queued", attempt: attempt + 1, fence: attempt + 1, placements: 0, mayHaveRun: false, routingOutcome: code });
      expect(only(outcome.effects, "attempt_ended")[0]?.row).toMatchObject({ fence: attempt, attempt, endReason: code, error: { code, retryable: true } });
      expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.attempt_failed", attempt, errorCode: code, worker: "w1" });
      expect(told(outcome.effects)[0]?.[2]).toEqual({ reason: code, attempt: attempt + 1, fence: attempt + 1 });
      live = outcome.live;
      afterMs += 15_000;
    }
    const last = playAll(live, [afterMs, assign], [afterMs, started(3)], [afterMs + 15_000, gone]);
    expect(last.live.call).toMatchObject({ state: "failed", attempt: 3, fence: 4, routingOutcome: code, error: { code, retryable: true } });
    expect(outline(last.effects)).toEqual(["attempt_ended", "send_cancel", "audit", "event:failed", "audit", "tell"]);
  });

  test.each([
    ["went silent", look(), "lease_expired"],
    ["lost its stream", look({ streamAlive: false }), "indeterminate"],
  ])("unsafe, its worker %s: parked for a person, once", (_, gone, outcomeName) => {
    const outcome = playAll(admitted(unsafe), [0, assign], [0, accepted()], [0, started()], [15_000, gone]);
    expect(outline(outcome.effects)).toEqual(["attempt_ended", "send_cancel", "audit", "event:indeterminate", "audit", "tell"]);
    expect(outcome.live).toMatchObject({
      lease: null,
      call: {
        state: "indeterminate",
        fence: 2,
        attempt: 1,
        settledAt: null,
        routingOutcome: outcomeName,
        leaseExpiresAt: null,
        runDeadlineAt: null,
        error: { code: "indeterminate", retryable: false, details: { may_have_executed: true, resolve: ["confirm", "retry", "fail"] } },
      },
    });
    expect(only(outcome.effects, "audit").map(({ draft }) => draft.action)).toEqual(["call.attempt_failed", "call.parked"]);
    expect(told(outcome.effects)).toEqual([["indeterminate", 5, { outcome: outcomeName, attempt: 1 }]]);
  });

  test("unsafe with on_indeterminate: fail ends as failed, and says that it may have happened", () => {
    const live = admitted({ ...unsafe, onIndeterminate: "fail" });
    const { call } = playAll(live, [0, assign], [0, accepted()], [15_000, look()]).live;
    expect(call).toMatchObject({ state: "failed", routingOutcome: "lease_expired", error: { code: "indeterminate", retryable: false, details: { may_have_executed: true } } });
  });

  test("accepted and not started within 10 s: lost, while the stream is alive to say so", () => {
    const live = playAll(admitted(unsafe), [0, assign], [1_000, accepted()]).live;
    expect(step(live, look(), 1_010_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    expect(play(live, look(), 11_000).live.call).toMatchObject({ state: "indeterminate", routingOutcome: "lease_expired" });
  });

  test("with the stream away no Started can come: the lease decides, and a worker that returns has its start deadline anew", () => {
    const away = playAll(admitted(unsafe), [0, assign], [1_000, accepted()], [11_000, look({ streamAlive: false })]);
    expect(away).toMatchObject({ durability: "none", effects: [], live: { call: { state: "dispatched", startDeadlineAt: null, leaseExpiresAt: 1_015_000 } } });
    const back = playAll(away.live, [12_000, { type: "renew", fence: 1 }], [12_000, accepted()]);
    expect(back.live.call).toMatchObject({ startDeadlineAt: 1_022_000, leaseExpiresAt: 1_027_000 });
    expect(outline(back.effects)).toEqual(["send_go"]);
    expect(play(away.live, look({ streamAlive: false }), 15_000).live.call).toMatchObject({ state: "indeterminate", routingOutcome: "indeterminate" });
  });

  test("a lease runs out at its instant, not a millisecond before", () => {
    const live = playAll(admitted(safe), [0, assign], [0, started()], [5_000, { type: "renew", fence: 1 }]).live;
    expect(step(live, look(), 1_019_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    expect(play(live, look(), 20_000).live.call.attempt).toBe(2);
  });

  test("after a start nothing counts against a worker that is away until it had one lease time to return", () => {
    const live = playAll(admitted(unsafe), [0, assign], [0, started()]).live;
    const restarted = look({ streamAlive: false, mayExpireLeases: false });
    expect(step(live, restarted, 1_900_000, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    // Its stream is back: its deadlines count, its lease does not.
    expect(play(live, look({ mayExpireLeases: false }), 25_000).live.call).toMatchObject({ state: "running", stopReason: "timeout" });
  });
});

describe("an agent's call", () => {
  const agents = (sideEffectClass: "read_only" | "irreversible_action", changes = {}): Live =>
    playAll(admitted({ ...ofClass(sideEffectClass), executor: "agent", ...changes }), [0, assign], [0, accepted()], [0, started()]).live;

  const losses: readonly (readonly [string, Happening, number, string])[] = [
    ["the lease ran out, the stream alive", look(), 15_000, "lease_expired"],
    ["the lease ran out, the stream away", look({ streamAlive: false }), 15_000, "indeterminate"],
    ["left out of the heartbeats", { type: "missing", fence: 1 }, 12_000, "lease_expired"],
  ];

  test.each(losses)("%s: queued again whatever the class, and neither an attempt nor a placement is used up", (_, happening, afterMs, reason) => {
    for (const sideEffectClass of ["read_only", "irreversible_action"] as const) {
      const outcome = play(agents(sideEffectClass), happening, afterMs);
      expect(outcome.live).toMatchObject({
        lease: null,
        call: { state: "queued", fence: 2, attempt: 1, placements: 0, workerId: null, error: null, routingOutcome: null, queueDeadlineAt: 1_030_000 + afterMs },
      });
      expect(only(outcome.effects, "attempt_ended")[0]?.row).toMatchObject({ fence: 1, attempt: 1, endReason: reason });
      expect(told(outcome.effects).at(-1)).toEqual(["queued", expect.any(Number), { reason, attempt: 1, fence: 2 }]);
      expect(only(outcome.effects, "audit")).toEqual([]);
      expect(outcome.durability).toBe("commit");
    }
  });

  test("it may be lost any number of times", () => {
    let live = agents("irreversible_action");
    for (let fence = 1; fence <= 12; fence++) {
      const afterMs = 1_000 * fence;
      live = playAll(live, [afterMs, { type: "missing", fence }], [afterMs, assign], [afterMs, accepted(fence + 1)], [afterMs, started(fence + 1)]).live;
    }
    expect(live.call).toMatchObject({ state: "running", fence: 13, attempt: 1, placements: 0 });
  });

  test("one that was to stop is cancelled when it is lost, and nobody is asked what it did", () => {
    const stopped = play(agents("irreversible_action"), { type: "cancel", by: "user:ann" }, 1_000).live;
    const lost = play(stopped, { type: "missing", fence: 1 }, 2_000);
    expect(lost.live.call).toMatchObject({ state: "cancelled", error: { code: "cancelled", details: { stop_confirmed: false } } });
  });

  test("told to stop, and no word till the grace is over: it ends, and does not park", () => {
    const stopped = play(agents("irreversible_action"), { type: "cancel", by: "user:ann" }, 1_000).live;
    expect(play(stopped, look(), 7_000).live.call).toMatchObject({ state: "cancelled" });
    expect(play(agents("irreversible_action", { timeoutMs: 4_000 }), look(), 4_000).live.call).toMatchObject({ state: "running", stopReason: "timeout" });
  });
});

// A call on its good way: lease, accept, start, result; instants, rows, events and effects with exact numbers.
import type { SideEffectClass } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { admitted, assign, at0, ofClass, only, outline, play, playAll, result, told } from "../../../../test/support/calls.ts";
import type { Happening } from "./machine.ts";

const accepted: Happening = { type: "accepted", fence: 1 };
const started: Happening = { type: "started", fence: 1 };

const lease = {
  tenant: "acme",
  callId: "exec_1",
  fence: 1,
  attempt: 1,
  workerId: "w1",
  incarnation: "i1",
  replica: "r1",
  dispatchedAt: 1_000_100,
  acceptedAt: null,
  startedAt: null,
  endedAt: null,
  endReason: null,
  error: null,
  usage: null,
};

test("assign: a lease of 15 s, 10 s to accept, and the Invoke only once that is stored", () => {
  const outcome = play(admitted(), assign, 100);
  expect(outcome.live.lease).toEqual(lease);
  expect(outcome.live.call).toMatchObject({
    state: "dispatched",
    mayHaveRun: false,
    workerId: "w1",
    incarnation: "i1",
    replica: "r1",
    dispatchedAt: 1_000_100,
    queueDeadlineAt: null,
    startDeadlineAt: 1_010_100,
    leaseExpiresAt: 1_015_100,
    fence: 1,
    attempt: 1,
  });
  expect(outcome.durability).toBe("commit");
  expect(outline(outcome.effects)).toEqual(["event:dispatched", "send_invoke"]);
  expect(told(outcome.effects)).toEqual([["dispatched", 3, { worker: "w1", attempt: 1, fence: 1 }]]);
});

test("assign: not before the back-off is over", () => {
  const { call } = admitted();
  expect(() => play({ call: { ...call, notBefore: at0 + 101 }, lease: null }, assign, 100)).toThrow("not_before");
  expect(play({ call: { ...call, notBefore: at0 + 100 }, lease: null }, assign, 100).live.call.state).toBe("dispatched");
});

describe.each<[SideEffectClass, string[]]>([
  ["read_only", []],
  ["idempotent_write", []],
  ["non_idempotent_write", ["send_go"]],
  ["irreversible_action", ["send_go"]],
])("accepted, %s", (sideEffectClass, effects) => {
  test("the start deadline now waits for Started; Go goes to unsafe classes alone, at once", () => {
    const outcome = playAll(admitted(ofClass(sideEffectClass)), [100, assign], [400, accepted]);
    expect(outline(outcome.effects)).toEqual(effects);
    expect(outcome.durability).toBe("none");
    expect(outcome.live.lease?.acceptedAt).toBe(1_000_400);
    expect(outcome.live.call).toMatchObject({ state: "dispatched", mayHaveRun: true, startDeadlineAt: 1_010_400, eventSeq: 3 });
  });

  test("once more: the same answer, and no new deadline", () => {
    const outcome = playAll(admitted(ofClass(sideEffectClass)), [100, assign], [400, accepted], [5_400, accepted]);
    expect(outline(outcome.effects)).toEqual(effects);
    expect(outcome.live.lease?.acceptedAt).toBe(1_000_400);
    expect(outcome.live.call.startDeadlineAt).toBe(1_010_400);
  });

  test("after Started: noted, and neither a deadline nor a Go", () => {
    const outcome = playAll(admitted(ofClass(sideEffectClass)), [100, assign], [400, started], [500, accepted]);
    expect(outline(outcome.effects)).toEqual([]);
    expect(outcome.live.lease).toMatchObject({ acceptedAt: 1_000_500, startedAt: 1_000_400 });
    expect(outcome.live.call).toMatchObject({ state: "running", startDeadlineAt: null, runDeadlineAt: 1_020_400 });
  });
});

test("started: 20 s to run; written lazily, for no rule rests on it", () => {
  const outcome = playAll(admitted(), [100, assign], [400, accepted], [450, started]);
  expect(outcome.durability).toBe("lazy");
  expect(outcome.live.lease).toEqual({ ...lease, acceptedAt: 1_000_400, startedAt: 1_000_450 });
  expect(outcome.live.call).toMatchObject({
    state: "running",
    mayHaveRun: true,
    startedAt: 1_000_450,
    startDeadlineAt: null,
    runDeadlineAt: 1_020_450,
    leaseExpiresAt: 1_015_100,
  });
  expect(told(outcome.effects)).toEqual([["started", 4, { attempt: 1, worker: "w1" }]]);
});

test("renew: the lease runs 15 s from now, in memory", () => {
  const outcome = playAll(admitted(), [100, assign], [5_000, { type: "renew", fence: 1 }]);
  expect(outcome).toMatchObject({ durability: "none", effects: [], live: { call: { leaseExpiresAt: 1_020_000, startDeadlineAt: 1_010_100 } } });
});

test("a success: attempt, end, audit and answer, in this order and in one commit", () => {
  const outcome = playAll(admitted(), [100, assign], [400, accepted], [450, started], [600, result(1)]);
  expect(outcome.durability).toBe("commit");
  expect(outline(outcome.effects)).toEqual(["attempt_ended", "event:succeeded", "audit", "tell", "ack"]);
  expect(outcome.live.lease).toBeNull();
  expect(outcome.live.call).toMatchObject({
    state: "succeeded",
    fence: 1,
    attempt: 1,
    settledAt: 1_000_600,
    outputJson: '"paid"',
    outputHash: "out1",
    outputBytes: 6,
    usage: { durationMs: 40 },
    error: null,
    workerId: "w1",
    startDeadlineAt: null,
    runDeadlineAt: null,
    leaseExpiresAt: null,
    graceDeadlineAt: null,
    eventSeq: 5,
  });
  expect(only(outcome.effects, "attempt_ended")[0]?.row).toEqual({
    ...lease,
    acceptedAt: 1_000_400,
    startedAt: 1_000_450,
    endedAt: 1_000_600,
    endReason: "succeeded",
    usage: { durationMs: 40 },
  });
  expect(told(outcome.effects)).toEqual([["succeeded", 5, { attempt: 1, output_hash: "out1", output_bytes: 6, duration_ms: 40 }]]);
  expect(only(outcome.effects, "ack")).toEqual([{ type: "ack", fence: 1, verdict: "stored" }]);
});

test("the audit record of an end names hashes, worker, version and policy, and neither input nor output", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const rules = [{ policy: "limits", version: "2.0.0", level: "tenant", outcome: "allow", reason: "", observed: false }] as const;
  const live = admitted({ traceparent, onBehalfOf: "user:bo", decision: { id: "d", outcome: "allow", reason: "", rules, spentMicros: 1 } });
  const outcome = playAll(live, [100, assign], [600, result(1)]);
  expect(only(outcome.effects, "audit").map(({ draft }) => draft)).toEqual([
    {
      ts: 1_000_600,
      tenant: "acme",
      project: "shop",
      principal: "user:ann",
      onBehalfOf: "user:bo",
      action: "call.settled",
      tool: "pay",
      version: "1.0.0",
      manifestDigest: "digest1",
      executionId: "exec_1",
      callId: "exec_1",
      attempt: 1,
      inputHash: "in1",
      outputHash: "out1",
      status: "succeeded",
      worker: "w1",
      policy: { decision: "allow", ids: ["limits@2.0.0"] },
      durationMs: 40,
      requestId: "req_1",
      traceId: "0af7651916cd43dd8448eb211c80319c",
    },
  ]);
});

test("the tool's own failure is the call's", () => {
  const error = { code: "tool_error", message: "declined", type: "tool", retryable: false, details: { tool_code: "declined" } } as const;
  const failure = result(1, { status: "failed", error, outputJson: null, outputHash: null, outputBytes: 0 });
  const outcome = playAll(admitted(), [100, assign], [600, failure]);
  expect(outcome.live.call).toMatchObject({ state: "failed", error, outputJson: null, routingOutcome: null });
  expect(only(outcome.effects, "attempt_ended")[0]?.row).toMatchObject({ endReason: "failed", error });
  expect(told(outcome.effects)).toEqual([["failed", 4, { attempt: 1, code: "tool_error", duration_ms: 40 }]]);
});

test("a worker that stops the handler by itself has failed the call", () => {
  const stopped = result(1, { status: "cancelled", outputJson: null, outputHash: null, outputBytes: 0 });
  const { call } = playAll(admitted(), [100, assign], [450, started], [600, stopped]).live;
  expect(call).toMatchObject({ state: "failed", error: { code: "tool_error", details: { tool_code: "handler_stopped" } } });
});

test("a worker that stopped the handler by its own clock, past the run's deadline, has timed it out", () => {
  const stopped = result(1, { status: "cancelled", outputJson: null, outputHash: null, outputBytes: 0 });
  const before = playAll(admitted(), [100, assign], [450, started]).live;
  expect(play(before, stopped, 20_449).live.call).toMatchObject({ state: "failed" });
  expect(play(before, stopped, 20_450).live.call).toMatchObject({
    state: "timed_out",
    stopReason: "timeout",
    error: { code: "timeout", details: { stop_confirmed: true } },
  });
});

test("a result without a Started before it counts all the same", () => {
  expect(playAll(admitted(), [100, assign], [600, result(1)]).live.call).toMatchObject({ state: "succeeded", startedAt: null });
});

test.each(["accepted", "renew"] as const)("%s: of an unsafe call whose lease is over it changes nothing, and there is no Go", (type) => {
  const held = play(admitted(ofClass("non_idempotent_write")), assign, 100).live;
  expect(() => play(held, { type, fence: 1 }, 15_100)).toThrow("lease_over");
  expect(play(held, { type, fence: 1 }, 15_099).live.call.state).toBe("dispatched");
});

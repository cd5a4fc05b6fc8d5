// Attempts after a failed one: who gets another, when, how often, and what the failed one leaves behind.
import { errorBody, type ErrorCode } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { admitted, assign, at0, look, only, outline, play, playAll, result, told } from "../../../../test/support/calls.ts";
import type { Happening, Live } from "./machine.ts";
import { pinnedRetry, retryPolicyOf, type RetryPolicy } from "./retry.ts";
import type { CallIdentity } from "./types.ts";

const policy: RetryPolicy = { attempts: 3, strategy: "exponential", initialMs: 2_000, factor: 2, maxMs: 120_000, timeouts: false };

function call(changes: Partial<RetryPolicy> = {}, identity: Partial<CallIdentity> = {}): Live {
  return admitted({ sideEffectClass: "idempotent_write", retryJson: pinnedRetry({ ...policy, ...changes }, "idempotent_write"), ...identity });
}

const accepted = (fence: number): Happening => ({ type: "accepted", fence });
const started = (fence: number): Happening => ({ type: "started", fence });
const failed = (fence: number, details: Record<string, unknown> = {}, code: ErrorCode = "tool_error", retryable = true): Happening =>
  result(fence, { status: "failed", outputJson: null, outputHash: null, outputBytes: 0, error: errorBody(code, "not now", details, retryable) });

const running = (live: Live): Live => playAll(live, [100, assign], [110, accepted(1)], [120, started(1)]).live;

describe("a failure that a repeat helps against", () => {
  test("RTY-01: queued again after 2 s, then 4 s, a tenth more or less; the third attempt may succeed", () => {
    const first = play(running(call()), failed(1), 1_000);
    expect(outline(first.effects)).toEqual(["attempt_ended", "audit", "event:retried", "enqueue", "ack"]);
    expect(first.durability).toBe("commit");
    const { call: waits } = first.live;
    expect(waits).toMatchObject({ state: "queued", attempt: 2, fence: 2, error: null, outputJson: null, workerId: null, mayHaveRun: false, startTag: 1 });
    const delay1 = waits.notBefore - (at0 + 1_000);
    expect(delay1).toBeGreaterThanOrEqual(1_800);
    expect(delay1).toBeLessThanOrEqual(2_200);
    // All its time in the queue begins when it may go.
    expect(waits.queueDeadlineAt).toBe(waits.notBefore + 30_000);
    expect(told(first.effects)).toEqual([
      ["retried", 5, { reason: "failed", attempt: 2, fence: 2, code: "tool_error", delay_ms: delay1, not_before: waits.notBefore }],
    ]);
    expect(only(first.effects, "ack")).toEqual([{ type: "ack", fence: 1, verdict: "stored" }]);

    const early = { ...assign };
    expect(() => play(first.live, early, 1_000 + delay1 - 1)).toThrow("not_before");
    const again = playAll(first.live, [1_000 + delay1, assign], [4_000, started(2)]).live;
    const second = play(again, failed(2), 5_000);
    const delay2 = second.live.call.notBefore - (at0 + 5_000);
    expect(delay2).toBeGreaterThanOrEqual(3_600);
    expect(delay2).toBeLessThanOrEqual(4_400);
    const last = playAll(second.live, [5_000 + delay2, assign], [10_000, result(3)]);
    expect(last.live.call).toMatchObject({ state: "succeeded", attempt: 3, fence: 3, outputJson: '"paid"' });
  });

  test("report 227: each failed attempt has its own row and its own record, and no worker is told to let go of what it has returned", () => {
    const { effects } = play(running(call()), failed(1), 1_000);
    expect(only(effects, "attempt_ended")[0]?.row).toMatchObject({ fence: 1, attempt: 1, endReason: "failed", endedAt: at0 + 1_000, error: { code: "tool_error" }, usage: { durationMs: 40 } });
    expect(only(effects, "audit")[0]?.draft).toMatchObject({ action: "call.attempt_failed", attempt: 1, errorCode: "tool_error" });
    expect(only(effects, "send_cancel")).toEqual([]);
  });

  test("its attempts used up, it ends with the last error", () => {
    const end = play(running(call({ attempts: 1 })), failed(1), 1_000);
    expect(end.live.call).toMatchObject({ state: "failed", attempt: 1, error: { code: "tool_error", message: "not now" } });
    const two = play(running(call({ attempts: 2, strategy: "fixed", initialMs: 0 })), failed(1), 1_000).live;
    expect(playAll(two, [1_000, assign], [1_100, failed(2)]).live.call).toMatchObject({ state: "failed", attempt: 2, error: { code: "tool_error" } });
  });

  test("RTY-06: an attempt that could only begin after the caller's deadline is not waited for", () => {
    const live = running(call({ strategy: "fixed", initialMs: 8_000 }, { totalDeadlineAt: at0 + 5_000 }));
    expect(play(live, failed(1), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1, error: { code: "tool_error" }, settledAt: at0 + 1_000 });
  });

  test("RTY-04: a call that is not safe to repeat surfaces its first failure, whatever its row says", () => {
    for (const sideEffectClass of ["non_idempotent_write", "irreversible_action"] as const) {
      expect(pinnedRetry(policy, sideEffectClass)).toBeNull();
      const live = running(call({ timeouts: true }, { sideEffectClass }));
      expect(play(live, failed(1), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1 });
    }
  });

  test("somebody who wants it to stop is not answered with another attempt", () => {
    const live = play(running(call()), { type: "cancel", by: "user:ann" }, 500).live;
    expect(play(live, failed(1), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1 });
  });

  test("while its tool's breaker would be open there is none", () => {
    const happening = failed(1) as Extract<Happening, { type: "result" }>;
    expect(play(running(call()), { ...happening, mayRetry: false }, 1_000).live.call).toMatchObject({ state: "failed", attempt: 1 });
  });

  test("without a policy a failure is the end", () => {
    expect(play(running(call({}, { retryJson: null })), failed(1), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1 });
  });
});

test.each(["invalid_input", "forbidden", "invalid_output", "resource_exceeded"] as const)("%s is never tried again", (code) => {
  expect(play(running(call()), failed(1, {}, code), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1, error: { code } });
});

test("a tool that says no has said it", () => {
  expect(play(running(call()), failed(1, {}, "tool_error", false), 1_000).live.call).toMatchObject({ state: "failed", attempt: 1 });
});

describe("report 213: the wait that a tool asks for", () => {
  test.each([
    [{ tool_details: { retry_after: 5 } }, 5_000],
    [{ tool_details: { retry_after_ms: 40 } }, 40],
    [{ tool_details: { retry_after: "Thu, 01 Jan 1970 00:16:48 GMT" } }, 7_000],
    [{ tool_details: { retry_after: "Thu, 01 Jan 1970 00:00:01 GMT" } }, 0],
    [{ tool_details: { retry_after: 90_000 } }, 3_600_000],
  ])("%j wins over the curve", (details, ms) => {
    expect(play(running(call()), failed(1, details), 1_000).live.call.notBefore).toBe(at0 + 1_000 + ms);
  });
});

describe("a timeout", () => {
  const late = (live: Live): Live => playAll(running(live), [14_000, { type: "renew", fence: 1 }], [20_120, look()]).live;
  const stopped = result(1, { status: "cancelled", outputJson: null, outputHash: null, outputBytes: 0, usage: { durationMs: 20_000 } });

  test("is the end, unless the tool's policy counts it in", () => {
    expect(play(late(call()), stopped, 21_000).live.call).toMatchObject({ state: "timed_out", attempt: 1 });
    const again = play(late(call({ timeouts: true })), stopped, 21_000);
    expect(again.live.call).toMatchObject({ state: "queued", attempt: 2, fence: 2, stopReason: null, graceDeadlineAt: null, runDeadlineAt: null });
    expect(only(again.effects, "attempt_ended")[0]?.row).toMatchObject({ endReason: "timed_out", error: { code: "timeout" } });
  });

  test("whose stop nobody confirmed is tried again too, and the old worker is told to drop it", () => {
    const again = play(late(call({ timeouts: true })), look(), 27_000);
    expect(again.live.call).toMatchObject({ state: "queued", attempt: 2, fence: 2 });
    expect(only(again.effects, "send_cancel")).toMatchObject([{ fence: 1, reason: "lost" }]);
  });

  test("of an unsafe call is not", () => {
    const live = late(call({ timeouts: true }, { sideEffectClass: "irreversible_action" }));
    expect(play(live, look(), 27_000).live.call).toMatchObject({ state: "indeterminate", attempt: 1 });
  });

  test("of the caller's own deadline is not", () => {
    const live = play(running(call({ timeouts: true }, { totalDeadlineAt: at0 + 10_000 })), look(), 10_000).live;
    expect(play(live, stopped, 10_100).live.call).toMatchObject({ state: "timed_out", attempt: 1 });
  });
});

test("what is lost has three attempts, or as many as the policy has", () => {
  const lost = (live: Live, fence: number, afterMs: number): Live =>
    playAll(live, [afterMs, assign], [afterMs + 1, accepted(fence)], [afterMs + 2, { type: "missing", fence }]).live;
  const three = lost(lost(lost(call({ attempts: 2 }), 1, 100), 2, 200), 3, 300);
  expect(three.call).toMatchObject({ state: "failed", attempt: 3 });
  const five = lost(lost(lost(lost(call({ attempts: 5 }), 1, 100), 2, 200), 3, 300), 4, 400);
  expect(five.call).toMatchObject({ state: "queued", attempt: 5 });
});

test("what is pinned is read back as it was", () => {
  const given: RetryPolicy = { attempts: 7, strategy: "linear", initialMs: 3, factor: 4, maxMs: 99, timeouts: true };
  expect(pinnedRetry(given, "read_only")).toBe('{"attempts":7,"strategy":"linear","initial_ms":3,"factor":4,"max_ms":99,"timeouts":true}');
  expect(retryPolicyOf({ retryJson: pinnedRetry(given, "read_only") })).toEqual(given);
  expect(pinnedRetry({ ...given, attempts: 1 }, "read_only")).toBeNull();
  expect(retryPolicyOf({ retryJson: null }).attempts).toBe(1);
});

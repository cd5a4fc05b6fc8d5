// The record that callers see: its fields, its times, and a result whose digits are those that the worker sent.
import { errorBody } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { admitted, assign, at0, playAll, result } from "../../../../test/support/calls.ts";
import { executionBlock, executionJson } from "./view.ts";

const succeeded = playAll(
  admitted({ idempotencyKey: "k1" }),
  [100, assign],
  [450, { type: "started", fence: 1 }],
  [600, result(1, { outputJson: '{"id":12345678901234567890,"a":1e400}', usage: { durationMs: 40, cpuMs: 3, peakMemoryBytes: 4_096 } })],
).live.call;

test("every field of a call that succeeded", () => {
  const text = executionJson(succeeded);
  expect(JSON.parse(text)).toEqual({
    execution_id: "exec_1",
    tool: "pay",
    version: "1.0.0",
    status: "succeeded",
    project: "shop",
    principal: "user:ann",
    side_effect_class: "read_only",
    idempotency_key: "k1",
    created_at: "1970-01-01T00:16:40.000Z",
    settled_at: "1970-01-01T00:16:40.600Z",
    cancel_requested_at: null,
    approval_id: null,
    input_hash: "in1",
    output_hash: "out1",
    request_id: "req_1",
    execution: {
      sandbox: "application",
      worker: "w1",
      attempt: 1,
      warm: true,
      queued_ms: 100,
      start_ms: 350,
      duration_ms: 40,
      resources: { cpu_ms: 3, peak_memory_bytes: 4_096, egress_bytes: null },
      truncated: {},
      cache: null,
      cached_from: null,
      decision_id: "dec_1",
      limits: { timeout_ms: 20_000, max_output_bytes: 1_048_576 },
    },
    output: { id: 12345678901234567000, a: Infinity },
  });
  expect(text).toContain('"output":{"id":12345678901234567890,"a":1e400}}');
});

test("times that are not known are null, and a clock that went back gives no negative ones", () => {
  const { call } = admitted();
  expect(executionBlock(call)).toMatchObject({ worker: null, queued_ms: null, start_ms: null, duration_ms: null });
  expect(executionBlock({ ...call, dispatchedAt: at0 - 5, startedAt: at0 - 9 })).toMatchObject({ queued_ms: 0, start_ms: 0 });
});

test("only a success shows an output; a timeout keeps what came too late to itself", () => {
  expect(executionJson({ ...succeeded, state: "timed_out", error: errorBody("timeout", "too long") })).not.toContain("output\":{");
  expect(JSON.parse(executionJson({ ...succeeded, outputJson: null }))).not.toHaveProperty("output");
});

test("what is only said when it is so: the error, replaced text, the routing outcome", () => {
  const error = errorBody("no_handler", "nobody serves it");
  const call = { ...admitted().call, state: "failed", error, routingOutcome: "no_handler", outputIllFormed: true } as const;
  expect(JSON.parse(executionJson(call))).toMatchObject({ error, execution: { ill_formed_text_replaced: true, routing_outcome: "no_handler" } });
  expect(JSON.parse(executionJson(succeeded))).not.toHaveProperty("error");
});

test("what was answered with an earlier result says so, and that it ran nowhere", () => {
  const hit = { ...succeeded, cacheKey: "k", cachedFrom: "exec_0", workerId: null, usage: null, dispatchedAt: null, startedAt: null };
  expect(executionBlock(hit)).toMatchObject({ cache: "hit", cached_from: "exec_0", sandbox: null, worker: null, warm: null, duration_ms: null });
  expect(executionBlock({ ...succeeded, cacheKey: "k" })).toMatchObject({ cache: "miss", cached_from: null });
});

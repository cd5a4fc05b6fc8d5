// What an ended call adds to the usage: one end, its times in microseconds, its bytes; and nothing of numbers that make no sense.
import { expect, test } from "vitest";
import { sampleCall, settledCall } from "../../../../test/conformance/ledger-rows.ts";
import { usageOf } from "./usage-of.ts";

const day = "2026-01-01";
const call = sampleCall({ callId: "c1", inputJson: '{"name":"Zoë €"}' });

test("a success with all that its worker told", () => {
  const usage = { durationMs: 12.3456, cpuMs: 3.5, peakMemoryBytes: 1_048_576 };
  expect(usageOf(settledCall(call, { usage }), { day, admitted: true })).toEqual({
    tenant: "acme",
    project: "shop",
    tool: "orders.find",
    day: "2026-01-01",
    executions: 1,
    succeeded: 1,
    failed: 0,
    timedOut: 0,
    cancelled: 0,
    denied: 0,
    cacheHits: 0,
    durationUs: 12_346,
    cpuUs: 3_500,
    peakMemoryBytes: 1_048_576,
    egressBytes: 0,
    // 16 characters, of which one has two bytes and one has three.
    inputBytes: 19,
    outputBytes: 13,
  });
});

test.each(["succeeded", "failed", "timed_out", "cancelled", "denied"] as const)("the end %s is counted as such", (state) => {
  const { succeeded, failed, timedOut, cancelled, denied } = usageOf(settledCall(call, { state }), { day, admitted: true });
  const counted = { succeeded, failed, timed_out: timedOut, cancelled, denied };
  expect(Object.entries(counted).filter(([, count]) => count !== 0)).toEqual([[state, 1]]);
});

test("who was refused before its admission is denied, and no execution", () => {
  const denied = settledCall(call, { state: "denied", inputJson: null, usage: null, outputBytes: 0 });
  expect(usageOf(denied, { day, admitted: false })).toMatchObject({ executions: 0, denied: 1, inputBytes: 0, outputBytes: 0, durationUs: 0 });
});

test("an answer from an earlier result is an execution, and a hit", () => {
  const hit = settledCall(call, { usage: null, cachedFrom: "c0" });
  expect(usageOf(hit, { day, admitted: true })).toMatchObject({ executions: 1, succeeded: 1, cacheHits: 1, durationUs: 0, outputBytes: 13 });
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -5, 1e300])("a worker that says %d has used nothing", (said) => {
  const usage = { durationMs: said, cpuMs: said, peakMemoryBytes: said };
  expect(usageOf(settledCall(call, { usage }), { day, admitted: true })).toMatchObject({ durationUs: 0, cpuUs: 0, peakMemoryBytes: 0 });
});

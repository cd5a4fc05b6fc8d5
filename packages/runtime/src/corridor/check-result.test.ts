// What a worker sends, case by case: what is believed, what is refused, and what a caller is told of it.
import type { Result, SideEffectClass, WorkError } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { resultCheck } from "./check-result.ts";

const usage = { durationMs: 3 };
const hash = (text: string): string => `hash of ${text}`;
const result = (more: Partial<Result>): Result => ({ type: "result", callId: "exec_1", fence: 4, status: "succeeded", usage, ...more });
const check = (more: Partial<Result>, sideEffectClass: SideEffectClass = "read_only", resultBytesMax = 100) =>
  resultCheck(undefined, hash)(admitted({ sideEffectClass, resultBytesMax }).call, result(more), "w1");

describe("a success", () => {
  test.each([
    ['{"id":7}', '{"id":7}', 8, false],
    ["12345678901234567890", "12345678901234567890", 20, false],
    ['"ä"', '"ä"', 4, false],
    ["null", "null", 4, false],
    [String.raw`"\ud83d\ude00"`, String.raw`"\ud83d\ude00"`, 14, false],
    [String.raw`"a\ud83d"`, String.raw`"a\ufffd"`, 9, true],
    ['"a\ud83d"', '"a\ufffd"', 6, true],
  ])("%s is kept as %s", (outputJson, kept, outputBytes, outputIllFormed) => {
    expect(check({ outputJson })).toEqual({
      fence: 4,
      workerId: "w1",
      status: "succeeded",
      outputJson: kept,
      outputHash: `hash of ${kept}`,
      outputBytes,
      outputIllFormed,
      error: null,
      usage,
    });
  });

  test("text that the codec had to mend is flagged", () => {
    expect(check({ outputJson: '"\ufffd"', illFormed: true })).toMatchObject({ status: "succeeded", outputIllFormed: true });
  });

  test("exactly as large as allowed, and one byte more", () => {
    expect(check({ outputJson: `"${"x".repeat(98)}"` }).status).toBe("succeeded");
    expect(check({ outputJson: `"${"ä".repeat(49)}x"` })).toMatchObject({
      status: "failed",
      outputJson: null,
      outputHash: null,
      outputBytes: 0,
      error: {
        code: "resource_exceeded",
        message: "the result has 101 bytes; the limit is 100",
        retryable: false,
        details: { resource: "output", limit: 100, observed: 101 },
      },
    });
  });

  test.each([
    ["nothing at all", {}, "without a result"],
    ["no JSON", { outputJson: "{" }, "is not JSON"],
    ["JSON and more", { outputJson: "1 2" }, "is not JSON"],
    ["65 levels", { outputJson: `${"[".repeat(65)}${"]".repeat(65)}` }, "nested deeper than 64"],
  ])("%s is no result", (_, more, message) => {
    expect(check(more, "read_only", 1_000)).toMatchObject({
      status: "failed",
      outputJson: null,
      error: { code: "invalid_output", message: expect.stringContaining(message) as string, retryable: false },
    });
  });

  test("64 levels are", () => {
    expect(check({ outputJson: `${"[".repeat(64)}${"]".repeat(64)}` }, "read_only", 1_000).status).toBe("succeeded");
  });

  test("what the output schema refuses, with its reasons; it sees the mended value", () => {
    const seen: unknown[] = [];
    const errors = [{ pointer: "/id", keyword: "type", message: "must be a number" }];
    const checked = resultCheck((value) => {
      seen.push(value);
      return { ok: false, errors };
    }, hash)(admitted().call, result({ outputJson: String.raw`{"id":"\udc00"}` }), "w1");
    expect(checked).toMatchObject({ status: "failed", outputJson: null, error: { code: "invalid_output", details: { errors } } });
    expect(seen).toEqual([{ id: "\ufffd" }]);
  });
});

describe("the tool's own failure", () => {
  const failure = (error: Partial<WorkError>, sideEffectClass?: SideEffectClass) =>
    check({ status: "failed", error: { code: "declined", message: "no funds", retryable: true, ...error } }, sideEffectClass).error;

  test("is a tool_error; its code stands in the details and never in the place of ours", () => {
    expect(failure({ code: "forbidden" })).toEqual({
      code: "tool_error",
      message: "no funds",
      type: "tool",
      retryable: true,
      details: { tool_code: "forbidden" },
    });
  });

  test("is retryable only as the tool says, and never for an unsafe class", () => {
    expect(failure({ retryable: false })?.retryable).toBe(false);
    expect(failure({}, "idempotent_write")?.retryable).toBe(true);
    expect(failure({}, "non_idempotent_write")).toMatchObject({ retryable: false, details: { may_have_executed: true } });
  });

  test("without a word is told as such", () => {
    expect(check({ status: "failed" }).error).toMatchObject({ code: "tool_error", details: { tool_code: "unspecified" } });
  });

  test("is cut to its bounds, and a cut leaves no half character", () => {
    const error = failure({ message: `${"x".repeat(1_999)}😀`, code: `${"c".repeat(127)}😀` });
    expect(error?.message).toBe(`${"x".repeat(1_999)}\ufffd`);
    expect(error?.details?.["tool_code"]).toBe(`${"c".repeat(127)}\ufffd`);
  });

  test.each([
    ['{"a":[1]}', { a: [1] }],
    [String.raw`{"a":"\ud800"}`, { a: "\ufffd" }],
    ["{", { malformed: true }],
    [`${"[".repeat(65)}${"]".repeat(65)}`, { malformed: true }],
    [`"${"x".repeat(16_383)}"`, { truncated: true, chars: 16_385 }],
  ])("details %.20s", (detailsJson, expected) => {
    expect(failure({ detailsJson })?.details?.["tool_details"]).toEqual(expected);
  });

  test.each([
    ["result_too_large", "resource_exceeded"],
    ["result_not_json", "invalid_output"],
    ["malformed_message", "invalid_output"],
  ])("%s, said by the SDK or the transport, is %s; an unsafe handler was entered all the same", (code, ours) => {
    expect(failure({ code })).toMatchObject({ code: ours, retryable: false, details: { tool_code: code } });
    expect(failure({ code })?.details).not.toHaveProperty("may_have_executed");
    expect(failure({ code }, "irreversible_action")?.details).toMatchObject({ may_have_executed: true });
  });
});

test.each(["non_idempotent_write", "irreversible_action"] as const)("%s: a refused result may have executed", (sideEffectClass) => {
  expect(check({ outputJson: "{" }, sideEffectClass).error).toMatchObject({ code: "invalid_output", details: { may_have_executed: true } });
});

test("a confirmed stop carries neither output nor error: what it means is the machine's to say", () => {
  const error = { code: "stopped_after_timeout", message: "", retryable: false };
  expect(check({ status: "cancelled", outputJson: "1", error })).toEqual({
    fence: 4,
    workerId: "w1",
    status: "cancelled",
    outputJson: null,
    outputHash: null,
    outputBytes: 0,
    outputIllFormed: false,
    error: null,
    usage,
  });
});

// What handlers throw and return, and what the runtime hears of it.
import { expect, test } from "vitest";
import { CallStopped, ToolError, endOf, failureOf } from "./failure.ts";

const failed = (code: string, message: string, retryable = false, detailsJson?: string): object => ({
  status: "failed",
  error: detailsJson === undefined ? { code, message, retryable } : { code, message, retryable, detailsJson },
});

test.each<[string, unknown, object]>([
  ["an error", new Error("boom"), failed("handler_error", "boom")],
  ["an error with a code", Object.assign(new Error("no file"), { code: "ENOENT" }), failed("ENOENT", "no file")],
  ["a code that is a number", Object.assign(new Error("x"), { code: 20 }), failed("handler_error", "x")],
  ["a retryable error", Object.assign(new Error("busy"), { retryable: true }), failed("handler_error", "busy", true)],
  ["only true is retryable", Object.assign(new Error("busy"), { retryable: "yes" }), failed("handler_error", "busy")],
  [
    "a ToolError",
    new ToolError("invalid_args", "no amount", {
      retryable: true,
      details: { field: "amount", n: 12345678901234567890n },
    }),
    failed("invalid_args", "no amount", true, '{"field":"amount","n":12345678901234567890}'),
  ],
  ["a string", "boom", failed("handler_error", "boom")],
  ["nothing", undefined, failed("handler_error", "undefined")],
  ["an object without a message", { a: 1 }, failed("handler_error", "the handler threw an object without a message")],
  ["a long message", new Error("x".repeat(3_000)), failed("handler_error", `${"x".repeat(1_999)}…`)],
  ["a long code", new ToolError("c".repeat(200), ""), failed(`${"c".repeat(127)}…`, "")],
  ["an empty code", new ToolError("", "m"), failed("handler_error", "m")],
  ["ill-formed text", new Error("a\ud800b"), failed("handler_error", "a\ufffdb")],
  ["details that are no JSON", new ToolError("c", "m", { details: { f: () => {} } }), failed("c", "m")],
  ["details over 16 KiB", new ToolError("c", "m", { details: { f: "x".repeat(16_400) } }), failed("c", "m")],
])("thrown: %s", (_, thrown, expected) => {
  expect(failureOf(thrown)).toEqual(expected);
});

test("thrown: something whose members throw", () => {
  const evil = new Proxy(
    {},
    {
      get() {
        throw new Error("no");
      },
    },
  );
  expect(failureOf(evil)).toEqual(failed("handler_error", "the handler threw something unreadable"));
});

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

test.each<[unknown, string]>([
  [{ a: 1, b: [true, null, "x"] }, '{"a":1,"b":[true,null,"x"]}'],
  [undefined, "null"],
  [12345678901234567890n, "12345678901234567890"],
  [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
])("returned: %o", (value, outputJson) => {
  expect(endOf(value)).toEqual({ status: "succeeded", outputJson });
});

test("returned: ill-formed text is replaced and flagged", () => {
  expect(endOf("a\udc00")).toEqual({ status: "succeeded", outputJson: '"a\\ufffd"', illFormed: true });
});

test.each([[() => {}], [Symbol("s")], [{ n: Number.NaN }], [new Map()], [cycle]])(
  "returned: %o is not JSON",
  (value) => {
    const end = endOf(value);
    expect(end.status === "failed" && end.error.code).toBe("result_not_json");
  },
);

test("returned: more than a result may have", () => {
  const end = endOf("x".repeat(1_048_575));
  expect(end.status === "failed" && [end.error.code, end.error.message]).toEqual([
    "result_too_large",
    "the result has 1048577 bytes or more, over the 1048576 of a result: return a reference to it",
  ]);
});

test("the reason of a stop is an AbortError that says why", () => {
  const stopped = new CallStopped("timeout");
  expect([stopped.name, stopped.code, stopped.reason, stopped.message]).toEqual([
    "AbortError",
    "ABORT_ERR",
    "timeout",
    "the call was stopped (timeout)",
  ]);
});

// Every code of the error table through the door, and what an error may and may not carry.
import { describe, expect, test } from "vitest";
import { errorTable, SignalboxError } from "@signalbox/protocol";
import type { ErrorCode } from "@signalbox/protocol";
import { openDoor } from "../../../../../test/support/http-door.ts";
import { errorAnswer } from "./errors.ts";

/** Design's table, written out: code, HTTP status, type, retryable. */
const told: readonly [ErrorCode, number, string, boolean][] = [
  ["unauthenticated", 401, "authentication", false],
  ["token_expired", 401, "authentication", false],
  ["key_revoked", 401, "authentication", false],
  ["forbidden", 403, "permission", false],
  ["policy_error", 403, "permission", false],
  ["integrity_violation", 403, "permission", false],
  ["approval_denied", 403, "permission", false],
  ["approval_expired", 403, "permission", false],
  ["tool_not_found", 404, "not_found", false],
  ["execution_not_found", 404, "not_found", false],
  ["key_not_found", 404, "not_found", false],
  ["grant_not_found", 404, "not_found", false],
  ["approval_not_found", 404, "not_found", false],
  ["policy_not_found", 404, "not_found", false],
  ["tenant_not_found", 404, "not_found", false],
  ["project_not_found", 404, "not_found", false],
  ["webhook_not_found", 404, "not_found", false],
  ["agent_not_found", 404, "not_found", false],
  ["session_not_found", 404, "not_found", false],
  ["worker_not_found", 404, "not_found", false],
  ["route_not_found", 404, "not_found", false],
  ["invalid_input", 400, "invalid_request", false],
  ["payload_too_large", 413, "limit", false],
  ["idempotency_conflict", 409, "conflict", false],
  ["approval_closed", 409, "conflict", false],
  ["conflict", 409, "conflict", false],
  ["rate_limited", 429, "limit", true],
  ["quota_exceeded", 429, "limit", true],
  ["queue_full", 429, "limit", true],
  ["timeout", 504, "tool", true],
  ["resource_exceeded", 422, "tool", false],
  ["sandbox_unavailable", 503, "routing", true],
  ["no_handler", 503, "routing", true],
  ["capacity_exhausted", 503, "routing", true],
  ["breaker_open", 503, "routing", true],
  ["draining", 503, "runtime", true],
  ["ledger_unavailable", 503, "runtime", true],
  ["lease_expired", 502, "routing", true],
  ["indeterminate", 502, "routing", true],
  ["worker_rejected", 502, "routing", false],
  ["tool_error", 422, "tool", false],
  ["invalid_output", 502, "tool", false],
  ["cancelled", 200, "cancelled", false],
  ["internal", 500, "runtime", false],
];
/** Said in the door's own words. */
const sameForAll: readonly string[] = [
  "execution_not_found",
  "key_not_found",
  "grant_not_found",
  "approval_not_found",
  "tenant_not_found",
  "webhook_not_found",
];

test("no code of the table is left out here", () => {
  expect(told.map(([code]) => code).toSorted()).toEqual(Object.keys(errorTable).toSorted());
});

test.each(told)("%s is told as HTTP %i, exactly in the shape", async (code, status, type, retryable) => {
  const door = await openDoor({
    invoke: async () => {
      throw new SignalboxError(code, "some words", { details: { a: 1 }, executionId: "exec_7" });
    },
  });
  const heard = await door.ask("POST", "/v1/executions", {
    body: '{"tool":"echo","input":1}',
    headers: { "x-request-id": "r" },
  });
  expect(heard.status).toBe(status);
  const error = { code, message: "some words", type, retryable, details: { a: 1 }, request_id: "r" };
  if (sameForAll.includes(code)) {
    expect(heard.json).toEqual({
      error: { ...error, message: expect.stringContaining("there is no such") as string, details: {} },
    });
  } else {
    expect(heard.json).toEqual({ error, execution_id: "exec_7" });
  }
});

describe("Retry-After", () => {
  const headersFor = (code: ErrorCode, after: unknown) =>
    errorAnswer(new SignalboxError(code, "x", { details: { retry_after_s: after } }), "r").headers?.["retry-after"];

  test.each([
    ["rate_limited", 1, "1"],
    ["queue_full", 0.2, "1"],
    ["draining", 9.01, "10"],
    ["quota_exceeded", 0, "0"],
    ["draining", "soon", undefined],
    ["draining", -1, undefined],
    ["draining", Number.POSITIVE_INFINITY, undefined],
    ["tool_error", 3, undefined],
  ] as const)("%s after %s → %s", (code, after, header) => {
    expect(headersFor(code, after)).toBe(header);
  });

  test("reaches the wire", async () => {
    const door = await openDoor({
      invoke: async () => {
        throw new SignalboxError("rate_limited", "slow down", { details: { retry_after_s: 7 } });
      },
    });
    const heard = await door.ask("POST", "/v1/executions", { body: '{"tool":"echo","input":1}' });
    expect([heard.status, heard.headers.get("retry-after")]).toEqual([429, "7"]);
  });
});

describe("what an error may carry", () => {
  const body = (error: SignalboxError): unknown => JSON.parse(errorAnswer(error, "r").text);

  test("an end that may have run is never called repeatable", () => {
    const error = new SignalboxError("lease_expired", "lost", { details: { may_have_executed: true } });
    expect(body(error)).toMatchObject({ error: { retryable: false, details: { may_have_executed: true } } });
  });

  test("numbers in details keep their digits", () => {
    const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
    const error = new SignalboxError("invalid_input", "no", { details: { found: rawJSON("9007199254740993") } });
    expect(errorAnswer(error, "r").text).toContain('"found":9007199254740993');
  });

  test("a message is cut and well-formed", () => {
    const long = new SignalboxError("tool_error", `\ud800${"x".repeat(3_000)}`);
    expect(body(long)).toMatchObject({ error: { message: `\ufffd${"x".repeat(1_999)}` } });
  });

  test("details over 16 KiB, or that are no JSON, are left out and said to be", () => {
    const large = new SignalboxError("tool_error", "x", { details: { text: "y".repeat(16_384) } });
    expect(body(large)).toMatchObject({ error: { details: { omitted: "details over 16384 bytes" } } });
    const odd = new SignalboxError("tool_error", "x", { details: { n: 1n } });
    expect(body(odd)).toMatchObject({ error: { details: { omitted: "details that are not JSON" } } });
  });
});

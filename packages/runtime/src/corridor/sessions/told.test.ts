// What a model is told of a call, word for word where a model acts on the words.
import { expect, test } from "vitest";
import { admitted, at0 } from "../../../../../test/support/calls.ts";
import type { Call } from "../../call/types.ts";
import type { PreparedCall } from "../../session/turn/types.ts";
import { toldOfRefusal, toldOfRow } from "./told.ts";

const prepared: PreparedCall = { index: 1, callId: "exec_1", providerId: "p1", name: "pay", tool: "pay", version: "1.0.0", argsJson: "{}", scheduling: "parallel", settled: null, metadata: { sig: "s" } };
const ended = (change: Partial<Call>): Call => ({ ...admitted().call, state: "succeeded", settledAt: at0 + 500, ...change });

test("a result that is too long for a model is cut and stays JSON, with its whole size", () => {
  // With its two quotes the text has 300 002 bytes; 262 144 are told at most.
  const { text, isError } = toldOfRow(prepared, ended({ outputJson: `"${"x".repeat(300_000)}"` }));
  expect(isError).toBe(false);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(262_144);
  expect(JSON.parse(text)).toMatchObject({ truncated: true, bytes: 300_002, prefix: expect.stringMatching(/^"x{200000}/) });
});

test("a short one is told as it is, digits and all, in the call's own slot", () => {
  expect(toldOfRow(prepared, ended({ outputJson: '{"n":9007199254740993}' }))).toMatchObject({ index: 1, callId: "exec_1", providerId: "p1", metadata: { sig: "s" }, told: "row", status: "succeeded", text: '{"n":9007199254740993}', errorCode: null });
});

test("a failure is told by its code and its words, and where the arguments did not fit, by the places", () => {
  const error = { code: "tool_error", message: "no money", type: "tool", retryable: false } as const;
  expect(toldOfRow(prepared, ended({ state: "failed", error }))).toMatchObject({ status: "failed", isError: true, errorCode: "tool_error", text: "[tool_error] no money" });
  const refusal = { code: "invalid_input", message: "does not fit", type: "invalid_request", retryable: false, details: { errors: [{ pointer: "/amount" }] } } as const;
  expect(toldOfRefusal(prepared, refusal)).toMatchObject({ told: "refused", status: "failed", text: '[invalid_input] does not fit\n[{"pointer":"/amount"}]', durationMs: 0 });
});

test("a person's change stands in front of the result", () => {
  const { text, editedBy } = toldOfRow(prepared, ended({ outputJson: '"ok"', argsEditedBy: "user:fay", effectiveArgsJson: '{"amount":5}' }));
  expect(editedBy).toBe("user:fay");
  expect(text).toMatch(/^A person changed the arguments .*\{"amount":5\}.*\n"ok"$/s);
});

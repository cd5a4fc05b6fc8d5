// Times, exit codes, next steps and JSON text: the small words of the command line.
import { errorTable } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { exitCodeOf } from "./exit-codes.ts";
import { jsonLine, parseExact, prettyJson } from "./json.ts";
import { expiryFlag, lifeText } from "./lifetimes.ts";
import { nextStep } from "./next-steps.ts";
import { toolDomain } from "./templates.ts";
import { durationText, instantText, parseSpanMs, relativeText } from "./times.ts";

const now = Date.UTC(2026, 0, 31, 12);

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1_250, "1.2 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [125_000, "2 min 5 s"],
  [15_000_000, "4 h 10 min"],
  [172_800_000, "2 d"],
])("%i ms is %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test.each([
  [now - 500, "just now"],
  [now + 500, "just now"],
  [now - 5_900, "5 s ago"],
  [now + 7_200_000, "in 2 h"],
])("%i is %s", (at, text) => {
  expect(relativeText(at, now)).toBe(text);
});

test("an instant is told both ways, and as it is when it is none", () => {
  expect(instantText("2026-01-31T11:59:00.000Z", now)).toBe("2026-01-31T11:59:00.000Z (1 min ago)");
  expect(instantText("soon", now)).toBe("soon");
});

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["2h", 7_200_000],
  ["7d", 604_800_000],
  ["30", undefined],
  ["-1s", undefined],
  ["1.5s", undefined],
  ["", undefined],
])("the duration %s is %s ms", (text, ms) => {
  expect(parseSpanMs(text)).toBe(ms);
});

test("a life ends after a duration or at an instant", () => {
  const io = { now: () => now };
  expect(expiryFlag(io, "30d")).toBe("2026-03-02T12:00:00.000Z");
  expect(expiryFlag(io, "2027-01-31T12:00:00+02:00")).toBe("2027-01-31T10:00:00.000Z");
  expect(() => expiryFlag(io, "2027")).toThrow("--expires takes a duration");
  expect(lifeText({ expires_at: "2026-02-01T12:00:00Z", revoked_at: null }, now)).toBe("expires in 24 h");
  expect(lifeText({ expires_at: "2026-01-31T11:00:00Z", revoked_at: null }, now)).toBe("expired 1 h ago");
  expect(lifeText({ expires_at: null, revoked_at: "2026-01-31T11:00:00Z" }, now)).toBe("revoked 1 h ago");
});

test.each([
  ["tool_error", 422, 1],
  ["timeout", 504, 1],
  ["invalid_input", 400, 1],
  ["approval_denied", 403, 1],
  ["unauthenticated", 401, 3],
  ["forbidden", 403, 3],
  ["tool_not_found", 404, 4],
  ["no_handler", 503, 5],
  ["unreachable", 0, 5],
  ["indeterminate", 502, 6],
  ["a_code_of_tomorrow", 500, 1],
])("%s (%i) exits with %i", (code, httpStatus, exitCode) => {
  expect(exitCodeOf(code, httpStatus)).toBe(exitCode);
});

test("every code has a next step that names what to do", () => {
  for (const code of Object.keys(errorTable)) expect(nextStep(code, { details: {} }) ?? code).toMatch(/\w \w/);
  expect(nextStep("a_code_of_tomorrow", { details: {} })).toBeUndefined();
  expect(nextStep("toString", { details: {} })).toBeUndefined();
  expect(nextStep("timeout", { details: { may_have_executed: true }, executionId: "exec_1" })).toBe(
    "it may have had its effect: look before you repeat it: signalbox calls show exec_1",
  );
});

test("what concerns an approval is looked at there", () => {
  expect(nextStep("approval_denied", { details: { approval_id: "apr_1" } })).toBe("signalbox approvals show apr_1");
  expect(nextStep("approval_denied", { details: {}, executionId: "exec_1" })).toBe("signalbox calls show exec_1");
  expect(nextStep("conflict", { details: {} })).toBe("look at what is there now, then decide again");
  expect(nextStep("conflict", { details: {}, approvalId: "apr_1" })).toBe("signalbox approvals show apr_1");
});

test("a JSON line has one line feed, at its end", () => {
  expect(jsonLine({ a: "x\ny\u009b", b: [1] })).toBe('{"a":"x\\ny\\u009b","b":[1]}\n');
});

test("JSON comes out with the numbers that went in", () => {
  const text = `{"a":12345678901234567890,"b":1.0,"c":[1e400,-0,3],"__proto__":1}`;
  expect(prettyJson(parseExact(text)).replace(/\s/g, "")).toBe(text);
});

test("JSON on a terminal holds no character that steers it", () => {
  expect(prettyJson({ a: "\u001b[31m\u009b1m\u202e" })).toBe('{\n  "a": "\\u001b[31m\\u009b1m\\u202e"\n}\n');
});

test.each([
  ["hello", "hello"],
  ["Pay Ments!", "pay-ments"],
  ["2026", "hello"],
  ["..", "hello"],
])("a tool in the folder %s is called %s.greet", (folder, domain) => {
  expect(toolDomain(folder)).toBe(domain);
});

// Only the guest program can tell how a run ended: a line without its nonce is a tool's own.
import { expect, test } from "vitest";
import { endLine, exitCodeOf, readEndLine } from "./end.ts";

test("what is told is read", () => {
  const told = { reason: "exceeded", resource: "memory", limit: 10, observed: 12 } as const;
  const line = endLine("abc", told);
  expect(line).toBe(`{"signalbox_end":"abc","reason":"exceeded","resource":"memory","limit":10,"observed":12}`);
  expect(readEndLine("abc", line)).toEqual(told);
  expect(readEndLine("abc", endLine("abc", { reason: "timeout" }))).toEqual({ reason: "timeout" });
});

test.each([
  endLine("guess", { reason: "timeout" }),
  `{"progress":5}`,
  ` ${endLine("abc", { reason: "timeout" })}`,
  `{"signalbox_end":"abc`,
  "",
])("%j tells nothing", (line) => {
  expect(readEndLine("abc", line)).toBeNull();
});

test("exit codes", () => {
  expect(exitCodeOf({ reason: "done", resultText: "1" })).toBe(0);
  expect(exitCodeOf({ reason: "exited", code: 7 })).toBe(7);
  expect(exitCodeOf({ reason: "failed", message: "no" })).toBe(1);
  expect(exitCodeOf({ reason: "timeout" })).toBe(1);
});

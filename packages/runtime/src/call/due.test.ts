// When a call is next looked at: the earliest of the instants that count in its state.
import { expect, test } from "vitest";
import { admitted, at0 } from "../../../../test/support/calls.ts";
import { nextDueAt } from "./due.ts";
import { terminalStates, type Call } from "./types.ts";

const instants = {
  queueDeadlineAt: at0 + 70,
  totalDeadlineAt: at0 + 60,
  notBefore: at0 + 50,
  leaseExpiresAt: at0 + 40,
  runDeadlineAt: at0 + 30,
  startDeadlineAt: at0 + 20,
  graceDeadlineAt: at0 + 10,
};
const all: Call = { ...admitted().call, ...instants };
const dueAfter = (changes: Partial<Call>, nowMs = 0): number => nextDueAt({ ...all, ...changes }, at0 + nowMs) - at0;

test("queued: back-off, queue and total; a back-off that is over does not count", () => {
  expect(dueAfter({ state: "queued" })).toBe(50);
  expect(dueAfter({ state: "queued" }, 50)).toBe(60);
  expect(dueAfter({ state: "queued", totalDeadlineAt: null }, 50)).toBe(70);
});

test("waiting for people: only the total deadline", () => {
  expect(dueAfter({ state: "awaiting_approval" })).toBe(60);
  expect(dueAfter({ state: "awaiting_approval", totalDeadlineAt: null })).toBe(Infinity);
});

test.each(["dispatched", "running"] as const)("%s: grace, start, run, lease, total, whichever is first", (state) => {
  expect(dueAfter({ state })).toBe(10);
  expect(dueAfter({ state, graceDeadlineAt: null })).toBe(20);
  expect(dueAfter({ state, graceDeadlineAt: null, startDeadlineAt: null })).toBe(30);
  expect(dueAfter({ state, graceDeadlineAt: null, startDeadlineAt: null, runDeadlineAt: null })).toBe(40);
  expect(dueAfter({ state, graceDeadlineAt: null, startDeadlineAt: null, runDeadlineAt: null, leaseExpiresAt: null })).toBe(60);
});

test("a call that is being stopped no longer minds its run and total deadlines", () => {
  const stopping = { state: "running", stopReason: "cancel", startDeadlineAt: null } as const;
  expect(dueAfter({ ...stopping, graceDeadlineAt: at0 + 90 })).toBe(40);
  expect(dueAfter({ ...stopping, graceDeadlineAt: at0 + 90, leaseExpiresAt: at0 + 100 })).toBe(90);
});

test.each(["indeterminate", ...terminalStates] as const)("%s: never", (state) => {
  expect(dueAfter({ state })).toBe(Infinity);
});

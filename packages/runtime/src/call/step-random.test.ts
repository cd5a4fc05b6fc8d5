// Whatever happens in whatever order: nothing throws, ends are final, and fence, attempt and seq only ever grow as they may.
import { sideEffectClasses } from "@signalbox/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { admitted, at0, checkedResult, machineLimits, only } from "../../../../test/support/calls.ts";
import { nextDueAt } from "./due.ts";
import type { Happening, Live, StepResult } from "./machine.ts";
import { step } from "./step.ts";
import { isTerminal } from "./types.ts";

/** Fences count from the current one, so that most words are about the lease that is there. */
type Saying = (fence: number) => Happening;

const error = { code: "tool_error", message: "no", type: "tool", retryable: false } as const;
const output = { json: "1", hash: "h", bytes: 1 };

const sayings: fc.Arbitrary<Saying> = fc.oneof(
  fc.constantFrom<Saying>(
    () => ({ type: "approved", by: ["user:bo"], args: null }),
    () => ({ type: "approved", by: ["user:bo"], args: { argsJson: '{"amount":1}', editedBy: "user:bo", timeoutMs: 5_000, resultBytesMax: 100 } }),
    () => ({ type: "rejected", error, by: null }),
    () => ({ type: "asked", approvalId: "apr_1", outcome: "no_handler", args: null, data: {} }),
    () => ({ type: "asked", approvalId: "apr_2", outcome: null, args: null, data: {} }),
    () => ({ type: "barred", error }),
    () => ({ type: "thawed", reason: "unfrozen" }),
    () => ({ type: "assign", workerId: "w1", incarnation: "i1", replica: "r1" }),
    () => ({ type: "assign", workerId: "w2", incarnation: "i1", replica: "r1" }),
    (fence) => ({ type: "accepted", fence }),
    (fence) => ({ type: "started", fence }),
    (fence) => ({ type: "renew", fence }),
    (fence) => ({ type: "missing", fence }),
    (fence) => ({ type: "disowned", fence }),
    () => ({ type: "cancel", by: "user:bo" }),
  ),
  fc.constantFrom("succeeded", "failed", "cancelled").map<Saying>((status) => (fence) => ({
    type: "result",
    result: checkedResult(fence, { status, error: status === "failed" ? error : null }),
  })),
  fc.constantFrom("retry_elsewhere", "reject").map<Saying>((reason) => (fence) => ({ type: "nack", fence, reason, code: "c", message: "m" })),
  fc.tuple(fc.constantFrom("confirm", "retry", "fail"), fc.boolean()).map<Saying>(([verdict, given]) => () => ({
    type: "resolve",
    verdict,
    by: "user:op",
    comment: "",
    output: given ? output : null,
  })),
  fc.record({ streamAlive: fc.boolean(), handlerKnown: fc.boolean(), mayExpireLeases: fc.boolean() }).map<Saying>((known) => () => ({ type: "due", ...known })),
);

const opening: readonly Saying[] = [
  () => ({ type: "assign", workerId: "w1", incarnation: "i1", replica: "r1" }),
  (fence) => ({ type: "accepted", fence }),
  (fence) => ({ type: "started", fence }),
];

const story = fc.record({
  /** How far the call has come before chance takes over. */
  opened: fc.integer({ min: 0, max: opening.length }),
  sideEffectClass: fc.constantFrom(...sideEffectClasses),
  onIndeterminate: fc.constantFrom("ask", "fail"),
  totalDeadlineAt: fc.option(fc.integer({ min: at0 + 1, max: at0 + 90_000 })),
  steps: fc.array(
    fc.record({
      saying: sayings,
      old: fc.constantFrom(0, 0, 0, 1),
      waitMs: fc.constantFrom(0, 1, 50, 5_000, 15_000, 30_000),
    }),
    { minLength: 1, maxLength: 40 },
  ),
});

function opened(identity: Parameters<typeof admitted>[0], count: number): Live {
  let live = admitted(identity);
  for (const saying of opening.slice(0, count)) {
    const outcome = step(live, saying(1), at0, machineLimits);
    if (outcome.ok) live = outcome.live;
  }
  return live;
}

function check(before: Live, outcome: StepResult, now: number): void {
  const events = only(outcome.effects, "event");
  if (!outcome.ok) {
    expect(events).toEqual([]);
    return;
  }
  const { call, lease } = outcome.live;
  expect(isTerminal(before.call.state)).toBe(false);
  expect(call.fence).toBeGreaterThanOrEqual(before.call.fence);
  expect(call.fence).toBeLessThanOrEqual(before.call.fence + 1);
  expect(call.attempt).toBeLessThanOrEqual(call.fence);
  expect(call.attempt).toBeGreaterThanOrEqual(before.call.attempt);
  expect(events.map(({ event }) => event.seq)).toEqual(events.map((_, i) => before.call.eventSeq + 1 + i));
  expect(call.eventSeq).toBe(before.call.eventSeq + events.length);
  const held = call.state === "dispatched" || call.state === "running";
  expect(lease !== null).toBe(held);
  if (held) expect(lease).toMatchObject({ fence: call.fence, attempt: call.attempt, workerId: call.workerId });
  // A lease that is gone has left its row, ended.
  const ended = only(outcome.effects, "attempt_ended");
  expect(ended.map(({ row }) => row.fence)).toEqual(before.lease !== null && lease?.fence !== before.lease.fence ? [before.lease.fence] : []);
  for (const { row } of ended) expect(row).toMatchObject({ endedAt: now, endReason: expect.any(String) as string });
  // An end is told and audited in its own commit; one that is open has an instant at which it is looked at, or a person.
  if (isTerminal(call.state)) {
    expect(outcome.durability).toBe("commit");
    expect(events.at(-1)?.event.type).toBe(call.state);
    expect(only(outcome.effects, "audit").at(-1)?.draft.status).toBe(call.state);
    expect(only(outcome.effects, "tell")).toHaveLength(1);
    expect(call.settledAt).toBe(now);
  } else if (call.state !== "indeterminate" && call.state !== "awaiting_approval") {
    expect(nextDueAt(call, now)).toBeLessThan(Number.POSITIVE_INFINITY);
  }
  if (ended.length > 0 || call.state !== before.call.state) expect(outcome.durability).toBe(call.state === "running" ? "lazy" : "commit");
}

test("from every reachable state", () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(story, ({ steps, opened: count, ...identity }) => {
      let live = opened(identity, count);
      let now = at0;
      for (const { saying, old, waitMs } of steps) {
        now += waitMs;
        const outcome = step(live, saying(live.call.fence - old), now, machineLimits);
        check(live, outcome, now);
        if (outcome.ok) live = outcome.live;
        reached.add(live.call.state);
      }
    }),
    { numRuns: 3_000 },
  );
  expect([...reached].sort()).toEqual(["awaiting_approval", "cancelled", "denied", "dispatched", "failed", "indeterminate", "queued", "running", "succeeded", "timed_out"]);
});

test("a handler of an unsafe class gets one Go a lease, and a second lease only when none was given or a person said so", () => {
  fc.assert(
    fc.property(story, ({ steps, opened: count, ...identity }) => {
      let live = opened({ ...identity, sideEffectClass: "non_idempotent_write" }, count);
      let now = at0;
      const given = new Set(count >= 2 ? [1] : []);
      let freed = 1;
      for (const { saying, old, waitMs } of steps) {
        now += waitMs;
        const happening = saying(live.call.fence - old);
        const outcome = step(live, happening, now, machineLimits);
        if (!outcome.ok) continue;
        for (const go of only(outcome.effects, "send_go")) given.add(go.fence);
        // What says that a handler was not entered, or may be entered again: the worker's own word, or a person's.
        if (happening.type === "nack" || happening.type === "disowned" || happening.type === "resolve") freed++;
        live = outcome.live;
        expect(given.size).toBeLessThanOrEqual(freed);
      }
    }),
    { numRuns: 2_000 },
  );
});

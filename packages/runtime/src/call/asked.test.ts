// Calls that people are asked about: parked at admission, parked later, asked again, let go on, and turned down.
import { errorBody } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import {
  accept,
  admitted,
  assign,
  at0,
  identityOf,
  look,
  machineLimits,
  ofClass,
  only,
  outline,
  play,
  playAll,
  result,
  told,
} from "../../../../test/support/calls.ts";
import { park } from "./admit.ts";
import type { ApprovedArgs, Happening, Live } from "./machine.ts";
import { step } from "./step.ts";
import type { CallIdentity } from "./types.ts";

const unsafe = ofClass("non_idempotent_write");
const changed: ApprovedArgs = { argsJson: '{"amount":3}', editedBy: "user:fay", timeoutMs: 4_000, resultBytesMax: 900 };
const asks = { approval_id: "apr_1", args_hash: "h0", routes: [{ route: "finance", quorum: 1 }] };

const opening = { startTag: 7, edited: null, approvalId: "apr_1", asked: asks };
const waiting = (changes: Partial<CallIdentity> = {}): Live => accept(park(identityOf({ ...unsafe, ...changes }), at0, opening)).live;
const unknownEnd = (): Live =>
  playAll(admitted(unsafe), [0, assign], [0, { type: "accepted", fence: 1 }], [10, { type: "started", fence: 1 }], [15_000, look()]).live;

const asked = (changes: Partial<Extract<Happening, { type: "asked" }>> = {}): Happening => ({
  type: "asked",
  approvalId: "apr_2",
  outcome: null,
  args: null,
  data: { approval_id: "apr_2" },
  ...changes,
});
const approved = (args: ApprovedArgs | null = null): Happening => ({ type: "approved", by: ["user:fay", "user:fred"], args });
const denied = errorBody("forbidden", "stopped today", { policy: "stop@1.0.0" });

describe("parked at admission", () => {
  test("no lease, no deadline but the caller's own, no place in the queue's clock; asked for in the same commit", () => {
    const outcome = accept(park(identityOf({ totalDeadlineAt: 1_060_000 }), at0, opening));
    expect(outcome.durability).toBe("commit");
    expect(outcome.live).toMatchObject({
      lease: null,
      call: {
        state: "awaiting_approval",
        approvalId: "apr_1",
        approval: null,
        startTag: 7,
        fence: 1,
        attempt: 1,
        effectiveArgsJson: null,
        argsEditedBy: null,
        queueDeadlineAt: null,
        startDeadlineAt: null,
        leaseExpiresAt: null,
        totalDeadlineAt: 1_060_000,
        eventSeq: 2,
      },
    });
    expect(outline(outcome.effects)).toEqual(["event:requested", "event:approval_requested"]);
    expect(told(outcome.effects)).toEqual([
      ["requested", 1, { tool: "pay", version: "1.0.0", input_hash: "in1", decision: "allow", request_id: "req_1" }],
      ["approval_requested", 2, asks],
    ]);
  });

  test("nulls that were taken as absent are what people see, and what would run", () => {
    const edited = { argsJson: '{"amount":5}', pointers: ["/note"] };
    const outcome = accept(park(identityOf(), at0, { ...opening, edited }));
    expect(outcome.live.call).toMatchObject({ effectiveArgsJson: '{"amount":5}', argsEditedBy: null });
    expect(told(outcome.effects)[0]?.[2]).toMatchObject({ nulls_taken_as_absent: ["/note"] });
  });

  test.each<[string, Happening]>([
    ["a worker cannot be given it", assign],
    ["it is not in the queue, so nothing bars it there", { type: "barred", error: denied }],
    ["a freeze has not held it up", { type: "thawed", reason: "unfrozen" }],
    ["its end is not unknown", { type: "resolve", verdict: "retry", by: "user:op", comment: "", output: null }],
    ["nobody can speak of a lease", { type: "started", fence: 1 }],
  ])("%s", (_, happening) => {
    expect(step(waiting(), happening, at0 + 5, machineLimits)).toEqual({
      ok: false,
      reason: `${happening.type}_in_awaiting_approval`,
      effects: [],
    });
  });

  test("only the caller's own deadline ends it by time", () => {
    const live = waiting({ totalDeadlineAt: 1_060_000 });
    expect(step(live, look(), 1_059_999, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
    const outcome = play(live, look(), 60_000);
    expect(outcome.live.call).toMatchObject({
      state: "timed_out",
      stopReason: "total_deadline",
      settledAt: 1_060_000,
      error: { code: "timeout", message: "the call's total deadline passed while it waited for people" },
    });
    expect(step(waiting(), look(), 9_000_000, machineLimits)).toMatchObject({ ok: false, reason: "not_due" });
  });

  test("cancelled: at once, and certain for every class", () => {
    const outcome = play(waiting(), { type: "cancel", by: "user:ann" }, 300);
    expect(outcome.live.call).toMatchObject({ state: "cancelled", cancelRequestedBy: "user:ann", error: { code: "cancelled", details: { stop_confirmed: true } } });
    expect(outline(outcome.effects)).toEqual(["event:cancelled", "audit", "tell"]);
  });
});

describe("approved", () => {
  test("as it stands: who let it go on is kept, and its arguments are as they were", () => {
    const outcome = play(waiting(), approved(), 90_000);
    expect(outcome.live.call).toMatchObject({
      state: "queued",
      approval: { by: ["user:fay", "user:fred"], at: 1_090_000 },
      approvalId: "apr_1",
      effectiveArgsJson: null,
      argsEditedBy: null,
      timeoutMs: 20_000,
      resultBytesMax: 1_048_576,
      queueDeadlineAt: 1_120_000,
      startTag: 7,
    });
    expect(told(outcome.effects)).toEqual([
      ["approved", 3, { by: ["user:fay", "user:fred"] }],
      ["queued", 4, { attempt: 1 }],
    ]);
  });

  test("with other arguments: they run, under what their rules leave of time and size, and who changed them is told", () => {
    const outcome = play(waiting(), approved(changed), 90_000);
    expect(outcome.live.call).toMatchObject({
      state: "queued",
      inputJson: '{"amount":5}',
      effectiveArgsJson: '{"amount":3}',
      argsEditedBy: "user:fay",
      timeoutMs: 4_000,
      resultBytesMax: 900,
    });
    expect(told(outcome.effects)[0]).toEqual(["approved", 3, { by: ["user:fay", "user:fred"], edited_by: "user:fay" }]);
  });

  test("in a later vote than the edit: what was changed stays changed", () => {
    const outcome = playAll(waiting(), [1_000, asked({ approvalId: "apr_1", args: changed })], [2_000, approved()]);
    expect(outcome.live.call).toMatchObject({ effectiveArgsJson: '{"amount":3}', argsEditedBy: "user:fay", timeoutMs: 4_000 });
    expect(told(outcome.effects)[0]?.[2]).toEqual({ by: ["user:fay", "user:fred"], edited_by: "user:fay" });
  });

  test("twice: the second finds it queued, and changes nothing", () => {
    const { live } = play(waiting(), approved(), 1_000);
    expect(step(live, approved(changed), at0 + 2_000, machineLimits)).toEqual({ ok: false, reason: "approved_in_queued", effects: [] });
  });
});

describe("turned down", () => {
  test("by a person: denied, and the event and the record name who", () => {
    const outcome = play(waiting(), { type: "rejected", error: denied, by: "user:fay" }, 500);
    expect(outcome.live.call).toMatchObject({ state: "denied", error: denied, settledAt: 1_000_500 });
    expect(told(outcome.effects)).toEqual([["denied", 3, { attempt: 1, code: "forbidden", by: "user:fay" }]]);
    expect(only(outcome.effects, "audit")[0]?.draft).toMatchObject({ action: "call.denied", errorCode: "forbidden", details: { by: "user:fay" } });
  });

  test("by time: nobody is named", () => {
    const outcome = play(waiting(), { type: "rejected", error: errorBody("approval_expired", "nobody decided"), by: null }, 500);
    expect(told(outcome.effects)).toEqual([["denied", 3, { attempt: 1, code: "approval_expired" }]]);
    expect(only(outcome.effects, "audit")[0]?.draft.details).toBeUndefined();
  });

  test("barred in the queue: denied although nobody was asked; one that a worker has is not", () => {
    const outcome = play(admitted(unsafe), { type: "barred", error: denied }, 800);
    expect(outcome.live.call).toMatchObject({ state: "denied", error: denied, queueDeadlineAt: null });
    expect(outline(outcome.effects)).toEqual(["event:denied", "audit", "tell"]);
    const given = play(admitted(unsafe), assign, 0).live;
    expect(step(given, { type: "barred", error: denied }, at0 + 1, machineLimits)).toMatchObject({ ok: false, reason: "barred_in_dispatched" });
  });
});

describe("asked about a queued call", () => {
  test("it leaves the queue with its outcome, and its queue deadline is gone; whoever waits is told", () => {
    const outcome = play(admitted(unsafe), asked({ outcome: "no_handler" }), 30_000);
    expect(outcome.live.call).toMatchObject({ state: "awaiting_approval", routingOutcome: "no_handler", approvalId: "apr_2", queueDeadlineAt: null, fence: 1 });
    expect(outcome.durability).toBe("commit");
    expect(outline(outcome.effects)).toEqual(["event:approval_requested", "tell"]);
    expect(told(outcome.effects)).toEqual([["approval_requested", 3, { approval_id: "apr_2", routing_outcome: "no_handler" }]]);
  });

  test("without an outcome there is nothing to ask", () => {
    expect(step(admitted(), asked(), at0, machineLimits)).toEqual({ ok: false, reason: "asked_without_outcome", effects: [] });
  });

  test("approved then: a fresh time in the queue, and the outcome is over", () => {
    const { live } = playAll(admitted(), [30_000, asked({ outcome: "capacity_exhausted" })], [90_000, approved()]);
    expect(live.call).toMatchObject({ state: "queued", routingOutcome: null, queueDeadlineAt: 1_120_000 });
  });
});

describe("asked again about a parked call", () => {
  test("another role: the call points to the new question, and its arguments stand", () => {
    const outcome = play(waiting(), asked(), 4_000);
    expect(outcome.live.call).toMatchObject({ state: "awaiting_approval", approvalId: "apr_2", effectiveArgsJson: null, argsEditedBy: null });
    expect(outcome.durability).toBe("commit");
    expect(told(outcome.effects)).toEqual([["approval_requested", 3, { approval_id: "apr_2" }]]);
  });

  test("other arguments: they are what would run from here on", () => {
    const { call } = play(waiting(), asked({ approvalId: "apr_1", args: changed }), 4_000).live;
    expect(call).toMatchObject({ approvalId: "apr_1", effectiveArgsJson: '{"amount":3}', argsEditedBy: "user:fay", timeoutMs: 4_000, resultBytesMax: 900 });
  });

  test("an unknown end: it stays unknown, and a person's word still resolves it", () => {
    const outcome = play(unknownEnd(), asked(), 16_000);
    expect(outcome.live.call).toMatchObject({ state: "indeterminate", approvalId: "apr_2", routingOutcome: "lease_expired" });
    expect(outline(outcome.effects)).toEqual(["event:approval_requested"]);
    const resolved = play(outcome.live, { type: "resolve", verdict: "retry", by: "user:op", comment: "", output: null }, 17_000);
    expect(resolved.live.call).toMatchObject({ state: "queued", attempt: 2 });
  });

  test("a late result is evidence, whatever people are being asked", () => {
    const { live } = play(unknownEnd(), asked(), 16_000);
    expect(step(live, result(1), at0 + 17_000, machineLimits)).toMatchObject({ ok: false, reason: "old_fence", effects: [{ type: "late_result" }, { type: "ack", verdict: "lease_lost" }] });
  });

  test.each<[string, Live]>([
    ["dispatched", play(admitted(), assign, 0).live],
    ["succeeded", playAll(admitted(), [0, assign], [5, result(1)]).live],
  ])("nobody is asked about one that is %s", (state, live) => {
    expect(step(live, asked({ outcome: "no_handler" }), at0 + 10, machineLimits)).toEqual({ ok: false, reason: `asked_in_${state}`, effects: [] });
  });
});

describe("thawed", () => {
  test("its time in the queue starts anew; nobody waits for that to be written", () => {
    const outcome = play(admitted(), { type: "thawed", reason: "unfrozen" }, 3_600_000);
    expect(outcome.live.call).toMatchObject({ state: "queued", queueDeadlineAt: 4_630_000, enqueuedAt: 1_000_000, notBefore: 1_000_000 });
    expect(outcome.durability).toBe("lazy");
    expect(told(outcome.effects)).toEqual([["queued", 3, { attempt: 1, reason: "unfrozen" }]]);
  });

  test("from the end of its back-off on, where that is later", () => {
    const { live } = play(admitted(), assign, 0);
    const turnedDown = playAll(live, [10, { type: "nack", fence: 1, reason: "retry_elsewhere", code: "busy", message: "" }], [10, assign], [20, { type: "nack", fence: 2, reason: "retry_elsewhere", code: "busy", message: "" }]).live;
    expect(turnedDown.call.notBefore).toBe(1_000_120);
    expect(play(turnedDown, { type: "thawed", reason: "unfrozen" }, 50).live.call.queueDeadlineAt).toBe(1_030_120);
  });
});

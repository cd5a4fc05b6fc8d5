// The trace predicates themselves: a good trace passes, and each rule goes red for the row that breaks it.
import { expect, test } from "vitest";
import { brokenRules, type CallTrace, type Trace, type Used } from "./trace.ts";

type Of<Part extends "attempts" | "events" | "audit" | "approvals"> = CallTrace[Part][number];
const event = (seq: number, type: Of<"events">["type"], dataJson = "{}"): Of<"events"> => ({ seq, type, dataJson });
const lease = (fence: number, more: Partial<Of<"attempts">> = {}): Of<"attempts"> => ({
  fence,
  startedAt: null,
  endedAt: 20,
  ...more,
});
const settled = (status: string, action = "call.settled"): Of<"audit"> => ({ action, status });

const goodCall: CallTrace = {
  call: {
    tenant: "acme",
    project: "shop",
    tool: "pay",
    callId: "exec_1",
    state: "succeeded",
    sideEffectClass: "irreversible_action",
    fence: 2,
    eventSeq: 4,
    inputJson: "{}",
    idempotencyKey: "order-1",
    approvalId: null,
  },
  attempts: [lease(1), lease(2, { startedAt: 10 })],
  events: [event(1, "requested"), event(2, "dispatched"), event(3, "started"), event(4, "succeeded")],
  audit: [settled("running", "call.attempt_failed"), settled("succeeded")],
  approvals: [],
};

const asked = (state: Of<"approvals">["state"], kind: "call" | "resolve" = "call"): Of<"approvals"> => ({
  approvalId: "apr_1",
  state,
  subject: { kind, callId: "exec_1", sessionId: null },
});

const used = (counts: Partial<Used> = {}): Used => ({
  tenant: "acme",
  project: "shop",
  tool: "pay",
  executions: 1,
  succeeded: 0,
  failed: 0,
  timedOut: 0,
  cancelled: 0,
  denied: 0,
  ...counts,
});

/** What such a call leaves in the usage. */
const usageOf: Readonly<Record<string, readonly Used[]>> = {
  succeeded: [used({ succeeded: 1 })],
  denied: [used({ denied: 1 })],
};

/** The good call with some parts replaced, and some fields of its row. */
function trace(parts: Partial<CallTrace> = {}, row: Partial<CallTrace["call"]> = {}): Trace {
  const call = { ...goodCall.call, ...row };
  return { calls: [{ ...goodCall, ...parts, call }], usage: usageOf[call.state] ?? [], auditProblems: [] };
}

const { events, attempts, audit } = goodCall;
const deniedAtOnce = { events: [event(1, "requested"), event(2, "denied")], attempts: [], audit: [settled("denied", "call.denied")] };
const parked = [event(1, "requested"), event(2, "approval_requested")];
const good = trace();
const open = trace(
  { attempts: [lease(1), lease(2, { startedAt: 10, endedAt: null })], events: events.slice(0, 3), audit: [] },
  { state: "running", eventSeq: 3 },
);

test("a good trace breaks no rule, nor does a call that is left open on purpose", () => {
  expect(brokenRules(good)).toEqual([]);
  expect(brokenRules(open, { mayBeOpen: ["exec_1"] })).toEqual([]);
});

test("a call that waited and was then denied keeps what it was admitted with", () => {
  const denied = { attempts: [], events: [...parked, event(3, "denied")], approvals: [asked("rejected")] };
  const records = [settled("done", "approval.rejected"), settled("denied", "call.denied")];
  expect(
    brokenRules(trace({ ...denied, audit: records }, { state: "denied", eventSeq: 3, approvalId: "apr_1" })),
  ).toEqual([]);
});

const broken: readonly [name: string, trace: Trace, words: readonly string[]][] = [
  [
    "settled is last",
    trace({ events: [...events, event(5, "late_result")] }, { eventSeq: 5 }),
    ["exec_1: the event 5 (late_result) comes after the end"],
  ],
  [
    "exactly one end: two",
    trace({ events: [...events, event(5, "cancelled")] }, { eventSeq: 5 }),
    [
      "exec_1: is succeeded, but its events tell these ends: succeeded,cancelled",
      "exec_1: the event 5 (cancelled) comes after the end",
    ],
  ],
  [
    "exactly one end: none",
    trace({ events: events.slice(0, 3) }, { eventSeq: 3 }),
    ["exec_1: is succeeded, but its events tell these ends: none"],
  ],
  [
    "exactly one end: another one",
    trace({ events: [...events.slice(0, 3), event(4, "failed")] }),
    ["exec_1: is succeeded, but its events tell these ends: failed"],
  ],
  [
    "seq has no gap",
    trace({ events: [...events.slice(0, 3), event(5, "succeeded")] }),
    ["exec_1: event 4 has the seq 5"],
  ],
  ["seq is counted by the row", trace({}, { eventSeq: 5 }), ["exec_1: has 4 events, but its row counts 5"]],
  [
    "an unsafe call starts once: by its leases",
    trace({ attempts: [lease(1, { startedAt: 5 }), lease(2, { startedAt: 10 })] }),
    ["exec_1: is unsafe and started 2 times, with 0 retries by people"],
  ],
  [
    "an unsafe call starts once: by its events",
    trace(
      {
        events: [
          event(1, "requested"),
          event(2, "started"),
          event(3, "retried"),
          event(4, "started"),
          event(5, "succeeded"),
        ],
      },
      { eventSeq: 5 },
    ),
    ["exec_1: is unsafe and started 2 times, with 0 retries by people"],
  ],
  [
    "every lease ends",
    trace({ attempts: [lease(1, { endedAt: null }), lease(2, { startedAt: 10 })] }),
    ["exec_1: its lease 1 never ended"],
  ],
  [
    "no lease is newer than the call",
    trace({ attempts: [...attempts, lease(3)] }),
    ["exec_1: has a lease 3 that is newer than its fence 2"],
  ],
  [
    "one audit record of the end: none",
    trace({ audit: [] }),
    ["exec_1: is succeeded, but the audit tells these ends: none"],
  ],
  [
    "one audit record of the end: two",
    trace({ audit: [...audit, settled("succeeded", "call.resolved")] }),
    ["exec_1: is succeeded, but the audit tells these ends: succeeded,succeeded"],
  ],
  [
    "one audit record of the end: another one",
    trace({ audit: [settled("cancelled")] }),
    ["exec_1: is succeeded, but the audit tells these ends: cancelled"],
  ],
  [
    "a call that is denied at once keeps nothing",
    { ...trace(deniedAtOnce, { state: "denied", inputJson: null, eventSeq: 2 }), usage: [used({ executions: 0, denied: 1 })] },
    ["exec_1: was denied and kept its arguments or its key"],
  ],
  [
    "an approval ends with its call",
    trace({ approvals: [asked("pending", "resolve")] }, { approvalId: "apr_1" }),
    ["exec_1: is succeeded, and its approval apr_1 is still open"],
  ],
  [
    "a parked call has somebody who is asked",
    trace({ attempts: [], events: parked, audit: [] }, { state: "awaiting_approval", eventSeq: 2, fence: 0 }),
    ["exec_1: waits for people, and nobody is asked", "exec_1: was left awaiting_approval"],
  ],
  [
    "a parked call names the approval it waits for",
    trace(
      { attempts: [], events: parked, audit: [], approvals: [asked("pending")] },
      { state: "awaiting_approval", eventSeq: 2, fence: 0, approvalId: "apr_2" },
    ),
    ["exec_1: is awaiting_approval, and its approval apr_1 is still open", "exec_1: was left awaiting_approval"],
  ],
  [
    "one audit record of the end of an approval",
    trace({ approvals: [asked("approved")] }, { approvalId: "apr_1" }),
    ["exec_1: its approvals ended approval.approved, but the audit tells nothing"],
  ],
  [
    "nothing runs unasked",
    trace({ approvals: [asked("expired")], audit: [...audit, settled("done", "approval.expired")] }),
    ["exec_1: was handed to a worker, and no approval of it was given"],
  ],
  ["nothing is stranded", open, ["exec_1: was left running"]],
  ["every end is used: none", { ...good, usage: [] }, ["the usage counts 1 too few succeeded of acme/shop/pay", "the usage counts 1 too few executions of acme/shop/pay"]],
  [
    "every end is used: twice, and under another one",
    { ...good, usage: [used({ executions: 2, succeeded: 1, failed: 1 })] },
    ["the usage counts 1 too many executions of acme/shop/pay", "the usage counts 1 too many failed of acme/shop/pay"],
  ],
  [
    "every end is used: in another project",
    { ...good, usage: [used({ succeeded: 1 }), used({ project: "other" })] },
    ["the usage counts 1 too many executions of acme/other/pay"],
  ],
  [
    "who is denied at once is no execution",
    { ...trace({ ...deniedAtOnce }, { state: "denied", inputJson: null, idempotencyKey: null, eventSeq: 2 }), usage: [used({ denied: 1 })] },
    ["the usage counts 1 too many executions of acme/shop/pay"],
  ],
  [
    "the chain holds",
    { ...good, auditProblems: ["embedded#3 edited"] },
    ["the audit chain does not hold: embedded#3 edited"],
  ],
];

test.each(broken)("goes red: %s", (_name, one, words) => {
  expect(brokenRules(one)).toEqual(words);
});

test("what the handlers saw counts whatever the ledger says", () => {
  const entered = (...fences: readonly number[]) => fences.map((fence) => ({ callId: "exec_1", fence }));
  expect(brokenRules(good, { entries: [...entered(2), { callId: "exec_2", fence: 2 }] })).toEqual([]);
  expect(brokenRules(good, { entries: entered(1, 2) })).toEqual([
    "exec_1: is unsafe and entered its handler 2 times, with 0 retries by people",
  ]);
  const safe = trace({}, { sideEffectClass: "read_only" });
  expect(brokenRules(safe, { entries: entered(1, 2) })).toEqual([]);
  expect(brokenRules(safe, { entries: entered(2, 2) })).toEqual([
    "exec_1: entered its handler twice under the lease 2",
  ]);
});

test("a person who says that it had not happened allows one start more", () => {
  const resolved = (verdict: string): Trace =>
    trace(
      {
        attempts: [lease(1, { startedAt: 5 }), lease(2, { startedAt: 10 })],
        events: [
          event(1, "requested"),
          event(2, "started"),
          event(3, "indeterminate"),
          event(4, "resolved", JSON.stringify({ verdict })),
          event(5, "started"),
          event(6, "succeeded"),
        ],
      },
      { eventSeq: 6 },
    );
  expect(brokenRules(resolved("retry"))).toEqual([]);
  expect(brokenRules(resolved("confirm"))).toEqual(["exec_1: is unsafe and started 2 times, with 0 retries by people"]);
});

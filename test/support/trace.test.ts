// The trace predicates themselves: a good trace passes, and each rule goes red for the row that breaks it.
import { expect, test } from "vitest";
import { brokenRules, type AttemptRow, type CallRow, type EventRow, type Trace } from "./trace.ts";

const call: CallRow = {
  tenant: "acme",
  call_id: "exec_1",
  state: "succeeded",
  side_effect_class: "irreversible_action",
  fence: 2,
  event_seq: 4,
  input_json: "{}",
  idempotency_key: "order-1",
};
const of = { tenant: "acme", call_id: "exec_1" };
const event = (seq: number, type: string, data_json = "{}"): EventRow => ({ ...of, seq, type, data_json });
const lease = (fence: number, more: Partial<AttemptRow> = {}): AttemptRow => ({
  ...of,
  fence,
  started_at: null,
  ended_at: 20,
  ...more,
});
const good: Trace = {
  calls: [call],
  attempts: [lease(1), lease(2, { started_at: 10 })],
  events: [event(1, "requested"), event(2, "dispatched"), event(3, "started"), event(4, "succeeded")],
  audit: [
    { ...of, action: "call.attempt_failed", status: "running" },
    { ...of, action: "call.settled", status: "succeeded" },
  ],
  auditProblems: [],
};
const open: Trace = {
  ...good,
  calls: [{ ...call, state: "running", event_seq: 3 }],
  attempts: [lease(1), lease(2, { started_at: 10, ended_at: null })],
  events: good.events.slice(0, 3),
  audit: [],
};

test("a good trace breaks no rule, nor does a call that is left open on purpose", () => {
  expect(brokenRules(good)).toEqual([]);
  expect(brokenRules(open, { mayBeOpen: ["exec_1"] })).toEqual([]);
});

const broken: readonly [name: string, trace: Trace, words: readonly string[]][] = [
  [
    "settled is last",
    { ...good, calls: [{ ...call, event_seq: 5 }], events: [...good.events, event(5, "late_result")] },
    ["exec_1: the event 5 (late_result) comes after the end"],
  ],
  [
    "exactly one end: two",
    { ...good, calls: [{ ...call, event_seq: 5 }], events: [...good.events, event(5, "cancelled")] },
    [
      "exec_1: is succeeded, but its events tell these ends: succeeded,cancelled",
      "exec_1: the event 5 (cancelled) comes after the end",
    ],
  ],
  [
    "exactly one end: none",
    { ...good, calls: [{ ...call, event_seq: 3 }], events: good.events.slice(0, 3) },
    ["exec_1: is succeeded, but its events tell these ends: none"],
  ],
  [
    "exactly one end: another one",
    { ...good, events: [...good.events.slice(0, 3), event(4, "failed")] },
    ["exec_1: is succeeded, but its events tell these ends: failed"],
  ],
  [
    "seq has no gap",
    { ...good, events: [...good.events.slice(0, 3), event(5, "succeeded")] },
    ["exec_1: event 4 has the seq 5"],
  ],
  [
    "seq is counted by the row",
    { ...good, calls: [{ ...call, event_seq: 5 }] },
    ["exec_1: has 4 events, but its row counts 5"],
  ],
  [
    "an unsafe call starts once: by its leases",
    { ...good, attempts: [lease(1, { started_at: 5 }), lease(2, { started_at: 10 })] },
    ["exec_1: is unsafe and started 2 times, with 0 retries by people"],
  ],
  [
    "an unsafe call starts once: by its events",
    {
      ...good,
      calls: [{ ...call, event_seq: 5 }],
      events: [
        event(1, "requested"),
        event(2, "started"),
        event(3, "retried"),
        event(4, "started"),
        event(5, "succeeded"),
      ],
    },
    ["exec_1: is unsafe and started 2 times, with 0 retries by people"],
  ],
  [
    "every lease ends",
    { ...good, attempts: [lease(1, { ended_at: null }), lease(2, { started_at: 10 })] },
    ["exec_1: its lease 1 never ended"],
  ],
  [
    "no lease is newer than the call",
    { ...good, attempts: [...good.attempts, lease(3)] },
    ["exec_1: has a lease 3 that is newer than its fence 2"],
  ],
  [
    "one audit record of the end: none",
    { ...good, audit: [] },
    ["exec_1: is succeeded, but the audit tells these ends: none"],
  ],
  [
    "one audit record of the end: two",
    { ...good, audit: [...good.audit, { ...of, action: "call.resolved", status: "succeeded" }] },
    ["exec_1: is succeeded, but the audit tells these ends: succeeded,succeeded"],
  ],
  [
    "one audit record of the end: another one",
    { ...good, audit: [{ ...of, action: "call.settled", status: "cancelled" }] },
    ["exec_1: is succeeded, but the audit tells these ends: cancelled"],
  ],
  [
    "a denied call keeps nothing",
    {
      ...good,
      calls: [{ ...call, state: "denied", input_json: null }],
      events: [...good.events.slice(0, 3), event(4, "denied")],
      audit: [{ ...of, action: "call.denied", status: "denied" }],
    },
    ["exec_1: was denied and kept its arguments or its key"],
  ],
  ["nothing is stranded", open, ["exec_1: was left running"]],
  [
    "the chain holds",
    { ...good, auditProblems: ["embedded#3 edited"] },
    ["the audit chain does not hold: embedded#3 edited"],
  ],
];

test.each(broken)("goes red: %s", (_name, trace, words) => {
  expect(brokenRules(trace)).toEqual(words);
});

test("a person who says that it had not happened allows one start more", () => {
  const resolved: Trace = {
    ...good,
    calls: [{ ...call, event_seq: 6 }],
    attempts: [lease(1, { started_at: 5 }), lease(2, { started_at: 10 })],
    events: [
      event(1, "requested"),
      event(2, "started"),
      event(3, "indeterminate"),
      event(4, "resolved", '{"verdict":"retry"}'),
      event(5, "started"),
      event(6, "succeeded"),
    ],
  };
  expect(brokenRules(resolved)).toEqual([]);
  const confirmed = resolved.events.map((one) =>
    one.seq === 4 ? { ...one, data_json: '{"verdict":"confirm"}' } : one,
  );
  expect(brokenRules({ ...resolved, events: confirmed })).toEqual([
    "exec_1: is unsafe and started 2 times, with 0 retries by people",
  ]);
});

test("equal call ids of two tenants are two calls", () => {
  const other = {
    ...call,
    tenant: "beta",
    state: "denied",
    event_seq: 1,
    input_json: null,
    idempotency_key: null,
  } as const;
  const both: Trace = {
    ...good,
    calls: [call, other],
    events: [...good.events, { ...event(1, "denied"), tenant: "beta" }],
    audit: [...good.audit, { ...of, tenant: "beta", action: "call.denied", status: "denied" }],
  };
  expect(brokenRules(both)).toEqual([]);
});

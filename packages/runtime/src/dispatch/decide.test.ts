// Parked calls and what people decide of them: one unit with the approval, no way around it, and memory that gives way when the unit does not hold.
import { errorBody } from "@signalbox/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { approved as closedRow, sampleApproval } from "../../../../test/conformance/ledger-governance-rows.ts";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandHub, accepted, believed, result, started, unitWords } from "../../../../test/support/hand-hub.ts";
import type { Happening } from "../call/machine.ts";
import type { Beside } from "./apply.ts";

const row = sampleApproval({ approvalId: "apr_1" });
const unsafe = { sideEffectClass: "non_idempotent_write" } as const;
const yes: Happening = { type: "approved", by: ["user:fay"], args: null };
const cancel: Happening = { type: "cancel", by: "user:ann" };

/** Closes the approval in the unit of the call. */
const closing: Beside = {
  guards: [{ op: "update_approval", expect: { revision: 1 }, row: closedRow(row) }],
  writes: [{ op: "append_audit", draft: { ts: 1, tenant: "acme", project: "shop", principal: "user:fay", action: "approval.approved" } }],
};

let hub: HandHub;
beforeEach(() => {
  hub = new HandHub();
});

function parked(callId = "c1", changes: Parameters<HandHub["park"]>[1] = {}): void {
  hub.park(callId, changes);
  hub.store();
}

const decide = (happening: Happening, beside = closing) => hub.hub.decide("acme", "c1", happening, beside, hub.clearance(), hub.now);
const told = (): string[][] => hub.orders("tell").map(({ call }) => [call.callId, call.state]);

describe("parked", () => {
  test("row and approval are one unit, guards first; no worker hears of it, and it takes neither slot nor place in line", () => {
    const w1 = hub.connect("w1", { capacity: 1 });
    const beside: Beside = { guards: [{ op: "insert_approval", row }], writes: [{ op: "append_notice", notice: { type: "approval.requested" } as never }] };
    const identity = identityOf({ callId: "c1" });
    hub.hub.park({ identity, edited: null, facts: believed, clearance: hub.clearance(), approvalId: "apr_1", asked: {}, beside }, hub.now);
    const { unit, admission } = hub.storeNext();
    expect([unitWords(unit.writes), admission]).toEqual([
      ["insert_call awaiting_approval", "insert_approval", "append_event requested", "append_event approval_requested", "append_notice"],
      true,
    ]);
    expect([hub.hub.queueDepth("acme"), hub.hub.busyCount(), hub.hub.countIn("awaiting_approval")]).toEqual([0, 0, 1]);
    hub.admit("c2");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1"]);
  });

  test("withdrawn: it never was", () => {
    const ticket = hub.park("c1");
    hub.gather();
    hub.hub.withdrawn(ticket, hub.now);
    expect([hub.hub.openCount(), hub.hub.queueDepth("acme")]).toEqual([0, 0]);
    hub.park("c1");
    expect(hub.call("c1").state).toBe("awaiting_approval");
  });

  test("neither a free worker nor a lifted freeze moves it", () => {
    parked();
    hub.hub.freeze("acme", "");
    const w1 = hub.connect("w1");
    hub.hub.unfreeze("acme", "", hub.now);
    hub.pass(3_600_000);
    expect([hub.call("c1").state, hub.sent(w1)]).toEqual(["awaiting_approval", ["registered"]]);
  });

  test("a restart finds it parked", () => {
    parked();
    const after = new HandHub();
    const w1 = after.connect("w1");
    after.restore(hub.call("c1"));
    expect([after.call("c1").state, after.sent(w1), after.hub.waitingCalls().map(({ callId }) => callId)]).toEqual(["awaiting_approval", ["registered"], ["c1"]]);
  });
});

describe("decided", () => {
  test("the call's update, the approval's guard and both their rows are one unit, and it goes to a worker once that is stored", () => {
    const w1 = hub.connect("w1");
    parked();
    expect(decide(yes)).toEqual({ ok: true, ticket: 2 });
    hub.gather();
    expect(hub.commits.map(({ unit }) => unitWords(unit.writes))).toEqual([
      ["update_call awaiting_approval#1 → queued#1", "update_approval", "append_event approved", "append_event queued", "append_audit"],
    ]);
    expect([hub.call("c1").state, hub.sent(w1)]).toEqual(["queued", ["registered"]]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  });

  test("it goes under the look that the decision was made with", () => {
    hub.look = null;
    hub.connect("w1");
    parked();
    hub.hub.newEpoch();
    decide(yes);
    hub.store();
    expect([hub.call("c1").state, hub.orders("recheck")]).toEqual(["dispatched", []]);
  });

  test("what changed between that look and the decision asks for another one", () => {
    hub.look = null;
    hub.connect("w1");
    parked();
    const before = hub.clearance();
    hub.hub.newEpoch();
    hub.hub.decide("acme", "c1", yes, closing, before, hub.now);
    hub.store();
    expect([hub.call("c1").state, hub.orders("recheck").map(({ call }) => call.callId)]).toEqual(["queued", ["c1"]]);
  });

  test("it stands in line where its admission put it", () => {
    hub.park("c1");
    hub.admit("c2");
    hub.store();
    decide(yes);
    hub.store();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("with other arguments: they are what the worker gets", () => {
    const w1 = hub.connect("w1");
    parked();
    decide({ type: "approved", by: ["user:fay"], args: { argsJson: '{"amount":3}', editedBy: "user:fay", timeoutMs: 4_000, resultBytesMax: 100 } });
    hub.store();
    expect(hub.messages(w1).at(-1)).toMatchObject({ type: "invoke", argsJson: '{"amount":3}', timeoutMs: 4_000 });
  });

  test("twice, before the first is stored: the second is told why not", () => {
    parked();
    decide(yes);
    expect(decide(yes)).toEqual({ ok: false, reason: "approved_in_queued" });
    hub.gather();
    expect(hub.commits).toHaveLength(1);
  });

  test("of another question than the call is under by now: nothing changes", () => {
    parked();
    expect(decide(cancel, { guards: [], writes: [], under: "apr_0" })).toEqual({ ok: false, reason: "other_question" });
    hub.gather();
    expect([hub.call("c1").state, hub.commits]).toEqual(["awaiting_approval", []]);
    expect(decide(cancel, { guards: [], writes: [], under: "apr_1" })).toMatchObject({ ok: true });
  });

  test("of a call that is not here", () => {
    expect(decide(yes)).toBeUndefined();
    parked();
    expect(hub.hub.decide("other", "c1", yes, closing, undefined, hub.now)).toBeUndefined();
  });

  test("turned down: told once it is stored", () => {
    parked();
    decide({ type: "rejected", error: errorBody("approval_denied", "no"), by: "user:fay" });
    hub.gather();
    expect([told(), unitWords(hub.commits[0]?.unit.writes ?? []).slice(0, 2)]).toEqual([[], ["update_call awaiting_approval#1 → denied#1", "update_approval"]]);
    hub.store();
    expect([told(), hub.hub.openCount()]).toEqual([[["c1", "denied"]], 0]);
  });
});

describe("ends that do not come from the approval", () => {
  const through = (): unknown[] => hub.orders("approval").map(({ call, happening }) => [call.callId, call.approvalId, happening.type]);

  test("a cancel changes nothing by itself: it is ordered together with the approval", () => {
    parked();
    expect(hub.hub.happen("acme", "c1", cancel, hub.now)).toEqual({ ok: false, reason: "through_approval", effects: [] });
    expect([through(), hub.call("c1").state, hub.commits]).toEqual([[["c1", "apr_1", "cancel"]], "awaiting_approval", []]);
    decide(cancel);
    hub.store();
    expect(told()).toEqual([["c1", "cancelled"]]);
  });

  test("so does the caller's deadline, again and again till it is done, but not in every instant", () => {
    parked("c1", { totalDeadlineAt: hub.now + 60_000 });
    hub.pass(60_000);
    expect([through(), hub.call("c1").state]).toEqual([[["c1", "apr_1", "due"]], "awaiting_approval"]);
    hub.pass(10_000);
    expect(through()).toHaveLength(10);
    decide({ type: "due", streamAlive: false, handlerKnown: false, mayExpireLeases: true });
    hub.store();
    expect(told()).toEqual([["c1", "timed_out"]]);
    hub.pass(10_000);
    expect(through()).toEqual([]);
  });

  test("a word on an unknown end that people are asked about; without a question it counts at once", () => {
    const w1 = hub.connect("w1");
    const w2 = hub.connect("w2");
    for (const callId of ["c1", "c2"]) hub.admit(callId, unsafe);
    hub.store();
    hub.say(w1, accepted("c1"));
    hub.say(w2, accepted("c2"));
    hub.pass(10_000);
    hub.store();
    hub.decide("c1", { type: "asked", approvalId: "apr_1", outcome: null, args: null, data: {} });
    hub.store();
    const fail: Happening = { type: "resolve", verdict: "fail", by: "user:op", comment: "", output: null };
    hub.happen("c1", fail);
    hub.happen("c2", fail);
    expect([through(), hub.call("c1").state]).toEqual([[["c1", "apr_1", "resolve"]], "indeterminate"]);
    hub.orders("tell");
    hub.store();
    expect(told()).toEqual([["c2", "failed"]]);
    decide(fail);
    hub.store();
    expect(told()).toEqual([["c1", "failed"]]);
  });

  test("a question that was answered long ago does not hold up what comes after it", () => {
    const w1 = hub.connect("w1");
    parked();
    decide(yes);
    hub.store();
    hub.happen("c1", cancel);
    expect(through()).toEqual([]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "cancel c1#1 cancel"]);
  });
});

describe("a decision that does not hold", () => {
  test("the row is read again, and till then nothing else is decided on top of it", () => {
    parked();
    const decided = decide({ type: "asked", approvalId: "apr_2", outcome: null, args: null, data: {} });
    if (decided?.ok !== true) throw new Error("not decided");
    hub.gather();
    hub.commits = [];
    const stored = { ...hub.call("c1"), approvalId: "apr_1", eventSeq: 2 };
    hub.hub.overtaken(decided.ticket);
    expect(hub.orders("reload")).toEqual([{ type: "reload", tenant: "acme", callId: "c1" }]);
    expect(decide(yes)).toEqual({ ok: false, reason: "overtaken" });
    hub.hub.reloaded(stored, "acme", "c1", believed, hub.now);
    expect(decide(yes)).toMatchObject({ ok: true });
    hub.gather();
    expect(hub.commits.flatMap(({ unit }) => unit.writes.flatMap((write) => (write.op === "append_event" ? [write.event.seq] : [])))).toEqual([3, 4]);
  });

  test("a worker that was chosen meanwhile has heard nothing, and has its slot again", () => {
    const w1 = hub.connect("w1", { capacity: 1 });
    parked();
    const stored = hub.call("c1");
    const first = decide(yes);
    // Anything that moves the hub offers the call, whose approval is in memory alone.
    hub.beat(w1);
    expect(hub.call("c1").state).toBe("dispatched");
    hub.gather();
    const tickets = hub.commits.map(({ ticket }) => ticket);
    hub.commits = [];
    expect(tickets).toHaveLength(2);
    for (const ticket of tickets) hub.hub.overtaken(ticket);
    for (const _ of hub.orders("reload")) hub.hub.reloaded(stored, "acme", "c1", believed, hub.now);
    expect([first, hub.call("c1").state, hub.sent(w1)]).toEqual([{ ok: true, ticket: 2 }, "awaiting_approval", ["registered", "heartbeat_ack"]]);
    hub.admit("c2");
    hub.store();
    hub.say(w1, started("c2"));
    hub.say(w1, result("c2"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1", "result_ack c2#1 stored"]);
    decide(yes);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  });
});

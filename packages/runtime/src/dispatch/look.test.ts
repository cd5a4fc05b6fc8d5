// Looks before a start: who is asked to look, who waits for the answer and who does not, and what rules are asked of a routing outcome.
import { errorBody } from "@signalbox/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandHub, accepted, believed, nack, result } from "../../../../test/support/hand-hub.ts";

const barred = errorBody("forbidden", "the grant is gone");
const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

let hub: HandHub;
beforeEach(() => {
  hub = new HandHub();
  // The tests answer looks by hand.
  hub.look = null;
});

const looked = (): string[] => hub.orders("recheck").map(({ call }) => call.callId);
const clear = (callId: string, found = hub.clearance()): void => hub.hub.cleared("acme", callId, found, hub.now);
const bar = (callId: string): void => hub.hub.cleared("acme", callId, { error: barred }, hub.now);

/** Calls that wait, and of which something has changed since they were admitted. */
function waiting(...callIds: readonly string[]): void {
  for (const callId of callIds) hub.admit(callId);
  hub.store();
  hub.hub.newEpoch();
}

describe("before a start", () => {
  test("what was found at admission is good while nothing changes: it goes at once", () => {
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    expect([looked(), hub.sent(w1)]).toEqual([[], ["registered", "invoke c1#1"]]);
  });

  test("after a change it is looked at once more, once, and goes under the new look", () => {
    waiting("c1");
    const w1 = hub.connect("w1");
    hub.connect("w2");
    hub.beat(w1);
    expect(looked()).toEqual(["c1"]);
    expect(hub.call("c1").state).toBe("queued");
    clear("c1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "heartbeat_ack", "invoke c1#1"]);
  });

  test("a look is good for its time alone: a call that waited longer is looked at again", () => {
    const clearance = { epoch: hub.hub.epoch, until: hub.now + 1_000 };
    for (const callId of ["c1", "c2"]) hub.hub.admit({ identity: identityOf({ callId }), edited: null, facts: believed, clearance }, hub.now);
    hub.store();
    hub.pass(999);
    const w1 = hub.connect("w1", { capacity: 1 });
    expect([hub.call("c1").state, looked()]).toEqual(["dispatched", []]);
    hub.store();
    hub.pass(1);
    hub.say(w1, result("c1"));
    expect([hub.call("c2").state, looked()]).toEqual(["queued", ["c2"]]);
  });

  test("something that changes while it is being looked at makes that look void", () => {
    waiting("c1");
    hub.connect("w1");
    const before = hub.clearance();
    hub.hub.newEpoch();
    expect(looked()).toEqual(["c1"]);
    clear("c1", before);
    expect([hub.call("c1").state, looked()]).toEqual(["queued", ["c1"]]);
    clear("c1");
    expect(hub.call("c1").state).toBe("dispatched");
  });

  test("something that changes between the rules and the admission: not dispatched with it, but looked at first", () => {
    const w1 = hub.connect("w1");
    const clearance = hub.clearance();
    hub.hub.newEpoch();
    hub.hub.admit({ identity: identityOf({ callId: "c1" }), edited: null, facts: believed, clearance }, hub.now);
    hub.store();
    expect([hub.call("c1").state, looked(), hub.sent(w1)]).toEqual(["queued", ["c1"], ["registered"]]);
    bar("c1");
    hub.store();
    expect([hub.orders("tell").map(({ call }) => call.state), hub.sent(w1)]).toEqual([["denied"], []]);
  });

  test("a call that a restart found is looked at, whatever its row says", () => {
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    const after = new HandHub();
    after.look = null;
    after.restore({ ...hub.call("c1"), state: "queued", workerId: null, incarnation: null, replica: null, dispatchedAt: null, leaseExpiresAt: null, startDeadlineAt: null, queueDeadlineAt: after.now + 30_000 });
    after.connect("w1");
    expect(after.orders("recheck").map(({ call }) => call.callId)).toEqual(["c1"]);
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("on its way back to the queue it is looked at like every other", () => {
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.hub.newEpoch();
    hub.say(w1, nack("c1"));
    expect([hub.call("c1").state, looked()]).toEqual(["queued", ["c1"]]);
  });
});

describe("the line meanwhile", () => {
  test("the head is not passed over: the slot is kept for it", () => {
    waiting("c1", "c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    expect(looked()).toEqual(["c1"]);
    clear("c1");
    hub.store();
    expect([hub.sent(w1), hub.call("c2").state, looked()]).toEqual([["registered", "invoke c1#1"], "queued", []]);
  });

  test("also when who stands behind it was looked at before it", () => {
    waiting("c1", "c2");
    clear("c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    expect([looked(), hub.call("c2").state]).toEqual([["c1"], "queued"]);
    clear("c1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("a head that is denied lets the next one go", () => {
    waiting("c1", "c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    bar("c1");
    expect(looked()).toEqual(["c1", "c2"]);
    clear("c2");
    hub.store();
    expect([hub.sent(w1), hub.orders("tell").map(({ call }) => [call.callId, call.state])]).toEqual([["registered", "invoke c2#1"], [["c1", "denied"]]]);
  });

  test("a look that cannot be had: others go at once, and it is tried again at its instant", () => {
    waiting("c1", "c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    expect(looked()).toEqual(["c1"]);
    hub.hub.notCleared("acme", "c1", hub.now + 500, hub.now);
    expect(looked()).toEqual(["c2"]);
    clear("c2");
    hub.store();
    hub.say(w1, result("c2"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1", "result_ack c2#1 stored"]);
    hub.pass(499);
    expect(looked()).toEqual([]);
    hub.pass(1);
    expect(looked()).toEqual(["c1"]);
    clear("c1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  });

  test.each<[string, () => void]>([
    ["cancelled", () => hub.happen("c1", { type: "cancel", by: "user:ann" })],
    ["over for its caller", () => hub.pass(1_000)],
  ])("a head that is %s while it is looked at holds nobody up", (_, ends) => {
    hub.admit("c1", { totalDeadlineAt: hub.now + 1_000 });
    waiting("c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    expect(looked()).toEqual(["c1"]);
    ends();
    hub.store();
    clear("c1");
    expect(looked()).toEqual(["c2"]);
    clear("c2");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1"]);
  });

  test("another worker that kept its slot for it goes on with its own line", () => {
    hub.admit("c1");
    hub.admit("c2", { tool: "ship" });
    waiting();
    hub.connect("w1", { capacity: 1, tools: { pay: 1 } });
    const w2 = hub.connect("w2", { capacity: 1, tools: { pay: 1, ship: 1 } });
    expect(looked()).toEqual(["c1"]);
    clear("c1");
    expect(looked()).toEqual(["c2"]);
    clear("c2");
    hub.store();
    expect(hub.sent(w2)).toEqual(["registered", "invoke c2#1"]);
  });
});

describe("routing outcomes that rules name", () => {
  const asked = (): string[][] => hub.orders("trigger").map(({ call, outcome }) => [call.callId, outcome]);
  const states = (): unknown[] => hub.orders("tell").map(({ call }) => [call.callId, call.state, call.routingOutcome]);

  test("rules are asked once; till they answer, nothing happens to the call", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    hub.pass(30_000);
    expect(asked()).toEqual([["c1", "no_handler"]]);
    hub.pass(60_000);
    expect([asked(), hub.call("c1").state]).toEqual([[], "queued"]);
  });

  test("rules that have no say: it ends as it would have", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    hub.pass(30_000);
    hub.hub.untriggered("acme", "c1", hub.now);
    hub.store();
    expect(states()).toEqual([["c1", "failed", "no_handler"]]);
  });

  test("an outcome that no rule names asks nobody", () => {
    hub.hub.triggersAre(new Set(["capacity_exhausted"]));
    waiting("c1");
    hub.pass(30_000);
    hub.store();
    expect([asked(), states()]).toEqual([[], [["c1", "failed", "no_handler"]]]);
  });

  test("every worker busy is the other outcome", () => {
    hub.hub.triggersAre(new Set(["capacity_exhausted"]));
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1");
    hub.store();
    hub.admit("c2");
    hub.store();
    for (let n = 0; n < 6; n++) {
      hub.pass(5_000);
      hub.beat(w1, { callId: "c1", fence: 1, state: "running" });
    }
    expect(asked()).toEqual([["c2", "capacity_exhausted"]]);
  });

  test("the caller's own deadline goes before the question", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    hub.admit("c1", { totalDeadlineAt: hub.now + 30_000 });
    hub.store();
    hub.pass(30_000);
    hub.store();
    expect([asked(), states()]).toEqual([[], [["c1", "timed_out", null]]]);
  });

  test("a worker that comes meanwhile wins, and the answer comes too late", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    hub.pass(30_000);
    const w1 = hub.connect("w1");
    expect([asked(), looked()]).toEqual([[["c1", "no_handler"]], ["c1"]]);
    clear("c1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
    expect(hub.decide("c1", { type: "asked", approvalId: "apr_1", outcome: "no_handler", args: null, data: {} })).toEqual({ ok: false, reason: "asked_in_dispatched" });
    hub.hub.untriggered("acme", "c1", hub.now);
    expect(hub.call("c1").state).toBe("dispatched");
  });

  test("a look that is under way at the deadline does not keep the rules from being asked", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    const w1 = hub.connect("w1");
    expect(looked()).toEqual(["c1"]);
    hub.hub.disconnect(w1);
    hub.pass(30_000);
    expect(asked()).toEqual([["c1", "no_handler"]]);
    clear("c1");
    hub.hub.untriggered("acme", "c1", hub.now);
    hub.store();
    expect(states()).toEqual([["c1", "failed", "no_handler"]]);
  });

  test("a look that was under way when it left the line does not keep it from being looked at when it is back", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    const w1 = hub.connect("w1");
    expect(looked()).toEqual(["c1"]);
    hub.hub.disconnect(w1);
    hub.pass(30_000);
    hub.decide("c1", { type: "asked", approvalId: "apr_1", outcome: "no_handler", args: null, data: {} });
    hub.store();
    hub.decide("c1", { type: "approved", by: ["user:olga"], args: null });
    hub.store();
    hub.hub.newEpoch();
    hub.connect("w1");
    expect(looked()).toEqual(["c1"]);
  });

  test("asked, approved, turned down by its worker: it is looked at again like every call in the queue", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    waiting("c1");
    hub.pass(30_000);
    hub.decide("c1", { type: "asked", approvalId: "apr_1", outcome: "no_handler", args: null, data: {} });
    hub.store();
    hub.decide("c1", { type: "approved", by: ["user:olga"], args: null });
    hub.store();
    const w1 = hub.connect("w1");
    hub.store();
    hub.hub.newEpoch();
    hub.say(w1, nack("c1"));
    expect([hub.sent(w1), looked()]).toEqual([["registered", "invoke c1#1"], ["c1"]]);
    asked();
    hub.hub.disconnect(w1);
    hub.pass(30_000);
    expect(asked()).toEqual([["c1", "no_handler"]]);
  });

  test("an unknown end is parked and told first; rules are asked once that is stored, and again after a restart", () => {
    hub.hub.triggersAre(new Set(["indeterminate"]));
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.store();
    hub.say(w1, accepted("c1"));
    hub.hub.disconnect(w1);
    hub.pass(15_000);
    expect([hub.call("c1").state, asked()]).toEqual(["indeterminate", []]);
    hub.store();
    expect([states(), asked()]).toEqual([[["c1", "indeterminate", "indeterminate"]], [["c1", "indeterminate"]]]);
    hub.hub.untriggered("acme", "c1", hub.now);
    expect(hub.call("c1").state).toBe("indeterminate");
    const after = new HandHub();
    after.hub.triggersAre(new Set(["indeterminate"]));
    after.restore(hub.call("c1"));
    expect(after.orders("trigger").map(({ outcome }) => outcome)).toEqual(["indeterminate"]);
  });
});

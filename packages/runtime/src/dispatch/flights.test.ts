// Twins: while one of them runs the others wait, and get its result under the same look that a start would need.
import { beforeEach, describe, expect, test } from "vitest";
import { errorBody } from "@signalbox/protocol";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandHub, believed, holds, result, started, unitWords } from "../../../../test/support/hand-hub.ts";
import type { Result } from "@signalbox/protocol";

let hub: HandHub;
let w1: number;
beforeEach(() => {
  hub = new HandHub();
  w1 = hub.connect("w1");
  hub.sent(w1);
});

const twin = { sideEffectClass: "read_only", cacheKey: "k" } as const;
const told = (): string[] => hub.orders("tell").map(({ call }) => `${call.callId} ${call.state}${call.cachedFrom === null ? "" : ` from ${call.cachedFrom}`}`);
const failed = (callId: string): Result => ({
  type: "result",
  callId,
  fence: 1,
  status: "failed",
  error: { code: "boom", message: "no", retryable: false },
  usage: { durationMs: 1 },
});

function three(): void {
  for (const name of ["c1", "c2", "c3"]) hub.admit(name, twin);
  hub.store();
}

test("one of three runs, and all three are told its result once that is stored", () => {
  three();
  expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  hub.say(w1, started("c1"));
  hub.say(w1, result("c1"));
  hub.gather();
  expect([hub.call("c2").state, hub.call("c3").state]).toEqual(["queued", "queued"]);
  hub.store();
  expect(told()).toEqual(["c1 succeeded", "c2 succeeded from c1", "c3 succeeded from c1"]);
  expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
  expect(hub.hub.openCount()).toBe(0);
});

test("calls of another key, of another tenant and of none do not wait", () => {
  hub.admit("c1", twin);
  hub.admit("c2", { ...twin, cacheKey: "other" });
  hub.admit("c3", { sideEffectClass: "read_only" });
  hub.store();
  expect(hub.sent(w1)).toEqual(["invoke c1#1", "invoke c2#1", "invoke c3#1"]);
  const w2 = hub.connect("w2", { tenant: "beta" });
  hub.admit("c1", { ...twin, tenant: "beta", toolTenant: "beta" });
  hub.store();
  expect(hub.sent(w2)).toEqual(["registered", "invoke c1#1"]);
});

test("those behind followers in the lane are not held up by them", () => {
  const narrow = new HandHub();
  const w = narrow.connect("w1", { capacity: 2 });
  for (let n = 1; n <= 100; n++) narrow.hub.admit({ ...admission(narrow, `t${n}`) }, narrow.now);
  narrow.admit("x", { sideEffectClass: "read_only" });
  narrow.store();
  expect(narrow.sent(w)).toEqual(["registered", "invoke t1#1", "invoke x#1"]);
});

function admission(of: HandHub, callId: string) {
  return { identity: identityOf({ callId, admittedAt: of.now, ...twin }), edited: null, facts: believed, clearance: of.clearance() };
}

describe("the one that runs brings nothing", () => {
  test("its tool fails: all others run by themselves, for each would fail after the one before it", () => {
    three();
    hub.sent(w1);
    hub.say(w1, failed("c1"));
    hub.store();
    expect(told()).toEqual(["c1 failed"]);
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored", "invoke c2#1", "invoke c3#1"]);
    // Whoever comes now has one to wait for again.
    hub.admit("c4", twin);
    hub.store();
    hub.say(w1, result("c2"));
    hub.store();
    expect(told()).toEqual(["c2 succeeded", "c4 succeeded from c2"]);
    expect(hub.sent(w1)).toEqual(["result_ack c2#1 stored"]);
  });

  test("its own deadline ends it: that says nothing of the tool, and one of the others runs for the rest", () => {
    const idle = new HandHub();
    idle.admit("c1", { ...twin, totalDeadlineAt: idle.now + 500 });
    for (const name of ["c2", "c3"]) idle.admit(name, twin);
    idle.store();
    idle.pass(501);
    idle.store();
    const w = idle.connect("w1");
    idle.store();
    expect(idle.sent(w)).toEqual(["registered", "invoke c2#1"]);
  });

  test("it is cancelled while it is queued: so too", () => {
    const idle = new HandHub();
    for (const name of ["c1", "c2"]) idle.admit(name, twin);
    idle.store();
    idle.happen("c1", { type: "cancel", by: "user:ann" });
    idle.store();
    const w = idle.connect("w1");
    idle.store();
    expect(idle.sent(w)).toEqual(["registered", "invoke c2#1"]);
  });

  test("its admission does not come to be: so too", () => {
    const ticket = hub.admit("c1", twin);
    hub.admit("c2", twin);
    hub.hub.withdrawn(ticket, hub.now);
    hub.gather();
    hub.commits = hub.commits.filter((one) => one.ticket !== ticket);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1"]);
  });

  test("the next one has all its time in the queue, however long it waited", () => {
    const idle = new HandHub();
    const w = idle.connect("w1", { capacity: 1 });
    for (const name of ["c1", "c2"]) idle.admit(name, twin);
    idle.store();
    idle.say(w, started("c1"));
    for (let beats = 0; beats < 9; beats++) {
      idle.pass(4_000);
      idle.beat(w, { callId: "c1", fence: 1, state: "running" });
    }
    expect(idle.call("c2").state).toBe("queued");
    idle.say(w, failed("c1"));
    idle.store();
    expect(idle.sent(w).at(-1)).toBe("invoke c2#1");
  });
});

describe("a follower of its own will", () => {
  test("is cancelled alone", () => {
    three();
    hub.happen("c2", { type: "cancel", by: "user:ann" });
    hub.store();
    expect(told()).toEqual(["c2 cancelled"]);
    hub.say(w1, result("c1"));
    hub.store();
    expect(told()).toEqual(["c1 succeeded", "c3 succeeded from c1"]);
  });

  test("ends at its total deadline alone", () => {
    hub.admit("c1", twin);
    hub.admit("c2", { ...twin, totalDeadlineAt: hub.now + 500 });
    hub.store();
    hub.pass(501);
    hub.store();
    expect(told()).toEqual(["c2 timed_out"]);
  });

  test("that may not have so large a result runs itself", () => {
    hub.admit("c1", twin);
    hub.admit("c2", { ...twin, resultBytesMax: 5 });
    hub.store();
    hub.sent(w1);
    hub.say(w1, result("c1"));
    hub.store();
    expect(told()).toEqual(["c1 succeeded"]);
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored", "invoke c2#1"]);
  });
});

describe("what has changed since the follower came", () => {
  test("is heard before it gets the result: a rule says no, and it is denied", () => {
    hub.look = () => ({ error: errorBody("forbidden", "not any more") });
    three();
    hub.hub.newEpoch();
    hub.say(w1, result("c1"));
    hub.store();
    expect(told()).toEqual(["c1 succeeded", "c2 denied", "c3 denied"]);
  });

  test("cannot be found out: it waits for the next look", () => {
    hub.look = null;
    hub.admit("c1", twin);
    hub.admit("c2", twin);
    hub.store();
    hub.hub.newEpoch();
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.orders("recheck").map(({ call }) => call.callId)).toEqual(["c2"]);
    hub.hub.notCleared("acme", "c2", hub.now + 500, hub.now);
    hub.pass(501);
    expect(hub.orders("recheck").map(({ call }) => call.callId)).toEqual(["c2"]);
    hub.hub.cleared("acme", "c2", hub.clearance(), hub.now);
    hub.store();
    expect(told()).toEqual(["c1 succeeded", "c2 succeeded from c1"]);
  });

  test("is a freeze of the tool: nothing of it goes out; when it is lifted one is looked at, and what it gets is for all", () => {
    three();
    hub.sent(w1);
    hub.hub.freeze("acme", "pay");
    hub.say(w1, result("c1"));
    hub.store();
    expect(told()).toEqual(["c1 succeeded"]);
    const kept = { from: "c1", output: { json: '"done"', hash: "h", bytes: 6, illFormed: false } };
    hub.look = () => ({ ...hub.clearance(), answer: kept });
    hub.hub.unfreeze("acme", "pay", hub.now);
    hub.store();
    expect(told()).toEqual(["c2 succeeded from c1", "c3 succeeded from c1"]);
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
  });

  test("is a freeze, and the result is too old when it is lifted: one of them runs for the rest", () => {
    three();
    hub.sent(w1);
    hub.hub.freeze("acme", "pay");
    hub.say(w1, result("c1"));
    hub.store();
    hub.hub.unfreeze("acme", "pay", hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored", "invoke c2#1"]);
  });
});

test("after a restart the one that runs leads the others again", () => {
  three();
  hub.say(w1, started("c1"));
  hub.store();
  const rows = ["c1", "c2", "c3"].map((name) => hub.call(name));
  const again = new HandHub({}, 0);
  for (const row of rows) again.restore(row);
  const w = again.connect("w1", { inFlight: [holds("c1", "running")] });
  again.store();
  expect(again.sent(w).filter((word) => word.startsWith("invoke"))).toEqual([]);
  again.say(w, result("c1"));
  again.store();
  expect(again.orders("tell").map(({ call }) => `${call.callId} ${call.cachedFrom}`)).toEqual(["c1 null", "c2 c1", "c3 c1"]);
});

test("after a restart that found nobody running, the first in line runs for the others", () => {
  const idle = new HandHub();
  for (const name of ["c1", "c2", "c3"]) idle.admit(name, twin);
  idle.store();
  const rows = ["c1", "c2", "c3"].map((name) => idle.call(name));
  const again = new HandHub();
  for (const row of rows) again.restore(row);
  const w = again.connect("w1");
  again.store();
  expect(again.sent(w)).toEqual(["registered", "invoke c1#1"]);
});

test("followers count towards the depth of their tenant's queue, and leave it when they are answered", () => {
  three();
  expect(hub.hub.queueDepth("acme")).toBe(2);
  hub.say(w1, result("c1"));
  hub.store();
  expect(hub.hub.queueDepth("acme")).toBe(0);
});

test("the runs that ended under a key are counted, so that who looked before the last one looks again", () => {
  expect(hub.hub.endedRuns("acme", "k")).toBe(0);
  three();
  hub.say(w1, result("c1"));
  hub.gather();
  expect(hub.hub.endedRuns("acme", "k")).toBe(0);
  hub.store();
  expect([hub.hub.endedRuns("acme", "k"), hub.hub.endedRuns("beta", "k")]).toEqual([1, 0]);
});

test("a call that an earlier result answers is one unit, told once it is stored", () => {
  const output = { json: '"done"', hash: "h", bytes: 6, illFormed: false };
  hub.hub.answer({ ...admission(hub, "c9") }, { from: "c1", output }, hub.now);
  hub.gather();
  expect(hub.commits.map(({ unit }) => unitWords(unit.writes))).toEqual([
    ["insert_call succeeded", "append_event requested", "append_event succeeded", "append_audit", "add_usage"],
  ]);
  expect(told()).toEqual([]);
  hub.store();
  expect(told()).toEqual(["c9 succeeded from c1"]);
  expect([hub.sent(w1), hub.hub.openCount()]).toEqual([[], 0]);
});

// What waits for the ledger on the way back: the second commit of a call, and commits that the ledger refuses.
import { describe, expect, test } from "vitest";
import { HandHub, accepted, believed, holds, nack, result, started, unitWords } from "../../../../test/support/hand-hub.ts";

const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

describe("the second commit", () => {
  test("caller and worker hear of the end once it is stored, not sooner", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, result("c1"));
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
    expect(hub.orders("tell")).toEqual([]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
    expect(hub.orders("tell")).toMatchObject([{ call: { callId: "c1", state: "succeeded", outputJson: '"done"' } }]);
    expect(hub.hub.openCount()).toBe(0);
  });

  test("the same result again before that: not acknowledged, neither directly nor by what the ledger has so far", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    const stored = { row: hub.call("c1"), attempts: hub.attempts("c1") };
    hub.say(w1, result("c1"));
    hub.say(w1, result("c1"));
    expect(hub.orders("stray")).toMatchObject([{ session: w1, tenant: "acme", result: { callId: "c1" } }]);
    hub.hub.strayResult(w1, stored, result("c1"), believed, hub.now);
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
  });

  test("an earlier commit that comes in after the end was reached in memory does not let the call go", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.storeNext();
    expect(hub.call("c1").state).toBe("cancelled");
    expect(hub.orders("tell")).toEqual([]);
    // Nor is the Invoke sent any more.
    expect(hub.sent(w1)).toEqual(["registered"]);
    hub.storeNext();
    expect(hub.orders("tell")).toMatchObject([{ call: { state: "cancelled" } }]);
    expect(hub.hub.find("acme", "c1")).toBeUndefined();
  });

  test("a caller is told what its commit stored, not what memory has come to since", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.store();
    hub.say(w1, accepted("c1"));
    hub.say(w1, started("c1"));
    hub.pass(15_000);
    hub.happen("c1", { type: "resolve", verdict: "fail", by: "user:op", comment: "", output: null });
    hub.gather();
    expect(hub.commits.map(({ unit }) => unitWords(unit.writes)[0]).slice(-2)).toEqual([
      "update_call running#1 → indeterminate#2",
      "update_call indeterminate#2 → failed#2",
    ]);
    const told = () => hub.orders("tell").map(({ call }) => call.state);
    let first = told();
    for (; first.length === 0; first = told()) hub.storeNext();
    expect([first, hub.call("c1").state]).toEqual([["indeterminate"], "failed"]);
    hub.store();
    expect(told()).toEqual(["failed"]);
  });

  test("a loss is told to its worker once it is stored, heartbeats or not", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.store();
    hub.say(w1, accepted("c1"));
    hub.pass(10_000);
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", fence: 2 });
    hub.beat(w1, holds("c1", "running"));
    hub.say(w1, started("c1"));
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "go c1#1", "heartbeat_ack"]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["cancel c1#1 lost"]);
    hub.beat(w1, holds("c1", "running"));
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "cancel c1#1 lost"]);
  });
});

describe("a commit that the ledger refuses", () => {
  test("memory asks for the row, and gives way to it", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    const row = hub.call("c1");
    hub.say(w1, result("c1"));
    hub.gather();
    hub.hub.overtaken(hub.commits[0]?.ticket ?? 0);
    expect(hub.orders("reload")).toEqual([{ type: "reload", tenant: "acme", callId: "c1" }]);
    hub.hub.reloaded({ ...row, state: "cancelled", settledAt: 5 }, "acme", "c1", believed, hub.now);
    expect(hub.orders("tell")).toMatchObject([{ call: { state: "cancelled", settledAt: 5 } }]);
    expect(hub.hub.openCount()).toBe(0);
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("a row that is open goes on from where the ledger has it", () => {
    const hub = new HandHub();
    hub.admit("c1");
    hub.store();
    const row = hub.call("c1");
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.gather();
    hub.hub.overtaken(hub.commits[0]?.ticket ?? 0);
    hub.commits = [];
    hub.hub.reloaded({ ...row, fence: 4, attempt: 3 }, "acme", "c1", believed, hub.now);
    expect(hub.hub.queueDepth("acme")).toBe(1);
    const w1 = hub.connect("w1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#4"]);
  });

  test("a row that is gone is forgotten", () => {
    const hub = new HandHub();
    hub.admit("c1");
    hub.hub.reloaded(undefined, "acme", "c1", believed, hub.now);
    expect([hub.hub.openCount(), hub.hub.queueDepth("acme")]).toEqual([0, 0]);
  });
});

test("routing outcomes are counted when they happen: per attempt, or for the call", () => {
  const hub = new HandHub();
  const outcomes = (): string[] => hub.orders("routed").map(({ outcome }) => outcome);
  hub.admit("c1");
  hub.pass(30_000);
  expect(outcomes()).toEqual(["no_handler"]);
  const w1 = hub.connect("w1", { capacity: 1 });
  hub.admit("c2");
  hub.admit("c3");
  hub.store();
  hub.say(w1, started("c2"));
  hub.pass(15_000);
  expect(outcomes()).toEqual(["lease_expired"]);
  hub.pass(15_000);
  expect(outcomes()).toEqual(["capacity_exhausted"]);
  hub.say(w1, nack("c2"));
  hub.store();
  expect(hub.call("c2").state).toBe("dispatched");
  hub.say(w1, started("c2", 2));
  hub.hub.disconnect(w1);
  hub.pass(15_000);
  expect(outcomes()).toEqual(["indeterminate"]);
});

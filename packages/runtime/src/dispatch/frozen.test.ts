// Freezes: what they hold back and what not, whose time goes on, and how everything goes on when they are lifted.
import { beforeEach, describe, expect, test } from "vitest";
import { HandHub, believed, result, started } from "../../../../test/support/hand-hub.ts";
import { identityOf } from "../../../../test/support/calls.ts";

let hub: HandHub;
beforeEach(() => {
  hub = new HandHub();
});

const told = (): string[][] => hub.orders("tell").map(({ call }) => [call.callId, call.state]);

describe("frozen", () => {
  test.each([
    ["its own tenant, every tool", "acme", ""],
    ["its own tenant, this tool", "acme", "pay"],
    ["the platform, every tenant's", "platform", ""],
    ["the platform, this tool of every tenant", "platform", "pay"],
  ])("%s: admitted, and no worker hears of it", (_, tenant, tool) => {
    const w1 = hub.connect("w1");
    hub.hub.freeze(tenant, tool);
    hub.admit("c1");
    hub.store();
    expect([hub.call("c1").state, hub.sent(w1)]).toEqual(["queued", ["registered"]]);
  });

  test.each([
    ["another tenant's", "other", ""],
    ["another tool's", "acme", "ship"],
    ["a name that only begins like it", "acme", "pa"],
  ])("%s freeze stops nothing here", (_, tenant, tool) => {
    const w1 = hub.connect("w1");
    hub.hub.freeze(tenant, tool);
    hub.admit("c1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("what a worker has already goes on to its end", () => {
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.hub.freeze("acme", "");
    hub.say(w1, started("c1"));
    hub.say(w1, result("c1"));
    hub.store();
    expect(told()).toEqual([["c1", "succeeded"]]);
  });

  test("an approval lets a call go on into the queue, not to a worker", () => {
    const w1 = hub.connect("w1");
    hub.park("c1");
    hub.store();
    hub.hub.freeze("acme", "");
    hub.decide("c1", { type: "approved", by: ["user:fay"], args: null });
    hub.store();
    expect([hub.call("c1").state, hub.sent(w1)]).toEqual(["queued", ["registered"]]);
  });

  test("a cancel ends it at once", () => {
    hub.hub.freeze("acme", "");
    hub.admit("c1");
    hub.store();
    hub.happen("c1", { type: "cancel", by: "user:ann" });
    hub.store();
    expect(told()).toEqual([["c1", "cancelled"]]);
  });
});

describe("time while it is frozen", () => {
  test("the queue's deadline does not run; the caller's own does", () => {
    hub.hub.freeze("acme", "");
    hub.admit("c1");
    hub.admit("c2", { totalDeadlineAt: hub.now + 100_000 });
    hub.store();
    hub.pass(99_999);
    expect(told()).toEqual([]);
    hub.pass(1);
    hub.store();
    expect(told()).toEqual([["c2", "timed_out"]]);
    hub.pass(3_600_000);
    expect(hub.call("c1").state).toBe("queued");
  });

  test("a freeze that comes when the call waits already stops its time too", () => {
    hub.admit("c1");
    hub.store();
    hub.pass(29_000);
    hub.hub.freeze("acme", "pay");
    hub.pass(60_000);
    expect(hub.call("c1").state).toBe("queued");
  });

  test("rules are not asked about a routing outcome that is the freeze's doing", () => {
    hub.hub.triggersAre(new Set(["no_handler"]));
    hub.hub.freeze("acme", "");
    hub.admit("c1");
    hub.store();
    hub.pass(60_000);
    expect(hub.orders("trigger")).toEqual([]);
  });
});

describe("lifted", () => {
  test("what it held up is offered at once, in the order of the line, under a look of today", () => {
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.hub.freeze("acme", "");
    for (const callId of ["c1", "c2"]) hub.admit(callId);
    hub.store();
    hub.hub.newEpoch();
    hub.look = null;
    hub.hub.unfreeze("acme", "", hub.now);
    expect(hub.orders("recheck").map(({ call }) => call.callId)).toEqual(["c1"]);
    hub.look = () => hub.clearance();
    hub.hub.cleared("acme", "c1", hub.clearance(), hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("with nobody there, the time in the queue starts anew", () => {
    hub.hub.freeze("acme", "");
    hub.admit("c1");
    hub.store();
    hub.pass(600_000);
    hub.hub.unfreeze("acme", "", hub.now);
    hub.pass(29_999);
    hub.store();
    expect(told()).toEqual([]);
    hub.pass(1);
    hub.store();
    expect(told()).toEqual([["c1", "failed"]]);
  });

  test("what another freeze still holds waits on, and its time with it", () => {
    const w1 = hub.connect("w1", { tools: { pay: 5, ship: 5 } });
    hub.hub.freeze("acme", "");
    hub.hub.freeze("platform", "pay");
    hub.admit("c1");
    hub.admit("c2", { tool: "ship" });
    hub.store();
    hub.hub.unfreeze("acme", "", hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1"]);
    // Nothing is told of it either: it has not been let go.
    expect(hub.call("c1").eventSeq).toBe(2);
    hub.pass(600_000);
    hub.beat(w1, { callId: "c2", fence: 1, state: "running" });
    expect(hub.call("c1").state).toBe("queued");
    hub.hub.unfreeze("platform", "pay", hub.now);
    hub.store();
    expect(hub.sent(w1).at(-1)).toBe("invoke c1#1");
  });

  test("one that was never there changes nothing", () => {
    hub.admit("c1");
    hub.store();
    hub.hub.unfreeze("acme", "", hub.now + 10_000);
    hub.pass(30_000);
    hub.store();
    expect(told()).toEqual([["c1", "failed"]]);
  });
});

describe("a worker that serves several tenants", () => {
  const shared = { toolTenant: "platform" } as const;

  test("calls of others behind frozen ones are served, however many stand before them", () => {
    const roomy = new HandHub({ queueDepthPerTenantMax: 1_000 });
    roomy.hub.freeze("acme", "");
    for (let n = 0; n < 200; n++) roomy.admit(`a${n}`, shared);
    roomy.admit("b1", { ...shared, tenant: "bolt" });
    roomy.store();
    const w1 = roomy.connect("w1", { tenant: "platform", capacity: 1 });
    roomy.store();
    expect(roomy.sent(w1)).toEqual(["registered", "invoke b1#1"]);
  });

  test("and a restart that finds the freeze and the calls holds them as before", () => {
    hub.admit("c1");
    hub.store();
    const after = new HandHub();
    after.hub.freeze("acme", "");
    const w1 = after.connect("w1");
    after.restore({ ...hub.call("c1"), queueDeadlineAt: after.now - 1 });
    after.pass(60_000);
    expect([after.call("c1").state, after.sent(w1)]).toEqual(["queued", ["registered"]]);
  });
});

test("an admission in a freeze does not take a slot, and one that is lifted before it is stored goes in order", () => {
  const w1 = hub.connect("w1", { capacity: 1 });
  hub.hub.freeze("acme", "");
  hub.hub.admit({ identity: identityOf({ callId: "c1" }), edited: null, facts: believed, clearance: hub.clearance() }, hub.now);
  hub.hub.unfreeze("acme", "", hub.now);
  hub.gather();
  expect(hub.commits.map(({ admission }) => admission)).toEqual([true, false]);
  expect(hub.sent(w1)).toEqual(["registered"]);
  hub.store();
  expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
});

describe("a suspended tenant", () => {
  test("is held like by a freeze of its own, and others are not concerned", () => {
    const shared = hub.connect("w1", { tenant: "platform", tools: { pay: 5 } });
    hub.hub.suspend("acme");
    hub.admit("c1", { toolTenant: "platform" });
    hub.admit("b1", { toolTenant: "platform", tenant: "bolt" });
    hub.store();
    expect(hub.sent(shared)).toEqual(["registered", "invoke b1#1"]);
    hub.pass(60_000);
    expect(hub.call("c1").state).toBe("queued");
    expect([hub.hub.isSuspended("acme"), hub.hub.isSuspended("bolt")]).toEqual([true, false]);
  });

  test("goes on with all the time in the queue, as far as no freeze holds it", () => {
    const w1 = hub.connect("w1");
    hub.hub.suspend("acme");
    hub.hub.freeze("acme", "pay");
    hub.admit("c1");
    hub.store();
    hub.pass(600_000);
    hub.hub.resume("acme", hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered"]);
    hub.hub.suspend("acme");
    hub.hub.unfreeze("acme", "pay", hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual([]);
    hub.hub.resume("acme", hub.now);
    hub.beat(w1);
    hub.store();
    expect(hub.sent(w1).at(-1)).toBe("invoke c1#1");
  });
});

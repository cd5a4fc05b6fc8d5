// Caps on calls at work at once: who waits although a worker is free, who goes past, and who is next when one ends.
import { describe, expect, test } from "vitest";
import { accepted, HandHub, result, started } from "../../../../test/support/hand-hub.ts";
import type { CapBook } from "./types.ts";

const endless = Number.POSITIVE_INFINITY;

/** Caps by tenant, and by `tenant/project`. */
function caps(given: Readonly<Record<string, number>>): CapBook {
  return {
    any: Object.keys(given).length > 0,
    concurrentMax: (tenant) => given[tenant] ?? endless,
    concurrentMaxOfProject: (tenant, project) => given[`${tenant}/${project}`] ?? endless,
  };
}

function capped(given: Readonly<Record<string, number>>, ...limits: ConstructorParameters<typeof HandHub>): HandHub {
  const hub = new HandHub(...limits);
  hub.hub.capsAre(caps(given), hub.now);
  return hub;
}

const shared = { toolTenant: "platform" } as const;

describe("a cap of a tenant", () => {
  test("the third of two waits although the worker is free, and starts when one ends", () => {
    const hub = capped({ acme: 2 });
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2", "c3", "c4"]) hub.admit(callId);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "invoke c2#1"]);
    expect([hub.call("c3").state, hub.call("c4").state]).toEqual(["queued", "queued"]);
    hub.say(w1, result("c2"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c2#1 stored", "invoke c3#1"]);
  });

  test("counts those that have started, too", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, started("c1"));
    hub.admit("c2");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
  });

  test("holds back nobody else: whoever is under its cap goes past a whole backlog", () => {
    const hub = capped({ acme: 1 }, { queueDepthPerTenantMax: 500 });
    for (let n = 0; n < 200; n++) hub.admit(`a${n}`, shared);
    hub.admit("b1", { ...shared, tenant: "globex" });
    const w1 = hub.connect("w1", { tenant: "platform", capacity: 2 });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke a0#1", "invoke b1#1"]);
    hub.admit("b2", { ...shared, tenant: "globex" });
    hub.say(w1, result("b1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack b1#1 stored", "invoke b2#1"]);
  });

  test("is its tenant's alone", () => {
    const hub = capped({ acme: 1, globex: 2 });
    const w1 = hub.connect("w1", { tenant: "platform" });
    for (const [callId, tenant] of [["a1", "acme"], ["a2", "acme"], ["b1", "globex"], ["b2", "globex"], ["b3", "globex"], ["i1", "initech"]] as const)
      hub.admit(callId, { ...shared, tenant });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke a1#1", "invoke b1#1", "invoke i1#1", "invoke b2#1"]);
  });

  test("room that one call makes is for a call of any tool, at any worker, the oldest first", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1", { tools: { pay: 9 } });
    const w2 = hub.connect("w2", { tools: { ship: 9 } });
    const w3 = hub.connect("w3", { tools: { pack: 9 } });
    for (const [callId, tool] of [["c1", "pay"], ["c2", "ship"], ["c3", "pack"]] as const) hub.admit(callId, { tool });
    hub.store();
    expect([hub.sent(w1), hub.sent(w2), hub.sent(w3)]).toEqual([["registered", "invoke c1#1"], ["registered"], ["registered"]]);
    hub.say(w1, result("c1"));
    hub.store();
    expect([hub.sent(w2), hub.sent(w3)]).toEqual([["invoke c2#1"], []]);
    hub.say(w2, result("c2"));
    hub.store();
    expect([hub.sent(w2), hub.sent(w3)]).toEqual([["result_ack c2#1 stored"], ["invoke c3#1"]]);
  });

  test.each([
    ["is turned down for good", (hub: HandHub, w1: number) => hub.say(w1, { type: "nack", callId: "c1", fence: 1, reason: "reject", code: "no", message: "" })],
    ["is cancelled before it started", (hub: HandHub) => hub.happen("c1", { type: "cancel", by: "user:bo" })],
    ["may have run and is lost", (hub: HandHub, w1: number, w2: number) => {
      hub.say(w1, accepted("c1"));
      hub.pass(9_000);
      hub.beat(w2);
      hub.pass(7_000);
      hub.beat(w2);
    }],
  ])("room is made when a call %s", (_, happens) => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1", { tools: { pay: 9 } });
    hub.admit("c1", { sideEffectClass: "non_idempotent_write" });
    hub.admit("c2", { tool: "ship" });
    hub.store();
    hub.sent(w1);
    const w2 = hub.connect("w2", { tools: { ship: 9 } });
    hub.store();
    expect(hub.sent(w2)).toEqual(["registered"]);
    happens(hub, w1, w2);
    hub.store();
    expect(hub.sent(w2).filter((words) => words.startsWith("invoke"))).toEqual(["invoke c2#1"]);
  });

  test("an admission that is withdrawn gives its room back", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1");
    const ticket = hub.admit("c1");
    hub.gather();
    hub.commits.shift();
    hub.admit("c2");
    hub.store();
    expect(hub.call("c2").state).toBe("queued");
    hub.hub.withdrawn(ticket, hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1"]);
  });

  test("calls that a restart finds at work count", () => {
    const before = new HandHub();
    const w1 = before.connect("w1");
    before.admit("c1");
    before.store();
    const hub = capped({ acme: 1 });
    hub.restore(before.call("c1"));
    const again = hub.connect("w2");
    hub.admit("c2");
    hub.store();
    expect([before.sent(w1), hub.sent(again)]).toEqual([["registered", "invoke c1#1"], ["registered"]]);
  });
});

describe("a cap of a project", () => {
  test("holds beside that of its tenant, and the smaller one is felt", () => {
    const hub = capped({ acme: 3, "acme/shop": 1 });
    const w1 = hub.connect("w1");
    for (const [callId, project] of [["s1", "shop"], ["s2", "shop"], ["b1", "back"], ["b2", "back"], ["b3", "back"]] as const)
      hub.admit(callId, { project });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke s1#1", "invoke b1#1", "invoke b2#1"]);
    hub.say(w1, result("b1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack b1#1 stored", "invoke b3#1"]);
    hub.say(w1, result("s1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack s1#1 stored", "invoke s2#1"]);
  });

  test("the depth of a project's queue is counted while its calls wait", () => {
    const hub = new HandHub();
    hub.admit("s1", { project: "shop" });
    hub.admit("s2", { project: "shop" });
    hub.admit("b1", { project: "back" });
    const depths = () => [hub.hub.queueDepthOfProject("acme", "shop"), hub.hub.queueDepthOfProject("acme", "back"), hub.hub.queueDepth("acme")];
    expect(depths()).toEqual([2, 1, 3]);
    hub.connect("w1", { capacity: 1 });
    hub.store();
    expect(depths()).toEqual([1, 1, 2]);
    hub.happen("b1", { type: "cancel", by: "user:bo" });
    expect(depths()).toEqual([1, 0, 1]);
  });
});

describe("the time in the queue", () => {
  test("runs for who is held back: nobody could take it in time, and the error says why", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1");
    hub.admit("c1", { timeoutMs: 600_000 });
    hub.admit("c2");
    hub.store();
    for (let beats = 0; beats < 6; beats++) {
      hub.pass(5_000);
      hub.beat(w1, { callId: "c1", fence: 1, state: "running" });
    }
    hub.store();
    const [told] = hub.orders("tell");
    expect(told?.call).toMatchObject({
      callId: "c2",
      state: "failed",
      routingOutcome: "capacity_exhausted",
      error: { code: "capacity_exhausted", details: { quota: "concurrent_executions" } },
    });
  });

  test("without a worker it is nobody there, cap or not", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1", { tools: { pay: 9 } });
    hub.admit("c1", { timeoutMs: 600_000 });
    hub.admit("c2", { tool: "ship" });
    hub.store();
    for (let beats = 0; beats < 6; beats++) {
      hub.pass(5_000);
      hub.beat(w1, { callId: "c1", fence: 1, state: "running" });
    }
    hub.store();
    expect(hub.orders("tell").map(({ call }) => [call.callId, call.error?.code])).toEqual([["c2", "no_handler"]]);
  });
});

describe("a change of caps", () => {
  test("raised: whoever waited starts at once", () => {
    const hub = capped({ acme: 1 });
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2", "c3", "c4"]) hub.admit(callId);
    hub.store();
    hub.sent(w1);
    hub.hub.capsAre(caps({ acme: 3 }), hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1", "invoke c3#1"]);
    hub.hub.capsAre(caps({}), hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c4#1"]);
  });

  test("lowered: what runs goes on, and nobody starts until enough have ended", () => {
    const hub = capped({});
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2", "c3"]) hub.admit(callId);
    hub.store();
    hub.sent(w1);
    hub.hub.capsAre(caps({ acme: 2 }), hub.now);
    hub.admit("c4");
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
    hub.say(w1, result("c2"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c2#1 stored", "invoke c4#1"]);
  });
});

describe("under a cap as without one", () => {
  test("who has waited is looked at again first", () => {
    const hub = capped({ acme: 1 });
    hub.look = null;
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    hub.hub.newEpoch();
    hub.say(w1, result("c1"));
    hub.store();
    const looks = hub.orders("recheck").map(({ call }) => call.callId);
    expect([hub.sent(w1), looks]).toEqual([["registered", "invoke c1#1", "result_ack c1#1 stored"], ["c2"]]);
    hub.hub.cleared("acme", "c2", hub.clearance(), hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1"]);
  });

  test("what was looked at while the room went to another waits on, and is looked at again", () => {
    const hub = capped({ acme: 1 });
    hub.look = null;
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    hub.hub.newEpoch();
    hub.say(w1, result("c1"));
    hub.store();
    hub.hub.capsAre(caps({ acme: 1, "acme/shop": 0 }), hub.now);
    hub.hub.cleared("acme", "c2", hub.clearance(), hub.now);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored"]);
    expect(hub.call("c2").state).toBe("queued");
  });
});

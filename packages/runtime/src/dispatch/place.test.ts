// Who gets which call: slots, order, avoidance, silence, and workers of other tenants.
import { describe, expect, test } from "vitest";
import { HandHub, holds, nack, result, started } from "../../../../test/support/hand-hub.ts";

describe("slots", () => {
  test("no worker is given more than its capacity", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 2 });
    for (const callId of ["c1", "c2", "c3"]) hub.admit(callId);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "invoke c2#1"]);
    expect(hub.call("c3").state).toBe("queued");
  });

  test("nor more of one handler than that handler takes, while others of it go on", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 10, tools: { pay: 1, ship: 2 } });
    for (const [callId, tool] of [["c1", "pay"], ["c2", "pay"], ["c3", "ship"], ["c4", "ship"], ["c5", "ship"]] as const) hub.admit(callId, { tool });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "invoke c3#1", "invoke c4#1"]);
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored", "invoke c2#1"]);
  });

  test("a register that offers more than the bounds is cut to them", () => {
    const hub = new HandHub({ workerCapacityMax: 1 });
    const w1 = hub.connect("w1", { capacity: 50, tools: { pay: 9, ship: 9, pack: 9, lend: 9 } });
    const [registered] = hub.messages(w1);
    expect(registered).toMatchObject({ type: "registered", refused: [{ tool: "lend", version: "1.0.0", reason: "more than 3 handlers" }] });
    for (const callId of ["c1", "c2"]) hub.admit(callId);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  });

  test("a slot is free again by the worker's word, not by the end of the call", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1", { sideEffectClass: "non_idempotent_write" });
    hub.admit("c2");
    hub.store();
    // Cancelled before Go: the call has ended, but the worker may still have it.
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "cancel c1#1 lost"]);
    expect(hub.call("c2").state).toBe("queued");
    hub.say(w1, nack("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1"]);
  });

  test("without a word it is free when two heartbeats in a row leave the call out", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1", { sideEffectClass: "non_idempotent_write" });
    hub.store();
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.admit("c2");
    hub.store();
    hub.sent(w1);
    hub.beat(w1);
    hub.store();
    expect(hub.sent(w1)).toEqual(["heartbeat_ack"]);
    hub.beat(w1);
    hub.store();
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "invoke c2#1"]);
  });
});

describe("the choice", () => {
  test("least loaded for its size, then by name: always the same", () => {
    const hub = new HandHub();
    const big = hub.connect("w-big", { capacity: 4 });
    const b = hub.connect("w-b", { capacity: 2 });
    const a = hub.connect("w-a", { capacity: 2 });
    for (const callId of ["c1", "c2", "c3", "c4", "c5", "c6"]) hub.admit(callId);
    hub.store();
    expect(hub.sent(a)).toEqual(["registered", "invoke c1#1", "invoke c5#1"]);
    expect(hub.sent(b)).toEqual(["registered", "invoke c2#1", "invoke c6#1"]);
    expect(hub.sent(big)).toEqual(["registered", "invoke c3#1", "invoke c4#1"]);
  });

  test("a free worker takes the oldest call of all the lanes it serves", () => {
    const hub = new HandHub();
    for (const [callId, tool] of [["c1", "other"], ["c2", "ship"], ["c3", "pay"], ["c4", "ship"]] as const) hub.admit(callId, { tool });
    const w1 = hub.connect("w1", { capacity: 2, tools: { pay: 9, ship: 9 } });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1", "invoke c3#1"]);
    hub.say(w1, result("c2"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c2#1 stored", "invoke c4#1"]);
  });

  test("a call that is queued again keeps its place before later ones", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    hub.say(w1, started("c1"));
    hub.pass(15_000);
    hub.beat(w1);
    hub.store();
    expect(hub.call("c1")).toMatchObject({ state: "queued", attempt: 2, fence: 2 });
    hub.say(w1, nack("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "heartbeat_ack", "cancel c1#1 lost", "invoke c1#2"]);
  });

  test("a worker looks past 64 calls that are not for it, and not past more", () => {
    for (const [waiting, expected] of [
      [63, ["registered", "invoke c-last#1"]],
      [64, ["registered"]],
    ] as const) {
      const hub = new HandHub();
      const w1 = hub.connect("w1", { capacity: 100 });
      for (let n = 0; n < waiting; n++) hub.admit(`c${n}`);
      hub.store();
      // Turned down by w1 while another worker is there that could take them, and is full.
      hub.connect("w2", { capacity: 1 });
      hub.admit("c-full");
      for (let n = 0; n < waiting; n++) hub.say(w1, nack(`c${n}`));
      hub.store();
      hub.hub.disconnect(w1);
      hub.admit("c-last");
      const again = hub.connect("w1", { incarnation: "i2", capacity: 1 });
      hub.store();
      expect(hub.sent(again)).toEqual(expected);
    }
  });
});

describe("a call that a worker turned down", () => {
  test("waits for another one that is alive, even while that is busy", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    const w2 = hub.connect("w2", { capacity: 1 });
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    hub.say(w1, nack("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "cancel c1#1 lost"]);
    hub.beat(w1);
    expect(hub.sent(w1)).toEqual(["heartbeat_ack"]);
    hub.say(w2, result("c2"));
    hub.store();
    expect(hub.sent(w2)).toEqual(["registered", "invoke c2#1", "result_ack c2#1 stored", "invoke c1#2"]);
  });

  test("goes back to it when it is the only one: at once, then after a pause", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, nack("c1"));
    hub.store();
    hub.say(w1, nack("c1", 2));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "cancel c1#1 lost", "invoke c1#2", "cancel c1#2 lost"]);
    hub.pass(99);
    hub.store();
    expect(hub.sent(w1)).toEqual([]);
    hub.pass(1);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#3"]);
  });

  test("is not left standing when everybody has turned it down", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    const w2 = hub.connect("w2", { capacity: 1 });
    hub.admit("c1");
    hub.store();
    hub.say(w1, nack("c1"));
    hub.store();
    hub.admit("c2");
    hub.say(w2, nack("c1", 2));
    hub.admit("c3");
    hub.store();
    // Both are full when the pause is over; whoever is free first takes it.
    expect(hub.call("c1")).toMatchObject({ state: "queued", placements: 2 });
    hub.pass(100);
    hub.store();
    hub.say(w2, result("c3"));
    hub.store();
    expect(hub.sent(w2).at(-1)).toBe("invoke c1#3");
  });

  test.each([
    ["has gone silent", (hub: HandHub, w1: number) => {
      hub.pass(10_000);
      hub.beat(w1);
    }],
    ["drains", (hub: HandHub, w1: number, w2: number) => {
      hub.say(w2, { type: "draining" });
      hub.beat(w1);
    }],
    ["is gone", (hub: HandHub, w1: number, w2: number) => {
      hub.hub.disconnect(w2);
      hub.beat(w1);
    }],
  ])("goes back to it when the other %s", (_, happens) => {
    const hub = new HandHub();
    const w2 = hub.connect("w2", { capacity: 1 });
    hub.admit("c2");
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1");
    hub.store();
    hub.say(w2, started("c2"));
    hub.say(w1, nack("c1"));
    hub.store();
    expect(hub.call("c1").state).toBe("queued");
    hub.sent(w1);
    happens(hub, w1, w2);
    hub.store();
    expect(hub.sent(w1)).toContain("invoke c1#2");
  });
});

describe("who gets no work", () => {
  test("a worker that was not heard of for 10 s, until it is heard again", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.pass(9_999);
    hub.admit("c1");
    hub.pass(1);
    hub.admit("c2");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
    hub.beat(w1, holds("c1", "running"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "invoke c2#1"]);
  });

  test("a worker that drains; what it has goes on", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, { type: "draining" });
    hub.admit("c2");
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored"]);
  });

  test("anybody, once the runtime drains", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    hub.hub.drain(hub.now);
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored"]);
    expect(hub.hub.busyCount()).toBe(0);
    expect(hub.call("c2").state).toBe("queued");
  });
});

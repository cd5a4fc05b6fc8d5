// What waits for the ledger on the way to a worker and what does not: the first commit of a call, lazy writes, renewals.
import { describe, expect, test } from "vitest";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandHub, accepted, believed, holds, result, started, unitWords } from "../../../../test/support/hand-hub.ts";

const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

describe("the first commit", () => {
  test("with a worker free: admission and dispatch in one unit, and the Invoke only after it", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.gather();
    expect(hub.commits.map(({ unit, admission }) => [unitWords(unit.writes), unit.lazy, admission])).toEqual([
      [["insert_call dispatched", "append_event requested", "append_event queued", "append_event dispatched"], undefined, true],
    ]);
    expect(hub.sent(w1)).toEqual(["registered"]);
    hub.store();
    expect(hub.messages(w1)).toEqual([
      {
        type: "invoke",
        callId: "c1",
        fence: 1,
        attempt: 1,
        idempotencyKey: "c1",
        tenant: "acme",
        project: "shop",
        principal: "user:ann",
        tool: "pay",
        version: "1.0.0",
        argsJson: '{"amount":5}',
        contextJson: "{}",
        files: [],
        timeoutMs: 20_000,
        deadlineAtMs: 0,
        sideEffectClass: "read_only",
        needsGo: false,
        traceparent: "",
      },
    ]);
  });

  test("with nobody free: the row alone; its dispatch is a commit of its own", () => {
    const hub = new HandHub();
    hub.admit("c1");
    expect(unitWords(hub.storeNext().unit.writes)).toEqual(["insert_call queued", "append_event requested", "append_event queued"]);
    const w1 = hub.connect("w1");
    expect(hub.sent(w1)).toEqual(["registered"]);
    expect(unitWords(hub.storeNext().unit.writes)).toEqual(["update_call queued#1 → dispatched#1", "append_event dispatched"]);
    expect(hub.sent(w1)).toEqual(["invoke c1#1"]);
  });

  test("arguments that validation changed are what runs", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    const edited = { argsJson: '{"amount":6}', pointers: ["/x"] };
    hub.hub.admit({ identity: identityOf({ callId: "c1" }), edited, facts: believed, clearance: hub.clearance() }, hub.now);
    hub.store();
    expect(hub.messages(w1).at(-1)).toMatchObject({ type: "invoke", argsJson: '{"amount":6}' });
  });

  test.each([
    ["read_only", false],
    ["idempotent_write", false],
    ["non_idempotent_write", true],
    ["irreversible_action", true],
  ] as const)("%s needs a Go: %s", (sideEffectClass, needsGo) => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", { sideEffectClass, totalDeadlineAt: 1_090_000 });
    hub.store();
    expect(hub.messages(w1).at(-1)).toMatchObject({ needsGo, sideEffectClass, deadlineAtMs: 1_090_000 });
    hub.say(w1, accepted("c1"));
    // At once: nothing rests on it that is not stored.
    expect(hub.sent(w1)).toEqual(needsGo ? ["go c1#1"] : []);
    expect(hub.commits).toEqual([]);
  });

  test("a worker that is gone when it is stored never heard of the call: queued again", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.hub.disconnect(w1);
    hub.store();
    expect(hub.call("c1")).toMatchObject({ state: "queued", fence: 2, attempt: 1, placements: 1 });
  });

  test("withdrawn: slot and place in line are given back, and nobody was told", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    const first = hub.admit("c1");
    hub.admit("c2");
    const third = hub.admit("c3");
    hub.gather();
    expect(hub.hub.queueDepth("acme")).toBe(2);
    hub.hub.withdrawn(first, hub.now);
    hub.hub.withdrawn(third, hub.now);
    hub.commits = hub.commits.filter(({ ticket }) => ticket !== first && ticket !== third);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c2#1"]);
    expect(hub.hub.queueDepth("acme")).toBe(0);
    expect(hub.hub.openCount()).toBe(1);
  });

  test("a denied call is written, and nobody is told or dispatched", () => {
    const hub = new HandHub();
    hub.connect("w1");
    const error = { code: "forbidden", message: "no", type: "permission", retryable: false } as const;
    const { call } = hub.hub.deny(identityOf({ callId: "c1" }), error, hub.now);
    expect(call).toMatchObject({ state: "denied", error });
    expect(unitWords(hub.storeNext().unit.writes)).toEqual(["insert_call denied", "append_event requested", "append_event denied", "append_audit", "add_usage"]);
    expect(hub.orders("tell")).toEqual([]);
    expect(hub.hub.openCount()).toBe(0);
  });

  test("the same call is not admitted over itself", () => {
    const hub = new HandHub();
    hub.admit("c1");
    expect(() => hub.admit("c1")).toThrow("the call c1 is open already");
  });
});

describe("started", () => {
  test("rides with the next commit of its call", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, started("c1"));
    hub.gather();
    expect(hub.commits).toEqual([]);
    hub.pass(99);
    hub.say(w1, result("c1"));
    const { unit } = hub.storeNext();
    expect(unitWords(unit.writes)).toEqual([
      "update_call dispatched#1 → succeeded#1",
      "append_event started",
      "end_attempt",
      "append_event succeeded",
      "append_audit",
      "add_usage",
    ]);
    expect(hub.hub.nextDueAt()).toBeGreaterThan(hub.now + 100);
  });

  test("goes by itself after 100 ms, lazily, and the next guard knows it", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, started("c1"));
    // Something else is due in between; it does not take the lazy write along.
    hub.admit("c2", { tool: "other", totalDeadlineAt: hub.now + 50 });
    hub.store();
    hub.pass(99);
    expect(unitWords(hub.storeNext().unit.writes)[0]).toBe("update_call queued#1 → timed_out#1");
    hub.gather();
    expect(hub.commits).toEqual([]);
    hub.pass(1);
    const { unit } = hub.storeNext();
    expect([unitWords(unit.writes), unit.lazy]).toEqual([["update_call dispatched#1 → running#1", "append_event started"], true]);
    hub.say(w1, result("c1"));
    expect(unitWords(hub.storeNext().unit.writes)[0]).toBe("update_call running#1 → succeeded#1");
  });

  test("goes out at once when the runtime drains", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.store();
    hub.say(w1, started("c1"));
    hub.hub.drain(hub.now);
    expect(unitWords(hub.storeNext().unit.writes)[0]).toBe("update_call dispatched#1 → running#1");
    expect(hub.hub.busyCount()).toBe(1);
  });
});

describe("renewals", () => {
  test("are written, for all calls of a heartbeat at once and lazily, when less than two thirds of the stored lease are left", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    hub.admit("c2");
    hub.store();
    for (const callId of ["c1", "c2"]) hub.say(w1, started(callId));
    hub.pass(100);
    hub.store();
    hub.pass(4_900);
    hub.beat(w1, holds("c1", "running"), holds("c2", "running"));
    hub.gather();
    expect(hub.commits).toEqual([]);
    expect(hub.call("c1").leaseExpiresAt).toBe(1_020_000);
    hub.pass(1);
    hub.beat(w1, holds("c1", "running"), holds("c2", "running"));
    hub.gather();
    expect(hub.commits.map(({ unit }) => unit)).toEqual([
      {
        lazy: true,
        writes: [
          {
            op: "renew_leases",
            leases: [
              { tenant: "acme", callId: "c1", fence: 1, leaseExpiresAt: 1_020_001 },
              { tenant: "acme", callId: "c2", fence: 1, leaseExpiresAt: 1_020_001 },
            ],
          },
        ],
      },
    ]);
    hub.store();
    hub.pass(5_000);
    hub.beat(w1, holds("c1", "running"), holds("c2", "running"));
    hub.gather();
    expect(hub.commits).toEqual([]);
  });
});

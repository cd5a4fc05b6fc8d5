// The driver: admissions, commits in order, a ledger that fails and recovers, rows that somebody else changed, and leaving.
import { beforeEach, describe, expect, test } from "vitest";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandDriver } from "../../../../test/support/hand-driver.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, holds, result, started } from "../../../../test/support/hand-hub.ts";
import { LedgerUnavailable } from "../ledger/port.ts";
import { waitKey } from "./driver.ts";

const full = new LedgerUnavailable("the disk is full");
const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

let world: HandDriver;
beforeEach(() => {
  world = new HandDriver();
});

describe("admission", () => {
  test("resolves when the row is stored, and the worker hears of it then", async () => {
    const worker = world.worker("w1");
    world.ledger.holding = true;
    const admission = world.admit("c1");
    await settled();
    expect(world.ledger.waiting).toHaveLength(1);
    expect(worker.words()).toEqual(["registered"]);
    world.ledger.release();
    expect(await admission).toEqual({ applied: true });
    expect(worker.words()).toEqual(["registered", "invoke c1#1"]);
  });

  test("a ledger that cannot write: the error is the caller's, there is no row, and the slot is free again", async () => {
    const worker = world.worker("w1", { capacity: 1 });
    world.ledger.failing = full;
    await expect(world.admit("c1")).rejects.toBe(full);
    expect(world.hub.openCount()).toBe(0);
    expect(world.ledger.calls.size).toBe(0);
    world.ledger.failing = undefined;
    await world.given("c2");
    expect(worker.words()).toEqual(["registered", "invoke c2#1"]);
  });

  test("who loses the race for a key is told so; its slot goes to the next", async () => {
    const worker = world.worker("w1", { capacity: 1 });
    world.ledger.calls.set("acme/c1", { ...world.hub.deny(identityOf({ callId: "c1" }), { code: "forbidden", message: "", type: "permission", retryable: false }, 1).call });
    world.hub.take();
    expect(await world.admit("c1")).toEqual({ applied: false, write: 0 });
    await world.given("c2");
    expect(worker.words()).toEqual(["registered", "invoke c2#1"]);
  });

  test("the dispatch figure counts from the reading of the request, once, and not for calls that did not come to be", async () => {
    world.worker("w1");
    world.ledger.holding = true;
    const admission = world.admit("c1");
    await world.clock.pass(7);
    world.ledger.release();
    await admission;
    world.ledger.failing = full;
    await expect(world.admit("c2")).rejects.toBe(full);
    expect(world.figures.filter(([name]) => name === "tool_dispatch_seconds")).toEqual([["tool_dispatch_seconds", {}, 0.007]]);
  });

  test("a denied call is stored before it is answered", async () => {
    world.ledger.holding = true;
    let answered = false;
    const denying = world.driver.deny(identityOf({ callId: "c1" }), { code: "forbidden", message: "no", type: "permission", retryable: false });
    void denying.then(() => (answered = true));
    await settled();
    expect(answered).toBe(false);
    world.ledger.release();
    expect((await denying).state).toBe("denied");
    expect(world.stateOf("c1")).toBe("denied");
  });
});

describe("ends", () => {
  test("a result: stored, acknowledged, told, counted", async () => {
    const worker = world.worker("w1");
    await world.given("c1");
    const { told } = world.driver.waiters.listen(waitKey("acme", "c1"));
    await world.clock.pass(20);
    worker.say(result("c1"));
    expect((await told).state).toBe("succeeded");
    expect(worker.words().at(-1)).toBe("result_ack c1#1 stored");
    expect(world.figures.filter(([name]) => name !== "tool_dispatch_seconds")).toEqual([
      ["tool_executions_total", { tool: "pay", version: "1.0.0", status: "succeeded" }, 1],
      ["tool_duration_seconds", { tool: "pay" }, 0.001],
      ["tool_queue_seconds", { pool: "application" }, 0],
    ]);
  });

  test("deadlines ring by the clock, the earliest first, without being asked", async () => {
    world.worker("w1", { tools: { other: 1 } });
    await world.given("c1", { totalDeadlineAt: 1_005_000 });
    await world.given("c2");
    await world.clock.pass(5_000);
    expect([world.stateOf("c1"), world.stateOf("c2")]).toEqual(["timed_out", "queued"]);
    await world.clock.pass(25_000);
    expect(world.stateOf("c2")).toBe("failed");
    expect(world.figures).toContainEqual(["routing_outcome_total", { outcome: "no_handler" }, 1]);
  });
});

describe("a ledger that fails for a while", () => {
  test("changes wait in order, nothing is acknowledged, new calls are refused; then everything is told", async () => {
    const worker = world.worker("w1");
    for (const callId of ["c1", "c2"]) await world.given(callId);
    world.ledger.failing = full;
    const before = worker.sent.length;
    worker.say(result("c1"));
    await settled();
    worker.say(started("c2"));
    worker.say(result("c2"));
    expect(world.driver.behind).toBe(true);
    expect(world.driver.failing).toBe(true);
    await expect(world.admit("c3")).rejects.toThrow("the ledger cannot write at the moment");
    await expect(world.driver.deny(identityOf({ callId: "c4" }), { code: "forbidden", message: "", type: "permission", retryable: false })).rejects.toBeInstanceOf(LedgerUnavailable);
    await world.clock.pass(1_200);
    expect(worker.sent).toHaveLength(before);
    expect(world.logged).toEqual(["the ledger cannot write; changes wait and nothing is acknowledged"]);
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect(worker.words().slice(before)).toEqual(["result_ack c1#1 stored", "result_ack c2#1 stored"]);
    expect(world.ledger.written.slice(2).map(([first]) => first)).toEqual(["update_call dispatched#1 → succeeded#1", "update_call dispatched#1 → succeeded#1"]);
    expect([world.driver.behind, world.driver.failing]).toEqual([false, false]);
    await world.given("c3");
    expect(world.stateOf("c3")).toBe("dispatched");
  });

  test("renewals do not pile up behind it, and the lease goes on in memory", async () => {
    const worker = world.worker("w1");
    for (const callId of ["c1", "c2"]) await world.given(callId);
    worker.say(started("c1"));
    await world.clock.pass(200);
    world.ledger.failing = full;
    worker.say(result("c2"));
    await settled();
    await world.clock.pass(5_000);
    const written = world.ledger.written.length;
    const beat = { type: "heartbeat", load: 0, inFlight: [holds("c1", "running")] } as const;
    for (let n = 0; n < 20; n++) {
      worker.say(beat);
      await world.clock.pass(100);
    }
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect(world.ledger.written.slice(written).map(([first]) => first)).toEqual(["update_call dispatched#1 → succeeded#1"]);
    expect(world.hub.find("acme", "c1")).toMatchObject({ state: "running", leaseExpiresAt: 1_000_000 + 200 + 5_000 + 1_900 + 15_000 });
    await world.clock.pass(5_000);
    worker.say(beat);
    await settled();
    expect(world.ledger.written.at(-1)).toEqual(["renew_leases"]);
  });

  test("a late result that comes again and again waits once", async () => {
    const worker = world.worker("w1");
    await world.given("c1", unsafe);
    worker.say(accepted("c1"));
    await world.clock.pass(10_000);
    expect(world.stateOf("c1")).toBe("indeterminate");
    world.ledger.failing = full;
    for (let n = 0; n < 5; n++) {
      worker.say(result("c1"));
      await settled();
    }
    world.ledger.failing = undefined;
    await world.clock.pass(500);
    expect(world.ledger.written.filter(([first]) => first === "keep_late_result")).toHaveLength(1);
    expect(worker.words().filter((words) => words === "result_ack c1#1 lease_lost")).toHaveLength(1);
  });

  test("what can never be written is dropped after a second try, and does not hold back the rest", async () => {
    const worker = world.worker("w1");
    for (const callId of ["c1", "c2"]) await world.given(callId);
    world.ledger.failing = new Error("constraint failed");
    worker.say(result("c1"));
    await settled();
    await world.clock.pass(500);
    expect(world.logged).toContain("a change could not be written and was dropped");
    world.ledger.failing = undefined;
    await settled();
    worker.say(result("c2"));
    await settled();
    expect(world.stateOf("c2")).toBe("succeeded");
    // Memory took the ledger's row again: the call is open there, and its worker's next word counts.
    worker.say(result("c1"));
    await settled();
    expect(world.stateOf("c1")).toBe("succeeded");
  });
});

describe("a row that is another than memory's", () => {
  test("is read again, and whoever waits hears how it ended", async () => {
    const worker = world.worker("w1");
    await world.given("c1");
    const row = world.ledger.calls.get("acme/c1");
    if (row === undefined) throw new Error("no row");
    world.ledger.calls.set("acme/c1", { ...row, state: "cancelled", fence: 2, settledAt: 5 });
    const { told } = world.driver.waiters.listen(waitKey("acme", "c1"));
    worker.say(result("c1"));
    expect((await told).state).toBe("cancelled");
    await world.clock.pass(1_000);
    expect(world.logged).toEqual(["a guarded change met another row in the ledger"]);
    expect(world.hub.openCount()).toBe(0);
  });
});

describe("a result that is not expected", () => {
  test("of a call that has settled by it: acknowledged as stored, once more", async () => {
    const worker = world.worker("w1");
    await world.given("c1");
    worker.say(result("c1"));
    await settled();
    worker.say(result("c1"));
    await settled();
    expect(worker.words().slice(2)).toEqual(["result_ack c1#1 stored", "result_ack c1#1 stored"]);
  });

  test("of a call that is running with somebody else, or of none: lease_lost, and nothing changes", async () => {
    world.worker("w1");
    await world.given("c1");
    const rogue = world.worker("w2");
    rogue.say(result("c1", 1, '"forged"'));
    rogue.say(result("c9"));
    await settled();
    expect(rogue.words().toSorted()).toEqual(["registered", "result_ack c1#1 lease_lost", "result_ack c9#1 lease_lost"]);
    expect(world.stateOf("c1")).toBe("dispatched");
    const foreign = world.worker("w1", { tenant: "other" });
    foreign.say(result("c1"));
    await settled();
    expect(foreign.words()).toEqual(["registered", "result_ack c1#1 lease_lost"]);
  });
});

describe("leaving", () => {
  test("drain waits for what workers hold, not for the queue", async () => {
    const worker = world.worker("w1", { capacity: 1 });
    for (const callId of ["c1", "c2"]) await world.given(callId);
    const draining = world.driver.drain(30_000);
    await settled();
    worker.say(result("c1"));
    expect(await draining).toEqual({ idle: true });
    expect(world.stateOf("c2")).toBe("queued");
    expect(worker.words().at(-1)).toBe("result_ack c1#1 stored");
  });

  test("and no longer than it may", async () => {
    world.worker("w1");
    await world.given("c1");
    const draining = world.driver.drain(5_000);
    world.worker("w2");
    await world.clock.pass(5_000);
    expect(await draining).toEqual({ idle: false });
  });

  test("where other replicas live, who still holds a call when the time is up is sent there with it", async () => {
    const worker = world.worker("w1");
    await world.given("c1");
    const draining = world.driver.drain(5_000, ["b:1"]);
    await settled();
    expect(worker.last("go_away")).toBeUndefined();
    await world.clock.pass(5_000);
    expect(await draining).toEqual({ idle: false });
    expect(worker.last("go_away")).toMatchObject({ reconnectTo: "b:1" });
  });

  test("an idle runtime drains at once", async () => {
    expect(await world.driver.drain(30_000)).toEqual({ idle: true });
    expect(world.clock.timers).toBe(0);
  });

  test("stop closes the streams and takes the timer back", async () => {
    const worker = world.worker("w1");
    await world.given("c1");
    expect(world.clock.timers).toBe(1);
    world.driver.stop();
    expect(worker.closedFor).toBe("the runtime stops");
    expect(world.clock.timers).toBe(0);
  });
});

// Workers and replicas that come back: what is kept, dropped, disowned or missed, and how long a restart waits.
import { leaseOf } from "../call/lease-of.ts";
import { describe, expect, test } from "vitest";
import type { Call } from "../call/types.ts";
import { HandHub, accepted, believed, holds, register, result, started, type WorkerSays } from "../../../../test/support/hand-hub.ts";

const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

/** A worker that has c1 (unsafe) and c2 (safe) and has said of them what the test wants. */
function withCalls(...said: readonly Parameters<HandHub["say"]>[1][]): { hub: HandHub; w1: number } {
  const hub = new HandHub();
  const w1 = hub.connect("w1");
  hub.admit("c1", unsafe);
  hub.admit("c2");
  hub.store();
  for (const message of said) hub.say(w1, message);
  hub.store();
  hub.sent(w1);
  return { hub, w1 };
}

/** The stream breaks, and the same process dials again two seconds later. */
function comesBack(hub: HandHub, w1: number, says: WorkerSays): number {
  hub.hub.disconnect(w1);
  hub.pass(2_000);
  const again = hub.connect("w1", says);
  hub.store();
  return again;
}

const resync = (hub: HandHub, session: number) => hub.messages(session).flatMap((one) => (one.type === "registered" ? one.resync : []));

describe("a stream that comes back within the lease", () => {
  test("keeps its calls, with their leases renewed and their slots taken", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"), started("c2"));
    const again = comesBack(hub, w1, { capacity: 2, inFlight: [holds("c1", "running"), holds("c2", "running")] });
    expect(resync(hub, again)).toEqual([
      { callId: "c1", fence: 1, verdict: "keep" },
      { callId: "c2", fence: 1, verdict: "keep" },
    ]);
    expect(hub.call("c1")).toMatchObject({ state: "running", fence: 1, leaseExpiresAt: 1_017_000 });
    hub.admit("c3");
    hub.store();
    expect(hub.sent(again)).toEqual([]);
    hub.say(again, result("c1"));
    hub.store();
    expect(hub.sent(again)).toEqual(["result_ack c1#1 stored", "invoke c3#1"]);
  });

  test("says again what may have been lost: a call it accepted gets its Go, one that runs is running", () => {
    const { hub, w1 } = withCalls();
    const again = comesBack(hub, w1, { inFlight: [holds("c1", "accepted"), holds("c2", "running")] });
    expect(hub.sent(again)).toEqual(["registered", "go c1#1"]);
    expect([hub.call("c1").state, hub.call("c2").state]).toEqual(["dispatched", "running"]);
  });

  test("a call that is to stop is told so again, and gets no Go", () => {
    const { hub, w1 } = withCalls(accepted("c1"));
    hub.hub.disconnect(w1);
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.store();
    const again = hub.connect("w1", { inFlight: [holds("c1", "accepted"), holds("c2", "running")] });
    expect(hub.sent(again)).toEqual(["registered", "cancel c1#1 cancel"]);
  });

  test("a result that was held comes again, and counts", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"));
    const again = comesBack(hub, w1, { inFlight: [holds("c1", "done")] });
    expect(resync(hub, again)).toEqual([{ callId: "c1", fence: 1, verdict: "keep" }]);
    hub.say(again, result("c1"));
    hub.store();
    expect(hub.sent(again)).toEqual(["result_ack c1#1 stored"]);
    expect(hub.orders("tell")).toMatchObject([{ call: { callId: "c1", state: "succeeded" } }]);
  });

  test("what it does not name and never answered for cannot have run, whatever the class", () => {
    const { hub, w1 } = withCalls();
    comesBack(hub, w1, { capacity: 1, inFlight: [] });
    expect(hub.call("c1")).toMatchObject({ fence: 2, attempt: 1, placements: 1 });
    expect(hub.call("c2")).toMatchObject({ fence: 2, attempt: 1, placements: 1 });
  });

  test("what it does not name but had accepted is lost: unsafe parked, safe run again", () => {
    const { hub, w1 } = withCalls(accepted("c1"), accepted("c2"));
    comesBack(hub, w1, { capacity: 1, inFlight: [] });
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", fence: 2 });
    expect(hub.call("c2")).toMatchObject({ attempt: 2, fence: 2 });
  });

  test("a lease that is over is dropped; a result under it is still wanted, as evidence", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"), started("c2"));
    hub.hub.disconnect(w1);
    hub.pass(15_000);
    hub.store();
    const again = hub.connect("w1", { capacity: 1, inFlight: [holds("c1", "done"), holds("c2", "running"), holds("c9", "running")] });
    expect(resync(hub, again)).toEqual([
      { callId: "c1", fence: 1, verdict: "keep" },
      { callId: "c2", fence: 1, verdict: "drop" },
      { callId: "c9", fence: 1, verdict: "drop" },
    ]);
  });

  test("a loss that is not stored yet is not told: the call is kept until it is", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"));
    hub.hub.disconnect(w1);
    hub.pass(15_000);
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", fence: 2 });
    const again = hub.connect("w1", { capacity: 1, inFlight: [holds("c1", "running")] });
    expect(hub.messages(again)).toMatchObject([{ type: "registered", resync: [{ callId: "c1", fence: 1, verdict: "keep" }] }]);
    hub.admit("c3");
    hub.store();
    // It still takes the only slot there, so that c3 waits.
    expect(hub.sent(again).toSorted()).toEqual(["cancel c1#1 lost", "cancel c2#1 lost"]);
  });

  test("an Invoke that waits for its commit goes out on the new stream", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1 });
    hub.admit("c1", unsafe);
    hub.hub.disconnect(w1);
    const again = hub.connect("w1", { capacity: 1 });
    hub.admit("c2");
    hub.store();
    expect(hub.sent(again)).toEqual(["registered", "invoke c1#1"]);
    expect(hub.call("c1")).toMatchObject({ fence: 1, placements: 0 });
  });

  test("a call named twice takes one slot", () => {
    const { hub, w1 } = withCalls(started("c2"));
    const again = comesBack(hub, w1, { tools: { pay: 3 }, inFlight: [holds("c2", "running"), holds("c2", "running")] });
    hub.say(again, result("c2"));
    for (const callId of ["c3", "c4", "c5"]) hub.admit(callId);
    hub.store();
    expect(hub.sent(again).filter((words) => words.startsWith("invoke"))).toHaveLength(3);
  });

  test("another incarnation is another worker: it gets none of the calls, and they run out with their leases", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"));
    const again = comesBack(hub, w1, { incarnation: "i2", capacity: 1, inFlight: [holds("c1", "running")] });
    expect(resync(hub, again)).toEqual([{ callId: "c1", fence: 1, verdict: "drop" }]);
    hub.pass(12_999);
    expect(hub.call("c1").state).toBe("running");
    hub.pass(1);
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", routingOutcome: "indeterminate" });
  });
});

describe("the same process on a second stream", () => {
  test("replaces the half-open first, whose end then changes nothing", () => {
    const { hub, w1 } = withCalls(accepted("c1"), started("c1"));
    const again = hub.connect("w1", { inFlight: [holds("c1", "running"), holds("c2", "running")] });
    expect(hub.orders("close")).toEqual([{ type: "close", session: w1, reason: "the same worker connected again" }]);
    hub.say(w1, result("c1"));
    hub.hub.disconnect(w1);
    hub.admit("c3");
    hub.store();
    expect(hub.sent(again)).toEqual(["registered", "invoke c3#1"]);
    expect(hub.sent(w1)).toEqual([]);
    expect(hub.call("c1")).toMatchObject({ state: "running", fence: 1 });
  });

  test("register comes once a stream", () => {
    const { hub, w1 } = withCalls();
    hub.say(w1, register("w1"));
    expect(hub.sent(w1)).toEqual(["go_away"]);
    expect(hub.orders("close")).toEqual([{ type: "close", session: w1, reason: "register came twice" }]);
  });
});

describe("a replica that starts anew", () => {
  const row = (hub: HandHub, changes: Partial<Call>): Call => ({ ...hub.call("c1"), ...changes });

  /** What the ledger has of c1, which a worker held when the process died. */
  function stored(state: "dispatched" | "running", changes: Parameters<HandHub["admit"]>[1] = {}): Call {
    const { hub } = withCalls();
    return row(hub, { ...changes, state, mayHaveRun: false, leaseExpiresAt: 1_001_000 });
  }

  test("holds nothing against an absent worker for one lease time, then the lease is over", () => {
    const call = stored("dispatched");
    const hub = new HandHub({}, 0);
    hub.restore(call);
    hub.pass(14_999);
    expect(hub.call("c1")).toMatchObject({ state: "dispatched", leaseExpiresAt: 1_015_000 });
    hub.pass(1);
    // Whether its Go went out died with the process that sent it.
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", routingOutcome: "indeterminate" });
  });

  test("a worker that returns in that time keeps its call, and its old deadlines count again", () => {
    const call = stored("running");
    const hub = new HandHub({}, 0);
    hub.restore({ ...call, runDeadlineAt: 1_002_000 });
    hub.pass(5_000);
    expect(hub.call("c1").stopReason).toBeNull();
    const w1 = hub.connect("w1", { inFlight: [holds("c1", "running")] });
    hub.pass(1);
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "cancel c1#1 timeout"]);
  });

  test("a worker that returns and does not know the call never had it: queued again, also when unsafe", () => {
    const call = stored("dispatched");
    const hub = new HandHub({}, 0);
    hub.restore(call);
    hub.connect("w1", { tools: {} });
    expect(hub.call("c1")).toMatchObject({ state: "queued", fence: 2, attempt: 1 });
  });

  test("unless the ledger says that it ran", () => {
    const call = stored("running");
    const hub = new HandHub({}, 0);
    hub.restore(call);
    hub.connect("w1", { tools: {} });
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", routingOutcome: "lease_expired" });
  });

  test("queued calls stand where they stood, and new ones behind them", () => {
    const { hub: before } = withCalls();
    const base = before.call("c2");
    const queued = (callId: string, startTag: number): Call => ({ ...base, callId, startTag, state: "queued", workerId: null, queueDeadlineAt: 1_030_000, leaseExpiresAt: null, startDeadlineAt: null });
    const hub = new HandHub({}, 0);
    hub.restore(queued("c8", 41));
    hub.restore(queued("c9", 42));
    expect(hub.hub.queueDepth("acme")).toBe(2);
    hub.admit("c10");
    expect(hub.call("c10").startTag).toBe(43);
    const w1 = hub.connect("w1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c8#1", "invoke c9#1", "invoke c10#1"]);
  });

  test("a queue deadline that passed while nobody was up is kept, not armed anew", () => {
    const { hub: before } = withCalls();
    const hub = new HandHub({}, 0);
    hub.restore({ ...before.call("c2"), state: "queued", workerId: null, queueDeadlineAt: 1_000_500 });
    hub.pass(500);
    expect(hub.call("c2")).toMatchObject({ state: "failed", routingOutcome: "no_handler" });
  });

  test("a parked call rests until its person speaks", () => {
    const { hub: before } = withCalls();
    const hub = new HandHub({}, 0);
    hub.restore({ ...before.call("c1"), state: "indeterminate", fence: 2, workerId: null });
    expect(hub.hub.nextDueAt()).toBe(Infinity);
    hub.happen("c1", { type: "resolve", verdict: "retry", by: "user:op", comment: "", output: null });
    const w1 = hub.connect("w1");
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#2"]);
  });

  test("a result whose call only the ledger knows takes the call up again, and counts", () => {
    const call = stored("dispatched");
    const lease = leaseOf(call);
    const hub = new HandHub({}, 0);
    const w1 = hub.connect("w1");
    hub.hub.strayResult(w1, { row: call, attempts: lease === null ? [] : [lease] }, result("c1"), believed, hub.now);
    expect(hub.sent(w1)).toEqual(["registered"]);
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 stored"]);
    expect(hub.orders("tell")).toMatchObject([{ call: { state: "succeeded" } }]);
  });
});

test("a handler that was done while the runtime was away: its start is late no more, and its result counts", () => {
  const before = new HandHub();
  const w1 = before.connect("w1");
  before.admit("c1", { sideEffectClass: "irreversible_action" });
  before.store();
  before.say(w1, accepted("c1"));
  before.store();
  const row = before.call("c1");
  const again = new HandHub({}, 0);
  again.now += 11_000;
  again.restore(row);
  const back = again.connect("w1", { inFlight: [holds("c1", "done")] });
  again.pass(50);
  again.store();
  expect(again.call("c1").state).toBe("running");
  again.say(back, result("c1"));
  again.store();
  expect(again.orders("tell").map(({ call }) => call.state)).toEqual(["succeeded"]);
});

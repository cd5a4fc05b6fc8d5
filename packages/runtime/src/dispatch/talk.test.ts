// What workers say, also when it makes no sense or is not theirs to say: heartbeats, leases of others, late and broken messages.
import type { WorkerMessage } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { HandHub, accepted, believed, holds, lease, nack, result, started, unitWords } from "../../../../test/support/hand-hub.ts";

const unsafe = { sideEffectClass: "non_idempotent_write" } as const;

/** c1 (unsafe) runs at w1 under the fence 1; w2 is there too, and full of nothing. */
function running(): { hub: HandHub; w1: number; w2: number } {
  const hub = new HandHub();
  const w1 = hub.connect("w1", { capacity: 1 });
  hub.admit("c1", unsafe);
  hub.store();
  hub.say(w1, accepted("c1"));
  hub.say(w1, started("c1"));
  hub.pass(100);
  hub.store();
  const w2 = hub.connect("w2", { capacity: 1 });
  for (const session of [w1, w2]) hub.sent(session);
  return { hub, w1, w2 };
}

describe("heartbeats", () => {
  test("renew the leases they name", () => {
    const { hub, w1 } = running();
    hub.pass(4_900);
    hub.beat(w1, holds("c1", "running"));
    expect(hub.call("c1").leaseExpiresAt).toBe(1_020_000);
    expect(hub.sent(w1)).toEqual(["heartbeat_ack"]);
  });

  test("say again what was lost on the way: Accepted, and then Started", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1", unsafe);
    hub.store();
    hub.sent(w1);
    hub.beat(w1, holds("c1", "accepted"));
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "go c1#1"]);
    hub.beat(w1, holds("c1", "running"));
    expect(hub.call("c1").state).toBe("running");
  });

  test("a call left out of two in a row is lost; being named in between starts the count anew", () => {
    const { hub, w1 } = running();
    hub.beat(w1);
    hub.beat(w1, holds("c1", "running"));
    hub.beat(w1);
    expect(hub.call("c1").state).toBe("running");
    hub.beat(w1);
    expect(hub.call("c1")).toMatchObject({ state: "indeterminate", routingOutcome: "lease_expired", fence: 2 });
  });

  test("a call whose Invoke has not gone out yet cannot be missing", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.admit("c1");
    for (let n = 0; n < 3; n++) hub.beat(w1);
    expect(hub.call("c1")).toMatchObject({ state: "dispatched", fence: 1 });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "heartbeat_ack", "heartbeat_ack", "heartbeat_ack", "invoke c1#1"]);
  });

  test("a lease that is not there any more is told to be lost, unless it is done and waits for its answer", () => {
    const { hub, w1 } = running();
    hub.beat(w1, holds("c1", "running"), holds("c7", "running"), holds("c8", "accepted"), holds("c9", "done"));
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "cancel c7#1 lost", "cancel c8#1 lost"]);
  });
});

describe("a lease of somebody else", () => {
  const foreign: readonly [string, WorkerMessage][] = [
    ["accepted", accepted("c1")],
    ["started", started("c1")],
    ["nack", nack("c1")],
    ["malformed", { type: "malformed", reason: "bad", lease: lease("c1") }],
    ["heartbeat", { type: "heartbeat", load: 0, inFlight: [holds("c1", "running")] }],
    ["output", { type: "output", ...lease("c1"), seq: 1, channel: "stdout", chunk: new Uint8Array() }],
  ];

  test.each(foreign)("%s moves nothing", (_, message) => {
    const { hub, w2 } = running();
    const before = hub.call("c1");
    hub.pass(1_000);
    hub.say(w2, message);
    hub.gather();
    expect(hub.commits).toEqual([]);
    expect(hub.call("c1")).toEqual(before);
  });

  test("a result is judged by what the ledger says of the lease, and refused", () => {
    const { hub, w2 } = running();
    hub.say(w2, result("c1", 1, '"forged"'));
    expect(hub.orders("stray")).toMatchObject([{ session: w2, tenant: "acme" }]);
    hub.hub.strayResult(w2, { row: hub.call("c1"), attempts: hub.attempts("c1") }, result("c1", 1, '"forged"'), believed, hub.now);
    hub.gather();
    expect(hub.commits).toEqual([]);
    expect(hub.sent(w2)).toEqual(["result_ack c1#1 lease_lost"]);
    expect(hub.call("c1").state).toBe("running");
  });

  test.each([
    ["another incarnation", { incarnation: "i2" }],
    ["the worker of that name in another tenant", { tenant: "platform" }],
  ])("%s has no lease either", (_, says) => {
    const { hub } = running();
    const other = hub.connect("w1", says);
    hub.hub.strayResult(other, { row: hub.call("c1"), attempts: hub.attempts("c1") }, result("c1"), believed, hub.now);
    expect(hub.sent(other)).toEqual(["registered", "result_ack c1#1 lease_lost"]);
    expect(hub.call("c1").state).toBe("running");
  });

  test("a call that nobody has ever heard of", () => {
    const { hub, w1 } = running();
    hub.hub.strayResult(w1, undefined, result("c9"), believed, hub.now);
    expect(hub.sent(w1)).toEqual(["result_ack c9#1 lease_lost"]);
  });

  test("who had an earlier lease cannot speak under the next one's fence", () => {
    const { hub, w1, w2 } = running();
    hub.beat(w1);
    hub.happen("c1", { type: "cancel", by: "user:bo" });
    hub.pass(6_000);
    hub.happen("c1", { type: "resolve", verdict: "retry", by: "user:op", comment: "", output: null });
    hub.store();
    expect(hub.sent(w2)).toEqual(["invoke c1#2"]);
    const before = hub.call("c1");
    for (const message of [accepted("c1", 2), started("c1", 2), nack("c1", 2), result("c1", 2)]) hub.say(w1, message);
    hub.beat(w1, holds("c1", "running", 2));
    hub.gather();
    expect(hub.commits).toEqual([]);
    expect(hub.call("c1")).toEqual(before);
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "cancel c1#1 cancel", "cancel c1#1 lost", "cancel c1#2 lost", "cancel c1#2 lost", "heartbeat_ack", "cancel c1#2 lost"]);
  });
});

describe("a result under a lease that was lost", () => {
  function lost(): { hub: HandHub; w1: number } {
    const { hub, w1 } = running();
    hub.beat(w1);
    hub.beat(w1);
    hub.store();
    expect(hub.call("c1").state).toBe("indeterminate");
    hub.sent(w1);
    return { hub, w1 };
  }
  const attempts = (hub: HandHub) => [{ ...hub.attempts("c1")[0], tenant: "acme", callId: "c1", fence: 1, workerId: "w1", incarnation: "i1" }] as ReturnType<HandHub["attempts"]>;

  test("is kept first and answered then", () => {
    const { hub, w1 } = lost();
    hub.hub.strayResult(w1, { row: hub.call("c1"), attempts: attempts(hub) }, result("c1"), believed, hub.now);
    expect(hub.sent(w1)).toEqual([]);
    const { unit } = hub.storeNext();
    expect(unit.writes).toEqual([
      { op: "keep_late_result", row: { tenant: "acme", callId: "c1", fence: 1, at: hub.now, workerId: "w1", status: "succeeded", outputJson: '"done"', errorJson: null } },
    ]);
    expect(hub.sent(w1)).toEqual(["result_ack c1#1 lease_lost"]);
  });

  test("said again while it is on its way, it does not queue up behind itself", () => {
    const { hub, w1 } = lost();
    for (let n = 0; n < 3; n++) hub.hub.strayResult(w1, { row: hub.call("c1"), attempts: attempts(hub) }, result("c1"), believed, hub.now);
    hub.gather();
    expect(hub.commits.map(({ unit }) => unitWords(unit.writes))).toEqual([["keep_late_result"]]);
    hub.store();
    hub.hub.strayResult(w1, { row: hub.call("c1"), attempts: attempts(hub) }, result("c1"), believed, hub.now);
    hub.gather();
    expect(hub.commits).toHaveLength(1);
  });
});

describe("messages that make no sense", () => {
  test("one that names no call is passed over", () => {
    const { hub, w1 } = running();
    hub.say(w1, { type: "malformed", reason: "bad" });
    hub.gather();
    expect([hub.commits, hub.sent(w1)]).toEqual([[], []]);
  });

  test("one that names its call fails that call; the stream goes on, and the slot is taken until the worker's word", () => {
    const { hub, w1 } = running();
    hub.hub.disconnect(hub.connect("w2"));
    hub.say(w1, { type: "malformed", reason: "chunk is too long", lease: lease("c1") });
    hub.admit("c2");
    hub.store();
    expect(hub.orders("tell")).toMatchObject([{ call: { callId: "c1", state: "failed", error: { message: "chunk is too long" } } }]);
    expect(hub.sent(w1)).toEqual(["cancel c1#1 lost", "result_ack c1#1 stored"]);
    expect(hub.call("c2").state).toBe("queued");
    hub.say(w1, nack("c1"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c2#1"]);
  });

  test.each<[string, WorkerMessage]>([
    ["heartbeat", { type: "heartbeat", load: 0, inFlight: [] }],
    ["result", result("c1")],
    ["malformed", { type: "malformed", reason: "bad", lease: lease("c1") }],
  ])("before register, a %s ends the stream", (_, message) => {
    const hub = new HandHub();
    hub.hub.connect(9, { tenant: "acme", principal: "service:worker" }, hub.now);
    hub.say(9, message);
    expect(hub.sent(9)).toEqual(["go_away"]);
    expect(hub.orders("close")).toEqual([{ type: "close", session: 9, reason: "the first message must be register" }]);
    hub.hub.disconnect(9);
    hub.say(9, message);
    expect(hub.sent(9)).toEqual([]);
  });
});

test("what the hub has no rule for is heard as a sign of life, and moves nothing", () => {
  const { hub, w1 } = running();
  const before = hub.call("c1");
  hub.pass(9_000);
  const spoken: WorkerMessage[] = [
    { type: "output", ...lease("c1"), seq: 1, channel: "stdout", chunk: new Uint8Array() },
    { type: "progress", ...lease("c1"), percent: 5, message: "" },
    { type: "emit", ...lease("c1"), ordinal: 1, eventType: "x", payloadJson: "{}" },
    { type: "secret_request", ...lease("c1"), names: ["KEY"] },
  ];
  for (const message of spoken) hub.say(w1, message);
  expect(hub.call("c1")).toEqual(before);
  expect([...hub.hub.sessions()].map(({ workerId, lastHeardAt }) => [workerId, lastHeardAt])).toContainEqual(["w1", 1_009_100]);
});

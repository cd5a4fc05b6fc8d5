// A replica that drains beside others: which of its workers it sends to them, when, and which it keeps.
import { expect, test } from "vitest";
import { HandHub, holds, result } from "../../../../test/support/hand-hub.ts";

/** Where this worker was sent since the last look, among all else that it was told. */
const told = (hub: HandHub, session: number): string[] =>
  hub.messages(session).map((message) => (message.type === "go_away" ? `go to ${message.reconnectTo}` : message.type));

test("who holds nothing goes at once, in turn to the others", () => {
  const hub = new HandHub();
  const sessions = ["w1", "w2", "w3"].map((workerId) => hub.connect(workerId));
  hub.hub.drain(hub.now, ["b:1", "c:1"]);
  expect(sessions.map((session) => told(hub, session))).toEqual([
    ["registered", "go to b:1"],
    ["registered", "go to c:1"],
    ["registered", "go to b:1"],
  ]);
});

test("who holds a call goes when its result is stored and acknowledged, and gets no other call before", () => {
  const hub = new HandHub();
  const w1 = hub.connect("w1", { capacity: 1 });
  hub.admit("c1");
  hub.admit("c2");
  hub.store();
  hub.hub.drain(hub.now, ["b:1"]);
  hub.store();
  expect(told(hub, w1)).toEqual(["registered", "invoke"]);
  hub.say(w1, result("c1"));
  expect(told(hub, w1)).toEqual([]);
  hub.store();
  expect(told(hub, w1)).toEqual(["result_ack", "go to b:1"]);
  expect(hub.call("c2").state).toBe("queued");
});

test("who comes while it drains is sent on at once; who comes with a call finishes it first", () => {
  const hub = new HandHub();
  const w1 = hub.connect("w1");
  hub.admit("c1");
  hub.store();
  hub.hub.drain(hub.now, ["b:1"]);
  hub.hub.disconnect(w1);
  const again = hub.connect("w1", { inFlight: [holds("c1", "running")] });
  const idle = hub.connect("w2");
  hub.store();
  expect([told(hub, again), told(hub, idle)]).toEqual([["registered"], ["registered", "go to b:1"]]);
  hub.say(again, result("c1"));
  hub.store();
  expect(told(hub, again)).toEqual(["result_ack", "go to b:1"]);
});

test("when the time is up all of them go, with what they hold; each is told once", () => {
  const hub = new HandHub();
  const [busy, idle] = [hub.connect("w1"), hub.connect("w2", { tools: {} })];
  hub.admit("c1");
  hub.store();
  hub.hub.drain(hub.now, ["b:1"]);
  hub.hub.drained();
  hub.hub.drained();
  expect([told(hub, busy), told(hub, idle)]).toEqual([
    ["registered", "invoke", "go to b:1"],
    ["registered", "go to b:1"],
  ]);
});

test("where nobody else lives, and of the worker inside this process, nobody is sent away", () => {
  const alone = new HandHub();
  const w1 = alone.connect("w1");
  alone.hub.drain(alone.now);
  alone.hub.drained();
  expect(told(alone, w1)).toEqual(["registered"]);

  const hub = new HandHub();
  hub.hub.connect(9, { tenant: "platform", principal: "service:signalbox", inProcess: true }, hub.now);
  hub.hub.message(9, { type: "register", workerId: "builtin", incarnation: "i", imageDigest: "", pool: "", labels: {}, handlers: [], backends: [], capacity: 1, inFlight: [] }, hub.now);
  hub.hub.drain(hub.now, ["b:1"]);
  hub.hub.drained();
  expect(told(hub, 9)).toEqual(["registered"]);
});

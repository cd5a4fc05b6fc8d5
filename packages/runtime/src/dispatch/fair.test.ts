// The fair line behind the hub: turns by weight, a tool's own cap, the tags that are stored, and a restart.
import { describe, expect, test } from "vitest";
import { believed, HandHub, result } from "../../../../test/support/hand-hub.ts";
import type { Call } from "../call/types.ts";

const roomy = { queueDepthPerTenantMax: 20_000 };
const shared = { toolTenant: "platform" } as const;

/** What the worker was given, without the rest of its messages. */
const given = (hub: HandHub, session: number) => hub.sent(session).filter((words) => words.startsWith("invoke")).map((words) => words.slice("invoke ".length));

/** One slot that is busy from the start, so that all that is admitted waits; `next` frees it and says what it is given. */
class Busy extends HandHub {
  readonly worker: number;
  #holds = "first";

  constructor(weights: Readonly<Record<string, number>> = {}) {
    super(roomy);
    for (const [tenant, weight] of Object.entries(weights)) this.hub.weigh(tenant, weight);
    this.worker = this.connect("w1", { tenant: "platform", capacity: 1, tools: { pay: 9, ship: 9 } });
    this.admit("first", { ...shared, tenant: "other" });
    this.store();
    this.sent(this.worker);
  }

  next(): string {
    this.say(this.worker, result(this.#holds));
    this.store();
    const [words = "-"] = given(this, this.worker);
    this.#holds = words.split("#")[0] ?? "";
    return this.#holds;
  }

  many(count: number): string {
    return Array.from({ length: count }, () => this.next()).join(" ");
  }
}

describe("turns", () => {
  test("SCH-01 through the hub: a weighs 5, b and c 1", () => {
    const hub = new Busy({ a: 5 });
    for (const tenant of ["a", "b", "c"]) for (let n = 0; n < 20; n++) hub.admit(`${tenant}${n}`, { ...shared, tenant });
    hub.store();
    expect(hub.many(14).replaceAll(/\d+/g, "")).toBe("a b c a a a a a b c a a a a");
  });

  test("a weight that is changed holds from the next turn on", () => {
    const hub = new Busy();
    for (const tenant of ["a", "b"]) for (let n = 0; n < 20; n++) hub.admit(`${tenant}${n}`, { ...shared, tenant });
    hub.store();
    expect(hub.many(4)).toBe("a0 b0 a1 b1");
    hub.hub.weigh("b", 3);
    expect(hub.many(8).replaceAll(/\d+/g, "")).toBe("a b b b a b b b");
  });

  test("SCH-06 through the hub: the class of a call decides within its tenant", () => {
    const hub = new Busy();
    for (const [callId, priority] of [["b0", "batch"], ["b1", "batch"], ["b2", "batch"], ["i", "interactive"], ["n", "normal"]] as const)
      hub.admit(callId, { ...shared, priority });
    hub.store();
    expect(hub.many(5)).toBe("i n b0 b1 b2");
  });

  test("SCH-15 through the hub: ten thousand of one tenant, and one of another: it is the next", () => {
    const hub = new Busy();
    for (let n = 0; n < 10_000; n++) hub.admit(`a${n}`, { ...shared, tenant: "a" });
    hub.store();
    expect(hub.many(3)).toBe("a0 a1 a2");
    hub.admit("b0", { ...shared, tenant: "b" });
    hub.store();
    expect(hub.many(2)).toBe("b0 a3");
  });

  test("between the tools that one worker serves the same order holds", () => {
    const hub = new Busy();
    for (let n = 0; n < 4; n++) hub.admit(`a${n}`, { ...shared, tenant: "a", tool: n % 2 === 0 ? "pay" : "ship" });
    for (let n = 0; n < 4; n++) hub.admit(`b${n}`, { ...shared, tenant: "b", tool: "ship" });
    hub.store();
    expect(hub.many(8)).toBe("a0 b0 a1 b1 a2 b2 a3 b3");
  });

  test("a call that starts with its admission costs a turn, too", () => {
    const hub = new HandHub(roomy);
    const w1 = hub.connect("w1", { tenant: "platform", capacity: 3 });
    for (const callId of ["a0", "a1", "a2"]) hub.admit(callId, { ...shared, tenant: "a" });
    for (const callId of ["a3", "a4"]) hub.admit(callId, { ...shared, tenant: "a" });
    for (const callId of ["b0", "b1"]) hub.admit(callId, { ...shared, tenant: "b" });
    hub.store();
    expect(given(hub, w1)).toEqual(["a0#1", "a1#1", "a2#1"]);
    for (const callId of ["a0", "a1", "a2"]) hub.say(w1, result(callId));
    hub.store();
    // a has had three turns of which the last began at 2; b begins there.
    expect(given(hub, w1)).toEqual(["b0#1", "a3#1", "b1#1"]);
  });
});

test("report 210: a tenant of slow calls fills its cap of the slots, and the others have the rest", () => {
  const hub = new HandHub(roomy);
  const endless = Number.POSITIVE_INFINITY;
  hub.hub.capsAre({ any: true, concurrentMax: (tenant) => (tenant === "a" ? 2 : endless), concurrentMaxOfProject: () => endless }, hub.now);
  const w1 = hub.connect("w1", { tenant: "platform", capacity: 4 });
  for (let n = 0; n < 50; n++) hub.admit(`a${n}`, { ...shared, tenant: "a" });
  hub.store();
  expect(given(hub, w1)).toEqual(["a0#1", "a1#1"]);
  for (let n = 0; n < 4; n++) hub.admit(`b${n}`, { ...shared, tenant: "b" });
  hub.store();
  expect(given(hub, w1)).toEqual(["b0#1", "b1#1"]);
  hub.say(w1, result("b0"));
  hub.say(w1, result("b1"));
  hub.store();
  expect(given(hub, w1)).toEqual(["b2#1", "b3#1"]);
});

describe("tags", () => {
  test("a call's row has the tag of its place, and once a worker has it that of the turn it took", () => {
    const hub = new HandHub(roomy);
    hub.connect("w1", { capacity: 1 });
    for (const callId of ["c1", "c2", "c3"]) hub.admit(callId);
    hub.admit("c4", { priority: "interactive" });
    hub.store();
    expect(["c1", "c2", "c3", "c4"].map((callId) => hub.call(callId).startTag)).toEqual([0, 1, 2, 3]);
    hub.say(1, result("c1"));
    const commits = (hub.gather(), hub.commits.flatMap(({ unit }) => unit.writes));
    const row = commits.flatMap((write) => (write.op === "update_call" && write.row.callId === "c4" ? [write.row] : []))[0];
    expect([row?.state, row?.startTag]).toEqual(["dispatched", 1]);
    hub.store();
    expect(["c2", "c3"].map((callId) => hub.call(callId).startTag)).toEqual([1, 2]);
  });

  test("SCH-13: after a restart with two that run and five that wait all go on in their order", () => {
    const before = new HandHub(roomy);
    before.connect("w1", { tenant: "platform", capacity: 2 });
    for (let n = 0; n < 4; n++) before.admit(`a${n}`, { ...shared, tenant: "a" });
    for (let n = 0; n < 3; n++) before.admit(`b${n}`, { ...shared, tenant: "b" });
    before.store();
    const rows: Call[] = [["a", 4], ["b", 3]].flatMap(([tenant, count]) =>
      Array.from({ length: Number(count) }, (_, n) => before.call(`${tenant}${n}`, String(tenant))),
    );
    rows.sort((one, other) => one.startTag - other.startTag || one.admittedAt - other.admittedAt);
    expect(rows.filter(({ state }) => state === "dispatched").map(({ callId }) => callId)).toEqual(["a0", "a1"]);

    const after = new HandHub(roomy, 0);
    for (const row of rows) after.restore(row);
    const w1 = after.connect("w1", {
      tenant: "platform",
      capacity: 2,
      inFlight: ["a0", "a1"].map((callId) => ({ callId, fence: 1, state: "running" as const })),
    });
    after.store();
    const order: string[] = [];
    let holds = ["a0", "a1"];
    while (holds.length > 0) {
      const done = holds[0] ?? "";
      holds = holds.slice(1);
      after.say(w1, result(done));
      after.store();
      const now = given(after, w1).map((words) => words.split("#")[0] ?? "");
      order.push(...now);
      holds.push(...now);
    }
    // a has had two turns, of which the second began at 1: b's tags are 0, 1, 2, and it is its turn.
    expect(order).toEqual(["b0", "b1", "a2", "b2", "a3"]);
    expect(after.hub.openCount()).toBe(0);
  });
});

describe("a tool's own cap", () => {
  const slowFacts = { ...believed, concurrentMax: 1 };
  const slow = (hub: HandHub, callId: string, changes = {}) => hub.admit(callId, { tool: "slow", ...changes }, slowFacts);

  test("SCH-08: one slow call at once: with two slots the other one runs beside it, and the second slow one waits", () => {
    const hub = new HandHub();
    slow(hub, "s1");
    slow(hub, "s2");
    hub.admit("e1", { tool: "echo" });
    const w1 = hub.connect("w1", { capacity: 2, tools: { slow: 9, echo: 9 } });
    hub.store();
    expect(given(hub, w1)).toEqual(["s1#1", "e1#1"]);
    hub.say(w1, result("e1"));
    hub.store();
    expect(given(hub, w1)).toEqual([]);
    hub.say(w1, result("s1"));
    hub.store();
    expect(given(hub, w1)).toEqual(["s2#1"]);
  });

  test("holds at admission as well, where a worker is free", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { tools: { slow: 9 } });
    slow(hub, "s1");
    slow(hub, "s2");
    hub.store();
    expect([given(hub, w1), hub.call("s2").state]).toEqual([["s1#1"], "queued"]);
  });

  test("counts each tenant's calls by themselves", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { tenant: "platform", tools: { slow: 9 } });
    slow(hub, "a1", { ...shared, tenant: "a" });
    slow(hub, "a2", { ...shared, tenant: "a" });
    slow(hub, "b1", { ...shared, tenant: "b" });
    hub.store();
    expect(given(hub, w1)).toEqual(["a1#1", "b1#1"]);
  });

  test("room is for whoever waits at any worker", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1, tools: { slow: 9 } });
    slow(hub, "s1");
    slow(hub, "s2");
    const w2 = hub.connect("w2", { capacity: 5, tools: { slow: 9 } });
    hub.store();
    expect([given(hub, w1), given(hub, w2)]).toEqual([["s1#1"], []]);
    hub.say(w1, { type: "draining" });
    hub.say(w1, result("s1"));
    hub.store();
    expect([given(hub, w1), given(hub, w2)]).toEqual([[], ["s2#1"]]);
  });
});

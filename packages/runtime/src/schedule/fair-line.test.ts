// The order of the fair line by vectors worked out by hand: weights, late comers, classes, age, lanes, caps, look-ahead.
import { describe, expect, test } from "vitest";
import { at0, OneSlot, open } from "../../../../test/support/fair-lines.ts";

const ofTenants = (picks: string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const tenant of picks.split(" ")) counts[tenant] = (counts[tenant] ?? 0) + 1;
  return counts;
};

describe("turns by weight", () => {
  test("SCH-01: a weighs 5, b and c 1: the first fourteen, and 50 : 10 : 10 of seventy", () => {
    const slot = new OneSlot({ a: 5 });
    for (const tenant of ["a", "b", "c"]) slot.admit(tenant, 100);
    const picks = slot.tenants(70);
    expect(picks.slice(0, 27)).toBe("a b c a a a a a b c a a a a");
    expect(ofTenants(picks)).toEqual({ a: 50, b: 10, c: 10 });
  });

  test("SCH-02: a weighs 2, b 1", () => {
    const slot = new OneSlot({ a: 2 });
    slot.admit("a", 20);
    slot.admit("b", 20);
    expect(slot.tenants(12)).toBe("a b a a b a a b a a b a");
  });

  test("equal weights: who comes late gets its share from now on, and nothing for the time before", () => {
    const slot = new OneSlot();
    slot.admit("a", 15);
    expect(slot.tenants(10)).toBe("a a a a a a a a a a");
    slot.admit("b", 5);
    expect(slot.tenants(10)).toBe("b a b a b a b a b a");
  });

  test("who has nothing waiting for a while has saved nothing", () => {
    const slot = new OneSlot();
    slot.admit("a", 1);
    slot.admit("b", 100);
    expect(slot.tenants(50)).toBe(`a ${Array.from({ length: 49 }, () => "b").join(" ")}`);
    slot.admit("a", 4);
    expect(slot.tenants(8)).toBe("a a b a b a b b");
  });

  test("a weight that is changed holds from the next turn on", () => {
    const slot = new OneSlot();
    slot.admit("a", 50);
    slot.admit("b", 50);
    expect(slot.tenants(4)).toBe("a b a b");
    slot.line.weigh("b", 3);
    expect(ofTenants(slot.tenants(40))).toEqual({ a: 10, b: 30 });
    slot.line.weigh("b", 1);
    expect(ofTenants(slot.tenants(20))).toEqual({ a: 10, b: 10 });
  });

  test("a turn of a third is no fraction that adds up wrongly: ten thousand turns later equal tags are equal still", () => {
    const slot = new OneSlot({ a: 3 });
    slot.admit("a", 30_010);
    slot.admit("b", 10_010);
    slot.tenants(40_000);
    expect(slot.tenants(8)).toBe("a b a a a b a a");
  });
});

describe("what a tenant gains by splitting its calls up: nothing", () => {
  test.each([
    ["over projects", (n: number) => ({ project: `p${n}` })],
    ["over tools of one lane", (n: number) => ({ tool: `tool${n}` })],
    ["over classes", (n: number) => ({ priority: (["interactive", "normal", "batch"] as const)[n % 3] ?? "normal" })],
  ])("%s", (_, split) => {
    const slot = new OneSlot();
    for (let n = 0; n < 60; n++) slot.admit("a", 1, split(n), "pay");
    slot.admit("b", 60);
    expect(ofTenants(slot.tenants(40))).toEqual({ a: 20, b: 20 });
  });

  test("report 208: a thousand calls over five hundred keys, and one of another tenant: it is the next", () => {
    const slot = new OneSlot();
    for (let n = 0; n < 1_000; n++) slot.admit("a", 1, { project: `key${n % 500}` });
    expect(slot.tenants(3)).toBe("a a a");
    slot.admit("b");
    expect(slot.tenants(2)).toBe("b a");
  });

  test("over lanes: a turn in one is a turn in all", () => {
    const slot = new OneSlot();
    slot.admit("a", 20, { tool: "pay" });
    slot.admit("a", 20, { tool: "ship" });
    slot.admit("b", 20, { tool: "ship" });
    expect(slot.tenants(5, "pay")).toBe("a a a a a");
    expect(slot.tenants(8, "ship")).toBe("b b b b a b a b");
  });
});

describe("classes", () => {
  test("SCH-06: within one tenant the sooner class goes first, and each in the order of its coming", () => {
    const slot = new OneSlot();
    for (const [callId, priority] of [["B0", "batch"], ["B1", "batch"], ["B2", "batch"], ["I", "interactive"], ["N", "normal"]] as const)
      slot.admit("a", 1, { callId, priority });
    expect(slot.calls(5)).toBe("I N B0 B1 B2");
  });

  test("SCH-07: a batch call that has waited for a minute beats a fresh normal one; after half of it only a later one", () => {
    const slot = new OneSlot();
    slot.admit("a", 1, { callId: "old", priority: "batch" });
    slot.now += 59_999;
    slot.admit("a", 1, { callId: "interactive", priority: "interactive" });
    slot.admit("a", 1, { callId: "normal", priority: "normal" });
    expect(slot.calls(1)).toBe("interactive");
    slot.admit("a", 1, { callId: "sooner", priority: "interactive" });
    slot.now += 1;
    expect(slot.calls(3)).toBe("old sooner normal");
  });

  test("after thirty seconds a batch call is a normal one that came earlier", () => {
    const slot = new OneSlot();
    slot.admit("a", 1, { callId: "batch", priority: "batch" });
    slot.now += 29_999;
    slot.admit("a", 2);
    expect(slot.pick()?.priority).toBe("normal");
    slot.now += 1;
    expect(slot.calls(1)).toBe("batch");
  });

  test("between tenants the sooner class leads by two dispatches, and no more", () => {
    const slot = new OneSlot();
    slot.admit("a", 10, { priority: "interactive" });
    slot.admit("b", 10, { priority: "batch" });
    expect(slot.tenants(8)).toBe("a a a b a b a b");
    const near = new OneSlot();
    near.admit("a", 10, { priority: "interactive" });
    near.admit("b", 10, { priority: "normal" });
    expect(near.tenants(6)).toBe("a a b a b a");
  });

  test("the lead is in dispatches of a tenant that weighs 1", () => {
    const slot = new OneSlot({ b: 10 });
    slot.admit("a", 10, { priority: "interactive" });
    slot.admit("b", 40, { priority: "batch" });
    // After its lead a has one turn where b has ten.
    expect(slot.tenants(24)).toBe(`a a a ${"b ".repeat(10)}a ${"b ".repeat(10).trim()}`);
  });

  test("an aged call takes its tenant's turn forward between tenants as well", () => {
    const slot = new OneSlot();
    slot.admit("b", 5, { priority: "batch" });
    slot.now += 60_000;
    slot.admit("a", 5, { priority: "interactive" });
    expect(slot.tenants(4)).toBe("b a b a");
  });
});

describe("SCH-15: nobody starves", () => {
  test("ten thousand of a, and one of b: it is the very next", () => {
    const slot = new OneSlot();
    slot.admit("a", 10_000);
    slot.tenants(20);
    slot.admit("b");
    expect(slot.tenants(2)).toBe("b a");
  });

  test("and the fourth at the latest where a is interactive and b batch", () => {
    const slot = new OneSlot();
    slot.admit("a", 10_000, { priority: "interactive" });
    slot.tenants(20);
    slot.admit("b", 1, { priority: "batch" });
    expect(slot.tenants(4).split(" ")).toContain("b");
  });

  test("who waited long where no worker was does not shut out the others when one comes", () => {
    const slot = new OneSlot();
    slot.admit("a", 100, { tool: "ship" });
    slot.admit("b", 200);
    slot.tenants(100);
    slot.admit("b", 50, { tool: "ship" });
    // b's last turn was the hundredth; a counts as three behind it.
    expect(slot.tenants(10, "ship")).toBe("a a a a a b a b a b");
  });
});

describe("comings and goings", () => {
  test("a call that is queued again stands before those that came later", () => {
    const slot = new OneSlot();
    slot.admit("a", 5);
    const first = slot.pick();
    slot.pick();
    if (first !== undefined) slot.add(first);
    expect(slot.calls(2)).toBe("a000001 a000003");
  });

  test("depth counts a tenant's calls over all lanes, and removing twice counts once", () => {
    const one = new OneSlot();
    one.admit("a", 2);
    one.admit("a", 1, { tool: "ship" });
    one.admit("b", 1);
    expect([one.line.depth("a"), one.line.depth("b"), one.line.depth("c")]).toEqual([3, 1, 0]);
    one.line.remove("ship", { tenant: "a", callId: "a000003" });
    one.line.remove("ship", { tenant: "a", callId: "a000003" });
    one.line.remove("pay", { tenant: "b", callId: "a000001" });
    expect([one.line.depth("a"), one.line.depth("b")]).toEqual([2, 1]);
    expect([one.line.waits("pay"), one.line.waits("ship"), one.line.waits("pack")]).toEqual([true, false, false]);
  });

  test("before its instant nobody gets a call, and at it it has its old place", () => {
    const slot = new OneSlot();
    slot.admit("a", 1, { callId: "later", notBefore: at0 + 500 });
    slot.admit("a", 1, { callId: "now" });
    expect(slot.calls(2)).toBe("now -");
    expect(slot.line.waits("pay")).toBe(true);
    slot.admit("a", 1, { callId: "third" });
    slot.now += 500;
    expect(slot.calls(2)).toBe("later third");
    expect(slot.line.waits("pay")).toBe(false);
  });

  test("cancelled calls cost their tenant no turns", () => {
    const slot = new OneSlot();
    const gone = slot.admit("a", 50);
    slot.admit("b", 10);
    for (const callId of gone) slot.line.remove("pay", { tenant: "a", callId });
    slot.admit("a", 10);
    expect(slot.tenants(6)).toBe("a b a b a b");
  });
});

describe("what is held back", () => {
  test("a tenant at its cap leaves the line to the others, and comes back when there is room", () => {
    const slot = new OneSlot();
    slot.admit("a", 1_000);
    slot.admit("b", 5);
    let asked = 0;
    slot.gate = { ...open, holdsTenant: (tenant) => tenant === "a" && ++asked > 0 };
    expect(slot.tenants(3)).toBe("b b b");
    // Once out of the line it is not asked about again.
    expect(asked).toBe(1);
    slot.gate = open;
    expect(slot.tenants(1)).toBe("b");
    slot.line.wake({ tenant: "a", project: "other", tool: "other" });
    expect(slot.tenants(2)).toBe("a a");
  });

  test("a project at its cap holds back its own calls alone", () => {
    const slot = new OneSlot();
    slot.admit("a", 200, { project: "busy" });
    slot.admit("a", 2, { project: "idle" });
    slot.gate = { ...open, holds: ({ project }) => project === "busy" };
    expect(slot.pick()?.project).toBe("idle");
    slot.gate = open;
    slot.line.wake({ tenant: "a", project: "idle", tool: "ship" });
    expect(slot.pick()?.project).toBe("idle");
    expect(slot.pick()).toBeUndefined();
    slot.line.wake({ tenant: "a", project: "busy", tool: "ship" });
    expect(slot.pick()?.project).toBe("busy");
  });

  test("all of it can leave while it is held back, and nothing is left behind", () => {
    const slot = new OneSlot();
    const held = slot.admit("a", 3);
    slot.gate = { ...open, holds: () => true };
    expect(slot.pick()).toBeUndefined();
    for (const callId of held) slot.line.remove("pay", { tenant: "a", callId });
    slot.line.wake();
    slot.gate = open;
    slot.admit("a", 1);
    expect([slot.tenants(2), slot.line.waits("pay"), slot.line.depth("a")]).toEqual(["a -", false, 0]);
  });

  test("a thousand calls behind a cap cost a look no more than one", () => {
    const slot = new OneSlot();
    for (let n = 0; n < 1_000; n++) slot.admit(`t${n % 10}`, 1, { project: "busy" });
    slot.admit("z", 1);
    let asked = 0;
    slot.gate = { ...open, holds: ({ project }) => ++asked > 0 && project === "busy" };
    expect([slot.tenants(1), asked]).toEqual(["z", 11]);
  });
});

describe("the look ahead", () => {
  test("is in fair order, and takes nothing out", () => {
    const slot = new OneSlot({ a: 2 });
    slot.admit("a", 3);
    slot.admit("b", 3, { priority: "interactive" });
    const seen = () => [...slot.line.peek("pay", 64, slot.now, open)].map(({ callId }) => callId);
    expect(seen()).toEqual(["b000004", "b000005", "b000006", "a000001", "a000002", "a000003"]);
    expect(seen()).toHaveLength(6);
    expect([...slot.line.peek("pay", 2, slot.now, open)]).toHaveLength(2);
  });

  test("sees 64 of one tenant where nobody else waits, and 16 before others", () => {
    const alone = new OneSlot();
    alone.admit("a", 100);
    expect([...alone.line.peek("pay", 64, alone.now, open)]).toHaveLength(64);
    const slot = new OneSlot();
    slot.admit("a", 100, { priority: "interactive" });
    slot.admit("b", 100, { priority: "batch" });
    const seen = [...slot.line.peek("pay", 64, slot.now, open)].map(({ tenant }) => tenant);
    expect([seen.slice(0, 17).join(""), seen.filter((tenant) => tenant === "a").length]).toEqual(["aaaaaaaaaaaaaaaab", 48]);
  });

  test("between lanes the same order decides", () => {
    const slot = new OneSlot();
    slot.admit("a", 2, { tool: "pay" });
    slot.admit("b", 2, { tool: "ship", priority: "interactive" });
    const first = (lane: string) => [...slot.line.peek(lane, 1, slot.now, open)][0];
    const [pay, ship] = [first("pay"), first("ship")];
    if (pay === undefined || ship === undefined) throw new Error("nobody waits");
    expect([slot.line.isBefore(ship, pay, slot.now), slot.line.isBefore(pay, ship, slot.now)]).toEqual([true, false]);
    slot.pick("ship");
    expect(slot.line.isBefore(ship, pay, slot.now)).toBe(false);
  });
});

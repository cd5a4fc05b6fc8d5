// A line made anew from the rows of the ledger: the order of what waits, whose turn it is, and nobody the richer for it.
import { describe, expect, test } from "vitest";
import { at0, OneSlot, waiting } from "../../../../test/support/fair-lines.ts";
import type { Waiting } from "./types.ts";

interface Rows {
  readonly leased?: readonly Waiting[];
  readonly queued?: readonly Waiting[];
}

/** As a start finds them: in order of their tags. */
function restarted({ leased = [], queued = [] }: Rows, weights: Readonly<Record<string, number>> = {}): OneSlot {
  const slot = new OneSlot(weights);
  const rows = [...leased.map((call) => ({ call, leased: true })), ...queued.map((call) => ({ call, leased: false }))];
  rows.sort((one, other) => one.call.startTag - other.call.startTag || one.call.admittedAt - other.call.admittedAt);
  for (const row of rows) {
    slot.line.saw(row.call, row.leased);
    if (!row.leased) slot.add(row.call);
  }
  return slot;
}

/** What a slot still has in line, as rows. */
function left(slot: OneSlot): Waiting[] {
  const open = { holdsTenant: () => false, holds: () => false };
  return [...slot.line.peek("pay", 10_000, slot.now, open)];
}

test("SCH-13: five wait and two run: the order goes on as it would have", () => {
  const weights = { a: 2 };
  const before = new OneSlot(weights);
  before.admit("a", 4);
  before.admit("b", 3);
  const leased = [before.pick(), before.pick()].filter((call) => call !== undefined);
  expect(leased.map(({ callId, startTag }) => [callId, startTag])).toEqual([["a000001", 0], ["b000005", 0]]);
  const after = restarted({ leased, queued: left(before) }, weights);
  expect(after.calls(5)).toBe("a000002 a000003 b000006 a000004 b000007");
});

describe("whose turn it is", () => {
  test("is where it was, at whatever moment the start comes", () => {
    const weights = { a: 5, b: 2 };
    for (let served = 0; served < 40; served++) {
      const before = new OneSlot(weights);
      for (const tenant of ["a", "b", "c"]) before.admit(tenant, 60);
      const leased = Array.from({ length: served }, () => before.pick()).filter((call) => call !== undefined);
      const queued = left(before);
      const goesOn = before.tenants(30);
      // The three that were served last still run.
      const counts = (picks: string) => ["a", "b", "c"].map((tenant) => picks.split(" ").filter((one) => one === tenant).length);
      const again = counts(restarted({ leased: leased.slice(-3), queued }, weights).tenants(30));
      for (const [at, count] of counts(goesOn).entries()) expect(Math.abs((again[at] ?? 0) - count)).toBeLessThanOrEqual(1);
    }
  });

  test("who comes after the start has no claim on the time before it", () => {
    const queued = Array.from({ length: 10 }, (_, n) => waiting("a", `a${n}`, { startTag: 1_000 + n }));
    const slot = restarted({ queued });
    slot.admit("b", 10);
    expect(slot.tenants(8)).toBe("a b a b a b a b");
    const running = restarted({ leased: [waiting("a", "a-run", { startTag: 999 })], queued });
    running.admit("b", 10);
    expect(running.tenants(8)).toBe("b a b a b a b a");
  });

  test("tags that are far off because calls before them were cancelled cost their tenant one dispatch at most", () => {
    const queued = [
      ...Array.from({ length: 5 }, (_, n) => waiting("a", `a${n}`, { startTag: 500 + n })),
      ...Array.from({ length: 5 }, (_, n) => waiting("b", `b${n}`, { startTag: n })),
    ];
    expect(restarted({ queued }).tenants(8)).toBe("b b a b a b a b");
  });

  test("a tenant whose later calls went first, in the turns of the earlier ones, gains three dispatches at most", () => {
    const before = new OneSlot();
    before.admit("a", 20, { priority: "batch" });
    before.admit("a", 10, { priority: "interactive" });
    before.admit("b", 20);
    const leased = Array.from({ length: 20 }, () => before.pick()).filter((call) => call !== undefined);
    const after = restarted({ leased: leased.slice(-1), queued: left(before) });
    expect(after.tenants(12).split(" ").filter((tenant) => tenant === "a").length).toBeLessThanOrEqual(9);
  });
});

test("new calls stand behind those that were found", () => {
  const queued = Array.from({ length: 3 }, (_, n) => waiting("a", `old${n}`, { startTag: 7 + n, admittedAt: at0 - 1_000 + n }));
  const slot = restarted({ queued });
  slot.admit("a", 1, { callId: "new" });
  expect(slot.calls(4)).toBe("old0 old1 old2 new");
});

test("an empty ledger starts at nothing", () => {
  const slot = restarted({});
  expect([slot.line.nextTag("a"), slot.line.turnOf({ tenant: "a" })]).toEqual([0, 0]);
});

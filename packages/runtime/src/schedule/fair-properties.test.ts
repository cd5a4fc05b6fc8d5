// What holds of the fair line whatever happens: the same order as the plain rules give, shares, an end to waiting, no gain by splitting.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { at0, OneSlot, open } from "../../../../test/support/fair-lines.ts";
import { FairPair, stepsOf } from "../../../../test/support/fair-pair.ts";
import type { Waiting } from "./types.ts";

const priority = fc.constantFrom<Waiting["priority"]>("interactive", "normal", "batch");
const weight = fc.constantFrom(1, 2, 3, 5, 10);
const steps = stepsOf(fc);

test("any comings, goings, caps and times: the order is that of the plain rules", () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 120 }), (all) => {
      const pair = new FairPair();
      for (const one of all) expect(pair.do(one)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

/** Whose the next picks are. */
function picks(slot: OneSlot, count: number, lane = "pay"): string[] {
  return Array.from({ length: count }, () => slot.pick(lane)?.tenant ?? "-");
}

const crowd = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e", "f"), fc.integer({ min: 1, max: 12 }), { minKeys: 1, maxKeys: 6 });

describe("shares", () => {
  test("at every moment each tenant that has calls waiting is within one dispatch of its share against any other", () => {
    fc.assert(
      fc.property(crowd, fc.integer({ min: 1, max: 150 }), (weights, count) => {
        const slot = new OneSlot(weights);
        for (const name of Object.keys(weights)) slot.admit(name, 200);
        const had: Record<string, number> = {};
        for (const name of picks(slot, count)) {
          had[name] = (had[name] ?? 0) + 1;
          for (const [one, w1] of Object.entries(weights))
            for (const [other, w2] of Object.entries(weights)) {
              // In turns of virtual time: nobody is ahead of another by more than one dispatch of each.
              const apart = (had[one] ?? 0) / w1 - (had[other] ?? 0) / w2;
              expect(apart).toBeLessThanOrEqual(1 / w1 + 1e-9);
            }
        }
      }),
    );
  });

  test("who comes at any moment, of whatever class, is served within the bound that the weights give", () => {
    fc.assert(
      fc.property(crowd, fc.nat({ max: 60 }), priority, (weights, before, late) => {
        const slot = new OneSlot({ ...weights, z: 1 });
        for (const name of Object.keys(weights)) slot.admit(name, 400, { priority: "interactive" });
        picks(slot, before);
        slot.admit("z", 1, { priority: late });
        const rank = ["interactive", "normal", "batch"].indexOf(late);
        // While z waits at V + rank, each other tenant takes at most the turns that start up to there.
        const bound = Object.values(weights).reduce((sum, weight) => sum + rank * weight + 1, 0) + 1;
        expect(picks(slot, bound)).toContain("z");
      }),
    );
  });

  test("a tenant that splits its calls over projects, tools, classes and lanes has no more of a slot than one that does not", () => {
    const part = fc.record({ project: fc.constantFrom("p", "q", "r"), tool: fc.constantFrom("x", "y"), priority });
    fc.assert(
      fc.property(fc.array(part, { minLength: 60, maxLength: 60 }), weight, weight, (parts, mine, theirs) => {
        const slot = new OneSlot({ a: mine, b: theirs });
        for (const one of parts) slot.admit("a", 1, one, "pay");
        // The other asks for all of it at the soonest class, and for one thing.
        slot.admit("b", 60, { priority: "interactive" });
        const count = 40;
        const a = picks(slot, count).filter((name) => name === "a").length;
        expect(a).toBeLessThanOrEqual((count * mine) / (mine + theirs) + 1);
      }),
    );
  });

  test("nor does one that has a lane of its own beside the one that is shared: what it is served there counts here", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 80 }), (elsewhere) => {
        const slot = new OneSlot();
        slot.admit("a", 200, { tool: "pay" });
        slot.admit("a", 200, { tool: "ship" });
        slot.admit("b", 200, { tool: "ship" });
        const shared = { a: 0, b: 0 };
        let own = 0;
        for (const other of elsewhere) {
          // At most every second turn, so that b could be level with a.
          if (other && slot.pick("pay") !== undefined) own++;
          const served = slot.pick("ship")?.tenant;
          if (served === "a" || served === "b") shared[served]++;
        }
        expect(own + shared.a).toBeLessThanOrEqual(Math.max(own, shared.b) + 1);
      }),
    );
  });
});

test("the same happenings give the same order", () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (all) => {
      const run = () => {
        const pair = new FairPair();
        for (const one of all) pair.do(one);
        return [...pair.slot.line.peek("pay", 64, pair.slot.now, open)].map(({ callId }) => callId);
      };
      expect(run()).toEqual(run());
    }),
  );
});

test("nothing is kept of calls that are gone", () => {
  const slot = new OneSlot();
  for (let n = 0; n < 50; n++) slot.admit(`t${n}`, 3, { tool: n % 2 === 0 ? "pay" : "ship" });
  for (const name of ["pay", "ship"]) while (slot.pick(name) !== undefined);
  expect([slot.line.waits("pay"), slot.line.waits("ship"), slot.line.depth("t7"), slot.now]).toEqual([false, false, 0, at0]);
});

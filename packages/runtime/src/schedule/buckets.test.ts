// Many buckets: all that match or none, the longest wait is told, a changed limit begins full, and their number stays bounded.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Buckets, type Wanted } from "./buckets.ts";

const wanted = (limitKey: string, perMinute: number, burst: number, subject = ""): Wanted => ({ limitKey, subject, rate: { perMinute, burst } });
const tenant = wanted("tenant", 600, 3);
const tool = wanted("tool", 6, 2, "pay");

function take(buckets: Buckets, now: number, ...all: Wanted[]): string {
  const taking = buckets.take(all, now);
  return taking.ok ? taking.standings.map(({ remaining }) => remaining).join() : `no ${taking.standing.at} ${taking.waitMs}`;
}

describe("a call that meets several limits", () => {
  test("takes one from each", () => {
    const buckets = new Buckets();
    expect([take(buckets, 0, tenant, tool), take(buckets, 0, tenant)]).toEqual(["2,1", "1"]);
  });

  test("takes from none when one has none left: a refusal costs nothing", () => {
    const buckets = new Buckets();
    for (let n = 0; n < 2; n++) take(buckets, 0, tenant, tool);
    expect([take(buckets, 0, tenant, tool), take(buckets, 0, tenant, tool)]).toEqual(["no 1 10000", "no 1 10000"]);
    expect(take(buckets, 0, tenant)).toBe("0");
  });

  test("is told of the one that keeps it longest", () => {
    const buckets = new Buckets();
    const both = [wanted("a", 60, 1), wanted("b", 6, 1), wanted("c", 600, 1)];
    take(buckets, 0, ...both);
    expect(take(buckets, 0, ...both)).toBe("no 1 10000");
    expect(take(buckets, 9_500, ...both)).toBe("no 1 500");
    expect(take(buckets, 10_000, ...both)).toBe("0,0,0");
  });

  test("gives back to each what it took", () => {
    const buckets = new Buckets();
    const taking = buckets.take([tenant, tool], 0);
    if (!taking.ok) throw new Error("both were full");
    taking.giveBack();
    expect(take(buckets, 0, tenant, tool)).toBe("2,1");
  });
});

test("each subject of one limit has a bucket of its own", () => {
  const buckets = new Buckets();
  const each = (subject: string): string => take(buckets, 0, wanted("each", 6, 1, subject));
  expect([each("ann"), each("ann"), each("bo")]).toEqual(["0", "no 0 10000", "0"]);
});

test("a changed rate begins full, and what it was before is forgotten", () => {
  const buckets = new Buckets();
  take(buckets, 0, wanted("one", 6, 1));
  expect(take(buckets, 0, wanted("one", 6, 1))).toBe("no 0 10000");
  expect([take(buckets, 0, wanted("one", 6, 3)), take(buckets, 0, wanted("one", 6, 3))]).toEqual(["2", "1"]);
  expect(buckets.count).toBe(1);
});

test("a limit that is gone takes its buckets along; set again it begins full", () => {
  const buckets = new Buckets();
  take(buckets, 0, tool);
  take(buckets, 0, tool);
  buckets.forget("tool");
  expect(buckets.count).toBe(0);
  expect(take(buckets, 0, tool)).toBe("1");
});

describe("the number of buckets", () => {
  const bounds = { perLimitMax: 100, allMax: 150 };
  const come = (buckets: Buckets, subject: string, now: number, limitKey = "each"): string => take(buckets, now, wanted(limitKey, 60, 1, subject));

  test("those that are full again make room", () => {
    const buckets = new Buckets(bounds);
    // One a second of each, and each comes once: at most a second's worth of them is not full.
    for (let n = 0; n < 100_000; n++) expect(come(buckets, `agent-${n}`, n * 20)).toBe("0");
    expect(buckets.count).toBeLessThanOrEqual(100);
  });

  test("those for whom there is no room share one: nobody is without a limit because there are many", () => {
    const buckets = new Buckets(bounds);
    const first = Array.from({ length: 100 }, (_, n) => come(buckets, `agent-${n}`, 0));
    expect(new Set(first)).toEqual(new Set(["0"]));
    expect([come(buckets, "one more", 0), come(buckets, "and one", 0), come(buckets, "one more", 0)]).toEqual(["0", "no 0 1000", "no 0 1000"]);
    // Who has one keeps it.
    expect(come(buckets, "agent-5", 999)).toBe("no 0 1");
    expect(come(buckets, "agent-5", 1_000)).toBe("0");
    expect(buckets.count).toBe(100);
  });

  test("a second limit has the rest of the room, and shares after that", () => {
    const buckets = new Buckets(bounds);
    for (let n = 0; n < 100; n++) come(buckets, `agent-${n}`, 0);
    for (let n = 0; n < 50; n++) come(buckets, `agent-${n}`, 0, "other");
    expect([come(buckets, "x", 0, "other"), come(buckets, "y", 0, "other")]).toEqual(["0", "no 0 1000"]);
    expect(buckets.count).toBe(150);
  });
});

test("any calls against any limits: as when each bucket stands alone and is asked first", () => {
  const rates = [{ perMinute: 60, burst: 2 }, { perMinute: 7, burst: 1 }, { perMinute: 1_000, burst: 5 }];
  const calls = fc.array(
    fc.record({ wait: fc.oneof(fc.nat(5), fc.nat(5_000), fc.nat(100_000)), limits: fc.subarray([0, 1, 2], { minLength: 1 }), subject: fc.constantFrom("a", "b"), back: fc.boolean() }),
    { maxLength: 120 },
  );
  fc.assert(
    fc.property(calls, (all) => {
      const buckets = new Buckets();
      // The naive way: all instants at which a token was taken are kept, and the level is counted from the beginning.
      const level = new Map<string, { units: bigint; at: bigint }>();
      let now = 0;
      for (const { wait, limits, subject, back } of all) {
        now += wait;
        const asked = limits.map((at) => ({ limitKey: `l${at}`, subject, rate: rates[at] as { perMinute: number; burst: number } }));
        const found = asked.map(({ limitKey, rate }) => {
          const key = `${limitKey} ${subject}`;
          const brim = BigInt(rate.burst) * 60_000n;
          const known = level.get(key) ?? { units: brim, at: BigInt(now) };
          const grown = known.units + (BigInt(now) - known.at) * BigInt(rate.perMinute);
          return { key, brim, units: grown > brim ? brim : grown };
        });
        const passes = found.every(({ units }) => units >= 60_000n);
        const taking = buckets.take(asked, now);
        expect(taking.ok).toBe(passes);
        const takes = passes && !back;
        if (taking.ok && back) taking.giveBack();
        for (const { key, units } of found) level.set(key, { units: takes ? units - 60_000n : units, at: BigInt(now) });
      }
    }),
  );
});

// One bucket: the vectors of the cases to the call and the second, and any run of calls against a bucket of exact fractions.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fullBucket, giveTokenBack, holdsToken, msToFull, msToToken, refill, takeToken, tokensIn, type Bucket } from "./bucket.ts";
import type { Rate } from "./types.ts";

/** Takes a token if there is one. */
function call(bucket: Bucket, rate: Rate, at: number): boolean {
  refill(bucket, rate, at);
  if (!holdsToken(bucket)) return false;
  takeToken(bucket);
  return true;
}

function admitted(bucket: Bucket, rate: Rate, at: number, calls: number): number {
  let count = 0;
  for (let n = 0; n < calls; n++) if (call(bucket, rate, at)) count++;
  return count;
}

const retryAfterS = (bucket: Bucket, rate: Rate): number => Math.ceil(msToToken(bucket, rate) / 1_000);

describe("the vectors", () => {
  test("RL-01: 300 a minute, 50 at once", () => {
    const rate = { perMinute: 300, burst: 50 };
    const bucket = fullBucket(rate, 0);
    expect(admitted(bucket, rate, 0, 60)).toBe(50);
    expect([retryAfterS(bucket, rate), tokensIn(bucket)]).toEqual([1, 0]);
    expect(admitted(bucket, rate, 1_000, 60)).toBe(5);
    expect(admitted(bucket, rate, 61_000, 100)).toBe(50);
  });

  test("RL-02: 6 a minute, 1 at once", () => {
    const rate = { perMinute: 6, burst: 1 };
    const bucket = fullBucket(rate, 0);
    expect(call(bucket, rate, 0)).toBe(true);
    expect([call(bucket, rate, 0), retryAfterS(bucket, rate)]).toEqual([false, 10]);
    expect([call(bucket, rate, 9_999), msToToken(bucket, rate), retryAfterS(bucket, rate)]).toEqual([false, 1, 1]);
    expect(call(bucket, rate, 10_000)).toBe(true);
  });

  test("7 a minute: no fraction gets lost in a day of calls that come when the wait says", () => {
    const rate = { perMinute: 7, burst: 1 };
    const bucket = fullBucket(rate, 0);
    let [at, count] = [0, 0];
    while (at < 86_400_000) {
      expect(call(bucket, rate, at)).toBe(true);
      count++;
      at += msToToken(bucket, rate);
    }
    // 7 * 1440, and the one that was there at the start would be the first of the next day.
    expect(count).toBe(10_080);
  });
});

test("a bucket fills to its brim and no further, however long nobody comes", () => {
  const rate = { perMinute: 1_000_000, burst: 1_000_000 };
  const bucket = fullBucket(rate, 0);
  expect(admitted(bucket, rate, 0, 1_000)).toBe(1_000);
  expect([tokensIn(bucket), msToFull(bucket, rate)]).toEqual([999_000, 60]);
  refill(bucket, rate, 30);
  expect(tokensIn(bucket)).toBe(999_500);
  refill(bucket, rate, 10 * 365 * 86_400_000);
  expect([tokensIn(bucket), msToFull(bucket, rate)]).toEqual([1_000_000, 0]);
});

test("what is given back is there for the next, and never more than the brim holds", () => {
  const rate = { perMinute: 6, burst: 2 };
  const bucket = fullBucket(rate, 0);
  takeToken(bucket);
  takeToken(bucket);
  giveTokenBack(bucket, rate);
  expect([holdsToken(bucket), tokensIn(bucket)]).toEqual([true, 1]);
  giveTokenBack(bucket, rate);
  giveTokenBack(bucket, rate);
  expect(tokensIn(bucket)).toBe(2);
});

test("a clock that stands still adds nothing, and one that goes back takes nothing away", () => {
  const rate = { perMinute: 60, burst: 1 };
  const bucket = fullBucket(rate, 5_000);
  takeToken(bucket);
  refill(bucket, rate, 5_000);
  refill(bucket, rate, 1_000);
  expect(tokensIn(bucket)).toBe(0);
  refill(bucket, rate, 6_000);
  expect(tokensIn(bucket)).toBe(1);
});

test("any run of calls is let through as by a bucket of exact fractions", () => {
  const rates = fc.record({ perMinute: fc.integer({ min: 1, max: 1_000_000 }), burst: fc.integer({ min: 1, max: 200 }) });
  const gaps = fc.array(fc.oneof(fc.nat(3), fc.nat(30_000), fc.nat(10 ** 9)), { maxLength: 200 });
  fc.assert(
    fc.property(rates, gaps, (rate, waits) => {
      const bucket = fullBucket(rate, 0);
      // In sixty-thousandths of a token, as a BigInt: nothing is rounded anywhere.
      const brim = BigInt(rate.burst) * 60_000n;
      let [exact, at] = [brim, 0];
      for (const wait of waits) {
        at += wait;
        exact += BigInt(wait) * BigInt(rate.perMinute);
        if (exact > brim) exact = brim;
        const expected = exact >= 60_000n;
        if (expected) exact -= 60_000n;
        expect(call(bucket, rate, at)).toBe(expected);
      }
      expect(BigInt(bucket.units)).toBe(exact);
    }),
  );
});

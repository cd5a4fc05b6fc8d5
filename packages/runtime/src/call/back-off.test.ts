// The waits between attempts: the curves, their cap, and the spread that is the same wherever it is asked.
import { expect, test } from "vitest";
import { backOffMs, curveMs, type Curve } from "./back-off.ts";

const doubling: Curve = { strategy: "exponential", initialMs: 2_000, factor: 2, maxMs: 120_000 };
const attempts = [1, 2, 3, 4, 5, 6, 7, 8];

test("RTY-02: two seconds, doubled with every attempt, up to two minutes", () => {
  expect(attempts.map((attempt) => curveMs(doubling, attempt))).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000, 120_000]);
});

test.each([
  ["fixed", { ...doubling, strategy: "fixed", initialMs: 700 } as const, [700, 700, 700, 700]],
  ["linear", { ...doubling, strategy: "linear", initialMs: 500, maxMs: 1_600 } as const, [500, 1_000, 1_500, 1_600]],
  ["by three", { ...doubling, initialMs: 10, factor: 3 }, [10, 30, 90, 270]],
  ["not at all", { ...doubling, initialMs: 0 }, [0, 0, 0, 0]],
  ["a cap below the first wait", { ...doubling, maxMs: 50 }, [50, 50, 50, 50]],
])("%s", (_, curve, waits) => {
  expect([1, 2, 3, 4].map((attempt) => curveMs(curve, attempt))).toEqual(waits);
});

test("ten attempts by the largest factor stay a number, and the cap", () => {
  expect(curveMs({ ...doubling, initialMs: 3_600_000, factor: 10, maxMs: 3_600_000 }, 10)).toBe(3_600_000);
});

test("report 213: calls that fail together do not come back together: they spread over a tenth on either side", () => {
  const waits = Array.from({ length: 2_000 }, (_, n) => backOffMs(doubling, `exec_${n}`, 2));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(3_600);
  expect(Math.max(...waits)).toBeLessThanOrEqual(4_400);
  // Evenly: each tenth of the span holds about a tenth of the calls.
  for (let tenth = 0; tenth < 10; tenth++) {
    const [from, to] = [3_600 + 80 * tenth, 3_680 + 80 * tenth];
    expect(waits.filter((wait) => wait >= from && wait < to).length, `from ${from} ms on`).toBeGreaterThan(140);
  }
});

test("the same call and attempt wait the same time whoever asks; the next attempt is spread anew", () => {
  expect(backOffMs(doubling, "exec_1", 1)).toBe(backOffMs({ ...doubling }, "exec_1", 1));
  const fixed: Curve = { ...doubling, strategy: "fixed" };
  expect(new Set(attempts.map((attempt) => backOffMs(fixed, "exec_1", attempt))).size).toBeGreaterThan(6);
});

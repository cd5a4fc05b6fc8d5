// The breaker by itself: when it opens, what it lets through while it is half open, and who decides what becomes of it.
import { expect, test } from "vitest";
import { begun, breakerState, closedBreaker, learned, refusedForMs, released, type Breaker, type Evidence } from "./breaker.ts";

const rule = { failures: 3, coolDownMs: 10_000 };

function after(breaker: Breaker, now: number, ...evidence: readonly Evidence[]): Breaker {
  return evidence.reduce((state, one) => learned(state, rule, "c", one, now), breaker);
}

const open = after(closedBreaker, 1_000, "down", "down", "down");

test("RTY-07: opens with the third failure in a row, and not before", () => {
  expect(breakerState(after(closedBreaker, 1_000, "down", "down"), 1_000)).toBe("closed");
  expect(breakerState(open, 1_000)).toBe("open");
  expect(refusedForMs(open, "x", 4_000)).toBe(7_000);
});

test("an answer in between, be it a no, begins the count anew; what was never reached does not count", () => {
  expect(breakerState(after(closedBreaker, 1_000, "down", "down", "up", "down", "down"), 1_000)).toBe("closed");
  expect(breakerState(after(closedBreaker, 1_000, "down", "unknown", "down", "unknown", "down"), 1_000)).toBe("open");
});

test("RTY-07: after its cool-down one call tries the tool, and the others go on being refused", () => {
  expect(breakerState(open, 10_999)).toBe("open");
  expect(breakerState(open, 11_000)).toBe("half_open");
  expect(refusedForMs(open, "probe", 11_000)).toBeNull();
  const probing = begun(open, "probe", 11_000);
  expect(refusedForMs(probing, "other", 11_001)).toBe(1_000);
  expect(refusedForMs(probing, "probe", 11_001)).toBeNull();
});

test("RTY-07: the probe's success closes it, its failure opens it again for as long", () => {
  const probing = begun(open, "probe", 11_000);
  expect(learned(probing, rule, "probe", "up", 12_000)).toEqual({ failures: 0, openUntil: null, probe: null });
  const again = learned(probing, rule, "probe", "down", 12_000);
  expect(breakerState(again, 21_999)).toBe("open");
  expect(breakerState(again, 22_000)).toBe("half_open");
});

test("a probe that never reached the tool leaves its turn to the next", () => {
  const probing = begun(open, "probe", 11_000);
  expect(refusedForMs(learned(probing, rule, "probe", "unknown", 12_000), "other", 12_000)).toBeNull();
  expect(refusedForMs(released(probing, "probe"), "other", 12_000)).toBeNull();
  expect(released(probing, "other")).toBe(probing);
});

test("calls that began before it opened neither close it nor hold it open", () => {
  expect(learned(open, rule, "old", "up", 2_000)).toBe(open);
  expect(learned(open, rule, "old", "down", 9_000)).toBe(open);
  const probing = begun(open, "probe", 11_000);
  expect(learned(probing, rule, "old", "up", 12_000)).toBe(probing);
});

// Percentiles, medians and spreads on samples small enough to work out by hand.
import { expect, test } from "vitest";
import { median, percentile, spreadPercent } from "./statistics.ts";

test("a percentile is the sample at the nearest rank", () => {
  const sorted = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
  expect(percentile(sorted, 0.5)).toBe(50);
  expect(percentile(sorted, 0.95)).toBe(100);
  expect(percentile(sorted, 0.9)).toBe(90);
  expect(percentile([7], 0.99)).toBe(7);
  expect(percentile(sorted, 0)).toBe(10);
  expect(percentile([], 0.5)).toBeUndefined();
});

test("a median does not depend on the order and takes the mean of two middles", () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(median([4, 1, 2, 9])).toBe(3);
  expect(median([])).toBeUndefined();
});

test("the spread is the farthest value's distance from the median in percent", () => {
  expect(spreadPercent([100, 80, 130])).toBe(30);
  expect(spreadPercent([50, 50])).toBe(0);
  expect(spreadPercent([])).toBeUndefined();
});

// The delays between two attempts to connect.
import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

test.each([
  [0, 50, 100],
  [1, 100, 200],
  [3, 400, 800],
  [5, 1_600, 3_200],
  [6, 2_500, 5_000],
  [1_000, 2_500, 5_000],
])("after %i failures: from %i to %i ms", (failures, least, most) => {
  expect(backoffMs(failures, 0)).toBe(least);
  expect(backoffMs(failures, 0.5)).toBe((least + most) / 2);
  expect(backoffMs(failures, 0.999_999)).toBeCloseTo(most, 0);
});

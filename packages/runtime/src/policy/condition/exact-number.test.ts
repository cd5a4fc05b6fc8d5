// Numbers as conditions see them: whole ones with the digits that the handler gets.
import { expect, test } from "vitest";
import { exactNumber } from "./exact-number.ts";

test.each<[string, number | bigint]>([
  ["9007199254740993", 9_007_199_254_740_993n],
  ["-9007199254740993", -9_007_199_254_740_993n],
  ["9007199254740993.0", 9_007_199_254_740_993n],
  ["9.007199254740993e15", 9_007_199_254_740_993n],
  ["9007199254740993000", 9_007_199_254_740_993_000n],
  ["9223372036854775807", 9_223_372_036_854_775_807n],
  ["18446744073709551615", 18_446_744_073_709_551_615n],
  ["0.1000000000000000", 0.1],
  ["1000.5000000000000000", 1000.5],
  ["1e300", 1e300],
  ["100000000000000000000000", 1e23],
  ["0.0000000000000000", 0],
  ["-0.0000000000000000", -0],
])("%s keeps its value", (text, value) => {
  expect(exactNumber(text)).toBe(value);
});

test("of a fraction the nearest double is taken", () => {
  expect(exactNumber("1000.00000000000000001")).toBe(1000);
  expect(exactNumber("0.30000000000000001")).toBe(0.3);
  expect(exactNumber("1e-400")).toBe(0);
});

test.each(["1e400", "-1e99999", "1e9999999", "x"])("%s is nothing to compare", (text) => {
  expect(() => exactNumber(text)).toThrow(/^(?:a number is larger than|there is a number that)/);
});

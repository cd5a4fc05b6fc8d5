// Suggestions: near enough to help, never more than three.
import { expect, test } from "vitest";
import { didYouMean, editDistance, nearNames } from "./nearest.ts";

test.each([
  ["", "", 0],
  ["a", "", 1],
  ["kitten", "sitting", 3],
  ["ab", "ba", 1],
  ["executor", "exceutor", 1],
  ["same", "same", 0],
])("the distance of %j and %j is %d", (one, other, distance) => {
  expect(editDistance(one, other, 5)).toBe(distance);
  expect(editDistance(other, one, 5)).toBe(distance);
});

test("a distance over the maximum is only known to be over it", () => {
  expect(editDistance("abcdef", "uvwxyz", 2)).toBe(3);
  expect(editDistance("a", "abcdefgh", 2)).toBe(3);
});

test.each([
  ["get_dat", ["get_date", "get_time", "send"], ["get_date"]],
  ["getDate", ["get_date", "other"], ["get_date"]],
  ["payments.charg", ["payments.charge", "payments.change", "echo"], ["payments.charge", "payments.change"]],
  ["aaaa", ["aaab", "aaac", "aaad", "aaae"], ["aaab", "aaac", "aaad"]],
  ["x", ["zzz"], []],
  ["", ["a"], ["a"]],
])("near %j of %j is %j", (name, names, near) => {
  expect(nearNames(name, names)).toEqual(near);
});

test("the exact name in another writing comes first", () => {
  expect(nearNames("file-read", ["file.reads", "file.read"])).toEqual(["file.read", "file.reads"]);
});

test("a long list of long names stays quick", () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `${"n".repeat(120)}${index}`);
  const begun = performance.now();
  nearNames("n".repeat(100_000), names);
  expect(performance.now() - begun).toBeLessThan(2_000);
});

test("the sentence", () => {
  expect(didYouMean("timout", ["timeout", "grace"])).toBe('did you mean "timeout"?');
  expect(didYouMean("zzzzzz", ["timeout"])).toBeUndefined();
});

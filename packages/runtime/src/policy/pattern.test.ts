// The patterns of rules: what they are, which names they take, and which patterns cover others.
import { expect, test } from "vitest";
import { patternCovers, patternMatches, readPattern, type Pattern } from "./pattern.ts";

const pattern = (text: string): Pattern => {
  const read = readPattern(text);
  if (read === undefined) throw new Error(`${text} is no pattern`);
  return read;
};

test.each([
  "payments.charge",
  "payments.*",
  "user:*",
  "user:ann@example.com",
  "*",
  "a",
  "team/x/*",
  "pre-*",
  "spiffe://a/b",
])("%s is a pattern", (text) => {
  expect(readPattern(text)).toBeDefined();
});

test.each(["", "pay*", "**", "*.charge", "a.*.b", "a b", "a*b", ".", "a.", "?", "é", "a\n", "user:**"])(
  "%j is none",
  (text) => {
    expect(readPattern(text)).toBeUndefined();
  },
);

test.each([
  ["payments.charge", "payments.charge", true],
  ["payments.charge", "payments.charge2", false],
  ["payments.charge", "Payments.charge", false],
  ["payments.*", "payments.charge", true],
  ["payments.*", "payments.charge.card", true],
  ["payments.*", "payments", false],
  ["payments.*", "payments.", false],
  ["payments.*", "payments2.charge", false],
  ["*", "anything", true],
  ["*", "", false],
])("%s takes %s: %s", (text, name, expected) => {
  expect(patternMatches(pattern(text), name)).toBe(expected);
});

test.each([
  ["*", "a", true],
  ["*", "a.*", true],
  ["a.*", "*", false],
  ["a.*", "a.b.*", true],
  ["a.*", "a.*", true],
  ["a.b.*", "a.*", false],
  ["a.*", "a.b", true],
  ["a.*", "a", false],
  ["a", "a", true],
  ["a", "a.*", false],
])("%s covers %s: %s", (outer, inner, expected) => {
  expect(patternCovers(pattern(outer), pattern(inner))).toBe(expected);
});

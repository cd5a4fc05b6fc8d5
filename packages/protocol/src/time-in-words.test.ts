// A length of time in words.
import { expect, test } from "vitest";
import { timeInWords } from "./time-in-words.ts";

test.each([
  [0, "0 ms"],
  [1, "1 ms"],
  [999, "999 ms"],
  [1_000, "1 s"],
  [1_500, "1.5 s"],
  [1_234, "1.234 s"],
  [30_000, "30 s"],
  [60_000, "1 min"],
  [90_000, "90 s"],
  [300_000, "5 min"],
  [3_600_000, "1 h"],
  [5_400_000, "90 min"],
  [86_400_000, "24 h"],
  [172_800_000, "2 days"],
  [2_592_000_000, "30 days"],
  [90_000_000, "25 h"],
])("%i ms is %s", (ms, text) => {
  expect(timeInWords(ms)).toBe(text);
});

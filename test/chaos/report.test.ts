// The table and the lines of JSON, letter by letter.
import { expect, test } from "vitest";
import { isGood, jsonLine, table } from "./report.ts";
import type { Report } from "./types.ts";

const good: Report = {
  story: "kill-runtime",
  calls: 1_234,
  kills: 9,
  lost: 0,
  unsafeRepeats: 0,
  stranded: 0,
  indeterminate: { lease_expired: 2, indeterminate: 10 },
  problems: [],
};

test("a line a story", () => {
  expect(jsonLine(good)).toBe(
    '{"story":"kill-runtime","calls":1234,"kills":9,"lost":0,"unsafe_repeats":0,"stranded":0,"indeterminate":12}',
  );
});

test("a table for people, with the reasons", () => {
  expect(table([good, { ...good, story: "cut-tcp", calls: 7, indeterminate: {} }])).toBe(
    `story         calls  kills  lost  unsafe repeats  stranded  indeterminate
kill-runtime   1234      9     0               0         0  12 (indeterminate 10, lease_expired 2)
cut-tcp           7      9     0               0         0  0`,
  );
});

test.each([{ lost: 1 }, { unsafeRepeats: 1 }, { stranded: 1 }, { problems: ["a rule is broken"] }])("%j is not good", (more) => {
  expect(isGood(good)).toBe(true);
  expect(isGood({ ...good, ...more })).toBe(false);
});

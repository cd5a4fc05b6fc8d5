// The demo's summary: numbers add up to the cent, and only what repeats is a category.
import { expect, test } from "vitest";
import { summarize } from "./summary.js";

test("sums decimals exactly, skips empty fields, counts categories, and leaves free text alone", () => {
  const rows = Array.from({ length: 30 }, (_, index) => [`text ${index}`, "0.1", index % 3 === 0 ? "" : "odd", ""]);
  rows.push(["more", "-2.05", "even", ""]);
  expect(summarize({ columns: ["text", "price", "kind", "nothing"], rows })).toEqual({
    rows: 31,
    columns: ["text", "price", "kind", "nothing"],
    numbers: { price: { sum: 0.95, min: -2.05, max: 0.1 } },
    top: {
      kind: [
        { value: "odd", rows: 20 },
        { value: "even", rows: 1 },
      ],
      nothing: [],
    },
  });
});

test("a column with one word in it is no column of numbers", () => {
  const rows = [["1"], ["2"], ["n/a"]];
  expect(summarize({ columns: ["n"], rows }).numbers).toEqual({});
});

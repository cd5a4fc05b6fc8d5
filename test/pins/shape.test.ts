// Shapes of JSON: what is told apart, what is not, and how a difference is told.
import { expect, test } from "vitest";
import { merged, misfits, shapeOf, unseen } from "./shape.ts";

test.each([
  [1, "number"],
  [null, "null"],
  [[], []],
  [[1, 2], ["number"]],
  [[1, null], ["null | number"]],
  [
    { a: "x", b: { c: true } },
    { a: "string", b: { c: "boolean" } },
  ],
  [[{ a: 1 }, { a: null, b: "x" }], [{ a: "null | number", "b?": "string" }]],
  [[{ a: [] }, { a: [1] }], [{ a: ["number"] }]],
  [[{ a: { b: 1 } }, { a: null }, { a: { b: 2 } }], [{ a: { "null or": { b: "number" } } }]],
  [{ output: { any: "thing" } }, { output: "any" }],
])("%j is of the shape %j", (value, shape) => {
  expect(shapeOf(value)).toEqual(shape);
});

test("what is not in every object stays so, in whatever order they come", () => {
  const shapes = [{ a: 1 }, { a: 1, b: 1 }, { b: 1 }].map((value) => shapeOf(value));
  expect(shapes.reduce(merged)).toEqual({ "a?": "number", "b?": "number" });
});

test("misfits name the field", () => {
  const pinned = shapeOf({ items: [{ id: "x", count: 1, gone: true, list: [1] }], next: null });
  const found = shapeOf({ items: [{ id: 1, count: null, new: "x", list: ["a"] }], next: [] });
  expect(misfits(pinned, found, "calls list")).toEqual([
    "calls list.items[].id: is number, was string",
    "calls list.items[].count: is null, was number",
    "calls list.items[].gone: is gone",
    "calls list.items[].list[]: is string, was number",
    "calls list.items[].new: is new",
    "calls list.next: is a list, was null",
  ]);
  expect(misfits(undefined, found, "x")).toEqual(["x: is new"]);
});

test("what may be absent, null or empty may be so every time", () => {
  const pinned = [
    { a: 1, list: [1], deep: { x: 1 } },
    { b: "x", list: [], deep: null },
  ].map((value) => shapeOf(value));
  for (const found of [
    { list: [], deep: null },
    { a: 2, list: [3], deep: { x: 4 } },
  ])
    expect(misfits(pinned.reduce(merged), shapeOf(found), "x")).toEqual([]);
  expect(misfits(pinned.reduce(merged), shapeOf({ list: [], deep: { x: "y", z: 1 } }), "x")).toEqual([
    "x.deep.x: is string, was number",
    "x.deep.z: is new",
  ]);
});

test("a pinned field that nothing had is told", () => {
  const pinned = [{ a: [{ x: 1 }, { y: 1 }] }, { b: 1 }].map((value) => shapeOf(value)).reduce(merged);
  expect(unseen(pinned, shapeOf({ a: [{ x: 1 }] }), "p")).toEqual(["p.a[].y: is gone", "p.b: is gone"]);
  expect(unseen(pinned, shapeOf({ a: [], b: 1 }), "p")).toEqual([]);
});

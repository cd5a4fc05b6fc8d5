// Plain bounded JSON, and everything that is not.
import { parseJson } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { shapeProblem } from "./json-shape.ts";

const within = { depthMax: 4, valuesMax: 10 };

test.each([[null], [true], [0], [""], [[]], [{}], [{ a: [1, { b: null }] }], [Object.create(null)]])(
  "%j is fine",
  (value) => {
    expect(shapeProblem(value, within)).toBeUndefined();
  },
);

test.each([
  [{ a: undefined }, ["a"], "nothing is not JSON"],
  [{ a: [Number.NaN] }, ["a", 0], "NaN is not a JSON number"],
  [[1, Number.POSITIVE_INFINITY], [1], "Infinity is not a JSON number"],
  [{ a: 1n }, ["a"], "1 is not JSON"],
  [{ a: () => 1 }, ["a"], "a function is not JSON"],
  [{ a: new Date(0) }, ["a"], "is not a plain JSON value"],
  [{ a: new Map() }, ["a"], "is not a plain JSON value"],
  [Array(2), [1], "nothing is not JSON"],
  [{ a: "\ud800" }, ["a"], "holds half of a surrogate pair: not well-formed text"],
  [{ "\ud800": 1 }, [], "has a key that is not well-formed text"],
])("%# is refused with its place", (value, keys, message) => {
  expect(shapeProblem(value, within)).toEqual({ keys, message });
});

test("the depth may be reached, not passed", () => {
  expect(shapeProblem([[[[]]]], within)).toBeUndefined();
  expect(shapeProblem([[[[[]]]]], within)).toEqual({
    keys: [0, 0, 0, 0],
    message: "is nested more than 4 levels deep",
  });
});

test("wide, circular and very deep values end at a bound", () => {
  expect(shapeProblem(Array(10).fill(0), within)).toMatchObject({ message: "has more than 10 values" });
  const circle: unknown[] = [];
  circle.push(circle);
  expect(shapeProblem(circle, within)).toMatchObject({ message: "is nested more than 4 levels deep" });
  let deep: unknown = 0;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(shapeProblem(deep, { depthMax: 200_000, valuesMax: 200_000 })).toBeUndefined();
  expect(shapeProblem(deep, { depthMax: 64, valuesMax: 200_000 })).toMatchObject({
    message: "is nested more than 64 levels deep",
  });
});

test("exact numbers count as numbers, and stay in range", () => {
  const parsed = parseJson(`{"max": 9007199254740993, "huge": 1e400}`, { depthMax: 5 });
  if (!parsed.ok) throw new Error("should parse");
  expect(shapeProblem(parsed.value, within)).toEqual({ keys: ["huge"], message: "is a number out of range" });
});

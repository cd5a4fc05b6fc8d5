// Members and items of JSON text, wherever they stand and whatever is inside of them.
import fc from "fast-check";
import { expect, test } from "vitest";
import { itemsOf, membersOf } from "./members.ts";

const told = (text: string): [string, string][] =>
  membersOf(text, 0).map(({ key, from, to }) => [key, text.slice(from, to)]);

test("each member with its own text, digits and spaces included", () => {
  expect(told('{"a":9007199254740993,"b":{"c":[1, 2]},"d":"x"}')).toEqual([
    ["a", "9007199254740993"],
    ["b", '{"c":[1, 2]}'],
    ["d", '"x"'],
  ]);
  expect(told(' { "a" : 1.50e2 , "b" : null } ')).toEqual([
    ["a", "1.50e2"],
    ["b", "null"],
  ]);
  expect(told("{}")).toEqual([]);
  expect(told("{ }")).toEqual([]);
});

test("brackets, quotes and backslashes in strings are no brackets, quotes and backslashes", () => {
  expect(told(String.raw`{"a":"}]\"{[","b\\":"\\","c\"":[{"d":"]}"}],"\u0065":1}`)).toEqual([
    ["a", String.raw`"}]\"{["`],
    ["b\\", String.raw`"\\"`],
    ['c"', '[{"d":"]}"}]'],
    ["e", "1"],
  ]);
});

test("items of a list", () => {
  const text = '[1,"a,b",[2,3],{"c":4} , true]';
  expect(itemsOf(text, 0).map(({ from, to }) => text.slice(from, to))).toEqual([
    "1",
    '"a,b"',
    "[2,3]",
    '{"c":4}',
    "true",
  ]);
  expect(itemsOf("[]", 0)).toEqual([]);
});

test.each(["", "1", "[1]", '{"a"}', '{"a" 1}', '{"a":1', '{"a":[1,2', '{"a":"b', "{a:1}"])(
  "what is no object is not taken for one: %s",
  (text) => {
    expect(() => membersOf(text, 0)).toThrow();
  },
);

test("any JSON comes apart into what it was made of", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const again = Object.fromEntries(told(text).map(([key, part]) => [key, JSON.parse(part) as unknown]));
      expect(JSON.stringify(again)).toBe(JSON.stringify(value));
    }),
  );
});

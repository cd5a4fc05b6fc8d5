// Brackets are counted where they are brackets, and nothing hides them.
import { expect, test } from "vitest";
import { nestingOf } from "./nesting.ts";

test.each([
  ["", 0],
  ["args.a", 0],
  ["(a)", 1],
  ["(a) + (b) + [c]", 1],
  ["((a)) + [{1: [2]}]", 3],
  ["f(g(h(1)))", 3],
  ["[[[[", 4],
  ["]]]][[", 2],
  ['"[[[[" + a', 0],
  ["'((((' + (a)", 1],
  ['"\\"[[[" + [1]', 1],
  ['"""["[[""" + [1]', 1],
  ["'''(\n('(''' + (1)", 1],
  // In a raw text a backslash is a backslash, and the next quote ends it.
  ['r"\\" + [[1]] + "]"', 2],
  ["R'\\' + [[1]]", 2],
  // Brackets in texts do not take back those outside.
  ['["]" + ["]" + ["]" + [1]]]]', 4],
  ["// [[[[\n[1]", 1],
  ["[1] // [[[[", 1],
  // A text that does not end ends with its line; the parser refuses it.
  ['"abc\n[[[1]]]', 3],
])("%j is nested %i deep", (source, depth) => {
  expect(nestingOf(source)).toBe(depth);
});

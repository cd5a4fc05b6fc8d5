// Proves the escaping, the bound and the well-formedness of pointers.
import { expect, test } from "vitest";
import { jsonPointer, placeInWords } from "./pointer.ts";

test("RFC 6901's escapes", () => {
  expect(jsonPointer(["a/b", "m~n", 0, ""])).toBe("/a~1b/m~0n/0/");
  expect(jsonPointer([])).toBe("");
  expect(placeInWords([])).toBe("the top level");
});

test("a pointer that would be too long ends at a container that can be named", () => {
  expect(jsonPointer(["a", "b".repeat(600), "c"])).toBe("/a");
  expect(jsonPointer(["a", "~".repeat(300), "c"])).toBe("/a");
});

test("a lone surrogate in a key does not get out", () => {
  expect(jsonPointer(["\ud800"])).toBe("/\ufffd");
});

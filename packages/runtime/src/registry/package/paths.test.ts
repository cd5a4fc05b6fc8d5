// Paths of packages and workspaces: what is taken, every trick that is not, and collisions between two good ones.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldedPath, foldersOf, pathProblem, pathProblems } from "./paths.ts";

test.each([
  "main.js",
  "a/b/c.txt",
  "with space/x y.csv",
  "ünïcode/日本語.txt",
  ".hidden",
  "a/.b",
  "..a",
  "-rf",
  "a'b\"c$d`e",
])("%j is taken", (path) => {
  expect(pathProblem(path)).toBeUndefined();
});

const outside = "leads outside: .. is not accepted";
const short = "is not in its shortest form";
const unseen = "holds a character that cannot be seen";
const likeness = "holds a backslash or a colon";
const edge = "has a name that starts with a space, or ends with a space or a dot";

test.each([
  ["", "is empty"],
  ["/etc/passwd", "must be a relative path"],
  ["//etc/passwd", "must be a relative path"],
  ["..", outside],
  ["../x", outside],
  ["a/../../x", outside],
  ["a/..", outside],
  [".", short],
  ["./a", short],
  ["a/./b", short],
  ["a//b", short],
  ["a/", short],
  ["a\\..\\b", likeness],
  ["C:/x", likeness],
  ["a:stream", likeness],
  ["a\u0000b", unseen],
  ["a\nb", unseen],
  ["a\tb", unseen],
  ["a\u001b[31mb", unseen],
  ["a\u007fb", unseen],
  ["a\u0085b", unseen],
  ["a\u200bb", unseen],
  ["a\u200db", unseen],
  ["gpj\u202egnp.exe", unseen],
  ["\u2066a\u2069", unseen],
  ["\ufeffa", unseen],
  ["a\u00adb", unseen],
  ["a\u00a0b", unseen],
  ["a\u3000b", unseen],
  ["a\u2028b", unseen],
  ["a\ue000b", unseen],
  ["a\u0378b", unseen],
  ["a\ud800b", "holds half of a surrogate pair"],
  ["e\u0301", "is not in Unicode's composed form (NFC)"],
  ["\u212b", "is not in Unicode's composed form (NFC)"],
  [" a", edge],
  ["a /b", edge],
  ["a.", edge],
  ["...", edge],
  ["a/b./c", edge],
  ["x".repeat(256), "has a name of more than 255 bytes"],
  ["é".repeat(128), "has a name of more than 255 bytes"],
  ["a/".repeat(32) + "a", "is deeper than 32 folders"],
  ["abcdefgh/".repeat(120), "is longer than 1024 bytes"],
])("%j is refused", (path, problem) => {
  expect(pathProblem(path)).toBe(problem);
});

describe("two paths", () => {
  test.each([
    [["a", "a"], "is there twice"],
    [["Readme", "README"], 'differs from "Readme" by case or likeness alone'],
    [["lib/a", "Lib/b"], 'differs from "lib" by case or likeness alone'],
    [["straße", "STRASSE"], 'differs from "straße" by case or likeness alone'],
    [["ﬁle", "file"], 'differs from "ﬁle" by case or likeness alone'],
    [["K", "\u212a".normalize("NFC")], "is there twice"],
    [["a™", "atm"], 'differs from "a™" by case or likeness alone'],
    [["x²", "x2"], 'differs from "x²" by case or likeness alone'],
    [["a", "a/b"], 'needs "a" to be a file and a folder'],
    [["a/b", "a"], 'needs "a" to be a file and a folder'],
    [["a/b/c", "a/B"], 'differs from "a/b" by case or likeness alone'],
  ])("%j", (paths, message) => {
    expect(pathProblems(paths)).toEqual([{ index: 1, message }]);
  });

  test("that stand beside each other are fine", () => {
    expect(pathProblems(["a/b", "a/c", "a.txt", "b/a", "ab"])).toEqual([]);
  });

  test("each fault is told at its place", () => {
    expect(pathProblems(["ok", "/x", "ok", "y/.."]).map(({ index }) => index)).toEqual([1, 2, 3]);
  });
});

test("folders lead to a file from the top", () => {
  expect(foldersOf("a/b/c")).toEqual(["a", "a/b"]);
  expect(foldersOf("a")).toEqual([]);
});

const anyPath = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .array(fc.constantFrom("a", "B", "..", ".", "", "/", "\\", " ", "é", "e\u0301", "\u202e", "\0"), { maxLength: 12 })
    .map((parts) => parts.join("")),
  fc.array(fc.constantFrom("a", "b", "..", ".", "", "c d"), { maxLength: 6 }).map((parts) => parts.join("/")),
);

test("whatever is taken stays below its folder, and is spelled in one way", () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      if (pathProblem(path) !== undefined) return;
      // What a URL makes of it resolves dots and slashes by rules that are not ours.
      const url = new URL(encodeURI(path).replaceAll("?", "%3F").replaceAll("#", "%23"), "file:///box/workspace/");
      expect(url.pathname.startsWith("/box/workspace/")).toBe(true);
      expect(decodeURIComponent(url.pathname.slice("/box/workspace/".length))).toBe(path);
      expect(path.normalize("NFC")).toBe(path);
    }),
    { numRuns: 2_000 },
  );
});

test("of two that fold alike only the first is taken", () => {
  fc.assert(
    fc.property(anyPath, anyPath, (one, other) => {
      if (pathProblem(one) !== undefined || pathProblem(other) !== undefined) return;
      if (foldedPath(one) === foldedPath(other))
        expect(pathProblems([one, other]).map(({ index }) => index)).toEqual([1]);
      expect(pathProblems([one, other]).length === 0).toBe(pathProblems([other, one]).length === 0);
    }),
    { numRuns: 2_000 },
  );
});

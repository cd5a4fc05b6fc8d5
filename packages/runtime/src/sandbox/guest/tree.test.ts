// No path leads out of a guest's folders.
import { describe, expect, test } from "vitest";
import { filePaths, importedPath, lookUp, lookUpAnywhere, type TreeDir, type TreeFile, type TreeNode } from "./tree.ts";

const file = (text: string): TreeFile => ({ kind: "file", sizeBytes: text.length, read: () => Buffer.from(text) });
const dir = (entries: Readonly<Record<string, TreeNode>>): TreeDir => ({
  kind: "dir",
  entries: new Map(Object.entries(entries)),
});

const deep = dir({ "c.txt": file("c") });
const inner = dir({ "b.txt": file("b"), deep });
const root = dir({ "a.txt": file("a"), inner });

const textAt = (path: string, trail: readonly TreeDir[] = [root]): string => {
  const found = lookUp(trail, path);
  if (!found.found) return found.why;
  return found.node.kind === "dir" ? `folder of ${found.trail.length - 1}` : Buffer.from(found.node.read()).toString();
};

describe("looking up", () => {
  test.each([
    ["a.txt", "a"],
    ["inner/b.txt", "b"],
    ["./inner//deep/./c.txt", "c"],
    ["inner/../a.txt", "a"],
    ["inner/deep/../b.txt", "b"],
    [".", "folder of 0"],
    ["inner/deep", "folder of 2"],
    ["absent", "absent"],
    ["a.txt/x", "not_a_folder"],
    ["a.txt/..", "not_a_folder"],
    ["..", "outside"],
    ["inner/../../a.txt", "outside"],
    ["/a.txt", "outside"],
    ["__proto__", "absent"],
    ["constructor", "absent"],
    ["a.txt\0", "absent"],
    ["x".repeat(4_097), "too_long"],
  ])("%j is %s", (path, expected) => {
    expect(textAt(path)).toBe(expected);
  });

  test("from a folder that was opened, `..` goes up to what stands above it, and no further than the root", () => {
    const found = lookUp([root], "inner/deep");
    const trail = found.found ? found.trail : [];
    expect(textAt("../b.txt", trail)).toBe("b");
    expect(textAt("../../a.txt", trail)).toBe("a");
    expect(textAt("../../../a.txt", trail)).toBe("outside");
  });
});

test("two folders by their names, the workspace where nothing is said", () => {
  const folders = { package: root, workspace: dir({ "w.txt": file("w") }) };
  const kindAt = (path: string): string => {
    const found = lookUpAnywhere(folders, path);
    return found.found ? found.node.kind : found.why;
  };
  expect(kindAt("/package/inner/b.txt")).toBe("file");
  expect(kindAt("/workspace")).toBe("dir");
  expect(kindAt("w.txt")).toBe("file");
  expect(kindAt("/workspace/../package/a.txt")).toBe("outside");
  expect(kindAt("/packagex/a.txt")).toBe("outside");
  expect(kindAt("/etc/passwd")).toBe("outside");
});

test("all files of a folder", () => {
  expect(filePaths(root)).toEqual(["a.txt", "inner/b.txt", "inner/deep/c.txt"]);
});

test.each([
  ["index.js", "./lib/x.js", "lib/x.js"],
  ["lib/x.js", "../y.js", "y.js"],
  ["lib/x.js", "../../y.js", null],
  ["index.js", "fs", null],
  ["index.js", "/etc/passwd", null],
  ["index.js", "node:fs", null],
])("in %s, %s is %s", (from, name, expected) => {
  expect(importedPath(from, name)).toBe(expected);
});

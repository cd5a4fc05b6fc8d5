// A package's list and digest: one digest for one content, whatever the order; a list that is wrong says where.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRef, listingProblems, listingText, packageDigest, parseListing, type PackageFile } from "./listing.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const ref = (digit: string): string => `sha256:${digit.padStart(64, "0")}`;
const file = (path: string, mode: PackageFile["mode"] = "0644", digit = "1"): PackageFile => ({
  path,
  mode,
  ref: ref(digit),
});

const two = [file("main.js"), file("bin/run", "0755", "2")];

test("the text is what anybody can write down by hand", () => {
  expect(listingText(two)).toBe(`signalbox package 1\n0755 ${ref("2")} bin/run\n0644 ${ref("1")} main.js\n`);
  // By: printf … | sha256sum
  expect(packageDigest(two, sha256)).toBe("sha256:e97daad1ba65b5d6227a1dc7a75bc56a1f76231777e45fa8d37b25dc2414e3e2");
});

test("paths stand in the order of their bytes, also beyond U+FFFF", () => {
  const text = listingText([file("\u{1f600}"), file("\uff21"), file("z"), file("Z"), file("a/b"), file("a.b")]);
  const paths = text
    .split("\n")
    .slice(1, -1)
    .map((line) => line.slice(77));
  expect(paths).toEqual(["Z", "a.b", "a/b", "z", "\uff21", "\u{1f600}"]);
});

const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 8 });
const packages = names.chain((paths) =>
  fc.tuple(
    ...paths.map((path) =>
      fc.record({
        path: fc.constant(path),
        mode: fc.constantFrom("0644" as const, "0755" as const),
        ref: fc.constantFrom("1", "2", "a").map(ref),
      }),
    ),
  ),
);

test("the order of the list makes no difference", () => {
  fc.assert(
    fc.property(
      packages.chain((files) => fc.tuple(fc.constant(files), fc.shuffledSubarray(files, { minLength: files.length }))),
      ([files, shuffled]) => {
        expect(packageDigest(shuffled, sha256)).toBe(packageDigest(files, sha256));
      },
    ),
  );
});

test("a mode, a content, a path, a file more: each is another package", () => {
  fc.assert(
    fc.property(packages, fc.nat(), (files, at) => {
      const index = at % files.length;
      const changed = (change: (one: PackageFile) => PackageFile) =>
        files.map((one, here) => (here === index ? change(one) : one));
      const others = [
        changed((one) => ({ ...one, mode: one.mode === "0644" ? "0755" : "0644" })),
        changed((one) => ({ ...one, ref: ref("f") })),
        changed((one) => ({ ...one, path: `${one.path}/x` })),
        [...files, file("Another")],
        files.filter((_, here) => here !== index),
      ];
      const digests = [files, ...others].map((one) => packageDigest(one, sha256));
      expect(new Set(digests).size).toBe(6);
    }),
  );
});

test("what was written is read back", () => {
  fc.assert(
    fc.property(packages, (files) => {
      const read = parseListing(listingText(files));
      expect(read?.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
        files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
      );
    }),
  );
});

const good = listingText(two);

test.each([
  ["nothing", ""],
  ["a head alone", "signalbox package 1\n"],
  ["another head", good.replace("1\n", "2\n")],
  ["no last line feed", good.slice(0, -1)],
  ["one line feed too many", `${good}\n`],
  ["carriage returns", good.replaceAll("\n", "\r\n")],
  ["another order", `signalbox package 1\n0644 ${ref("1")} main.js\n0755 ${ref("2")} bin/run\n`],
  ["another mode", good.replace("0755", "4755")],
  ["a short digest", good.replace("sha256:0", "sha256:")],
  ["a digest in capitals", good.replace(ref("2"), `sha256:${"A".repeat(64)}`)],
  ["a path that leads out", good.replace("main.js", "../main.js")],
  ["a file twice", good + good.split("\n").slice(1).join("\n")],
  ["two spaces", good.replace(" main", "  main")],
])("a stored text with %s is none", (_, text) => {
  expect(parseListing(text)).toBeUndefined();
});

describe("problems", () => {
  test("none in a good list", () => {
    expect(listingProblems(two)).toEqual([]);
  });

  test.each([
    [[], "files", "is empty; a package has one file at least"],
    [[file("a"), file("../b")], "files[1].path", "leads outside: .. is not accepted"],
    [[{ ...file("a"), mode: "0777" as "0755" }], "files[0].mode", "must be 0644 or 0755"],
    [[{ ...file("a"), ref: "sha256:12" }], "files[0].ref", "must be sha256: and 64 hexadecimal digits"],
    [[{ ...file("a"), ref: `${ref("1")}\n` }], "files[0].ref", "must be sha256: and 64 hexadecimal digits"],
    [[file("a"), file("A")], "files[1].path", 'differs from "a" by case or likeness alone'],
  ])("%j", (files, path, message) => {
    expect(listingProblems(files)).toEqual([{ path, message }]);
  });

  test("too many files are counted, not looked at; too many problems are cut", () => {
    const many = (count: number, path: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => file(path(index)));
    expect(listingProblems(many(2_000, (index) => `f${index}`))).toEqual([]);
    expect(listingProblems(many(2_001, (index) => `f${index}`))).toEqual([
      { path: "files", message: "has 2001 entries; at most 2000 are taken" },
    ]);
    expect(listingProblems(many(500, () => "/x"))).toHaveLength(100);
  });
});

test.each([
  "",
  "sha256:",
  `sha256:${"g".repeat(64)}`,
  `SHA256:${"0".repeat(64)}`,
  `sha256:${"0".repeat(65)}`,
  `sha256:../${"0".repeat(61)}`,
])("%j names no content", (text) => {
  expect(isRef(text)).toBe(false);
});

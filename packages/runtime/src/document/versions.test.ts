// Versions, their order and ranges.
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareVersions, inRange, parseRange, parseVersion, type Version } from "./versions.ts";

function version(text: string): Version {
  const parsed = parseVersion(text);
  if (parsed === undefined) throw new Error(`${text} should be a version`);
  return parsed;
}

test.each([
  "0.0.0",
  "1.2.3",
  "10.20.30",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-0.3.7",
  "1.0.0-x-y.92",
  "1.0.0+build.5",
  "1.0.0-rc.1+exp.sha",
  "1.0.0--",
  "999999999999999.0.0",
])("%s is a version", (text) => {
  expect(parseVersion(text)).toBeDefined();
});

test.each([
  "",
  "1",
  "1.2",
  "1.2.3.4",
  "v1.2.3",
  "=1.2.3",
  " 1.2.3",
  "1.2.3 ",
  "01.2.3",
  "1.02.3",
  "1.2.03",
  "1.2.x",
  "1.2.3-",
  "1.2.3-01",
  "1.2.3-a..b",
  "1.2.3+",
  "1.2.3-é",
  "latest",
  "not-a-version",
  "1.2.-3",
  "1e3.0.0",
  "1.2.3\n",
  `1.2.3-${"a".repeat(130)}`,
])("%j is no version", (text) => {
  expect(parseVersion(text)).toBeUndefined();
});

test("the order of SemVer's own examples", () => {
  const ordered = [
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.1.0",
    "2.0.0",
    "2.0.10",
    "10.0.0",
  ];
  for (const [index, one] of ordered.entries()) {
    for (const [place, other] of ordered.entries()) {
      expect(Math.sign(compareVersions(version(one), version(other))), `${one} and ${other}`).toBe(
        Math.sign(index - place),
      );
    }
  }
  expect(compareVersions(version("1.0.0+a"), version("1.0.0+b"))).toBe(0);
});

test.each([
  ["^1.2.0", ["1.2.0", "1.2.9", "1.99.0"], ["1.1.9", "2.0.0", "0.9.0", "1.3.0-beta", "2.0.0-alpha"]],
  ["^1.2.3", ["1.2.3", "1.3.0"], ["1.2.2", "2.0.0"]],
  ["^0.2.3", ["0.2.3", "0.2.9"], ["0.2.2", "0.3.0", "1.0.0"]],
  ["^0.0.3", ["0.0.3"], ["0.0.2", "0.0.4"]],
  ["^0.0", ["0.0.0", "0.0.9"], ["0.1.0"]],
  ["^0", ["0.0.0", "0.9.9"], ["1.0.0"]],
  ["^1", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.9"]],
  ["^1.x", ["1.0.0", "1.9.9"], ["2.0.0"]],
  ["~1.2", ["1.2.0", "1.2.9"], ["1.1.9", "1.3.0"]],
  ["~1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0"]],
  ["~1", ["1.0.0", "1.9.9"], ["2.0.0"]],
  [">=1 <2", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0", "2.0.0-rc.1"]],
  [">= 1.2.0  < 1.4.0", ["1.2.0", "1.3.9"], ["1.4.0"]],
  [">1", ["2.0.0"], ["1.0.0", "1.9.9"]],
  [">1.2", ["1.3.0"], ["1.2.9"]],
  [">1.2.3", ["1.2.4"], ["1.2.3"]],
  ["<=1", ["0.1.0", "1.9.9"], ["2.0.0"]],
  ["<=1.2.3", ["1.2.3"], ["1.2.4"]],
  ["<1.2", ["1.1.9"], ["1.2.0"]],
  ["1.x", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.9"]],
  ["1.X.x", ["1.0.0", "1.9.9"], ["2.0.0"]],
  ["1.2.*", ["1.2.0", "1.2.9"], ["1.3.0"]],
  ["1.2", ["1.2.0", "1.2.9"], ["1.3.0"]],
  ["1", ["1.0.0", "1.9.9"], ["2.0.0"]],
  ["=1.2.3", ["1.2.3"], ["1.2.4"]],
  ["*", ["0.0.1", "9.0.0"], ["1.0.0-beta"]],
  ["^1.3.0-beta.1", ["1.3.0-beta.1", "1.3.0-beta.2", "1.3.0", "1.4.0"], ["1.3.0-alpha", "1.4.0-beta", "2.0.0"]],
  [">=1.0.0-rc.1 <1.0.0", ["1.0.0-rc.1", "1.0.0-rc.9"], ["1.0.0", "0.9.0"]],
])("the range %s", (text, inside, outside) => {
  const range = parseRange(text);
  if (range === undefined) throw new Error(`${text} should be a range`);
  expect(inside.filter((one) => !inRange(range, version(one)))).toEqual([]);
  expect(outside.filter((one) => inRange(range, version(one)))).toEqual([]);
});

test.each([
  "",
  " ",
  "latest",
  "v1",
  "^",
  "1.2.3.4",
  "^^1",
  "^v1",
  "1.x.3",
  "1.x-beta",
  ">*",
  "<x",
  "1 || 2",
  "1 - 2",
  "01.x",
  "^1.2.3-",
  "not-a-version",
  "^".repeat(200),
])("%j is no range", (text) => {
  expect(parseRange(text)).toBeUndefined();
});

test("no text makes the parsers throw or take long", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\^~<>=xX*0-9. -]{0,60}$/)), (text) => {
      parseVersion(text);
      parseRange(text);
    }),
  );
});

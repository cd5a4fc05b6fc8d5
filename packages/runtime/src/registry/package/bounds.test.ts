// Every bound on a package's paths: exactly that long, or that deep, is taken, and one more is refused.
import { expect, test } from "vitest";
import { pathProblem } from "./paths.ts";

/** A name of exactly so many bytes, with one character that takes two. */
const name = (bytes: number): string => `é${"a".repeat(bytes - 2)}`;
const deep = (folders: number): string => `${"a/".repeat(folders)}a`;

test.each<[string, number, (size: number) => string, string]>([
  ["nameBytesMax", 255, name, "has a name of more than 255 bytes"],
  ["depthMax", 31, deep, "is deeper than 32 folders"],
])("%s", (_name, most, make, problem) => {
  expect(pathProblem(make(most))).toBeUndefined();
  expect(pathProblem(make(most + 1))).toBe(problem);
});

test("pathBytesMax", () => {
  // Few folders, so that the depth is no matter.
  const long = (bytes: number): string => `${"a".repeat(250)}/`.repeat(4).concat("z".repeat(bytes - 1_004));
  expect(pathProblem(long(1_024))).toBeUndefined();
  expect(pathProblem(long(1_025))).toBe("is longer than 1024 bytes");
});

// A tool's folder as a package: what goes along, what stays at home, and what keeps it from being packed.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NoPackage, readFolderFile, readToolFolder } from "./folder.ts";

let at: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), "folder-"));
});
afterEach(() => rmSync(at, { recursive: true, force: true }));

function write(path: string, text = "hello", mode = 0o644): void {
  mkdirSync(join(at, path, ".."), { recursive: true });
  writeFileSync(join(at, path), text);
  chmodSync(join(at, path), mode);
}

// From `printf hello | sha256sum`.
const helloRef = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

test("files with their modes and digests; hidden ones and leavings stay at home", async () => {
  write("tool.yaml");
  write("bin/run", "hello", 0o700);
  write("lib/a.py", "hello", 0o606);
  write("lib/__pycache__/a.pyc");
  write(".env", "SECRET=1");
  write(".git/config");
  write("node_modules/.bin/x");
  write("node_modules/x/index.js");
  const { files, leftOut } = await readToolFolder(at);
  expect(files.map(({ path, mode, ref, bytes }) => [path, mode, ref, bytes])).toEqual([
    ["tool.yaml", "0644", helloRef, 5],
    ["bin/run", "0755", helloRef, 5],
    ["lib/a.py", "0644", helloRef, 5],
    ["node_modules/x/index.js", "0644", helloRef, 5],
  ]);
  expect(leftOut.toSorted()).toEqual([".env", ".git", "lib/__pycache__", "node_modules/.bin"]);
});

test("names are spelled in Unicode's composed form, however the disk has them", async () => {
  write("re\u0301sume\u0301.txt");
  const { files } = await readToolFolder(at);
  expect(files.map(({ path }) => path)).toEqual(["r\u00e9sum\u00e9.txt"]);
  expect(Buffer.from(await readFolderFile(files[0]?.place ?? "")).toString()).toBe("hello");
});

const link = "is a link; put a copy of what it leads to in its place";
test.each<[string, () => void, string]>([
  ["nothing", () => undefined, "it is empty; a package has one file at least"],
  ["hidden files only", () => write(".env"), "it is empty; a package has one file at least"],
  ["a link to a file", () => symlinkSync("/etc/passwd", join(at, "data")), `"data" ${link}`],
  ["a link to a folder", () => symlinkSync("/etc", join(at, "etc")), `"etc" ${link}`],
  ["a link to itself", () => symlinkSync("x", join(at, "x")), `"x" ${link}`],
  ["a pipe", () => execFileSync("mkfifo", [join(at, "pipe")]), '"pipe" is no ordinary file'],
  [
    "two names that differ by case",
    () => ["a.txt", "A.txt"].forEach((name) => write(name)),
    '"a.txt" differs from "A.txt" by case or likeness alone',
  ],
  ["two spellings of one name", () => ["\u00e9", "e\u0301"].forEach((name) => write(name)), '"\u00e9" is there twice'],
  ["a name with a line feed", () => write("a\nb"), '"a\\nb" holds a character that cannot be seen'],
  ["a name with a colon", () => write("a:b"), '"a:b" holds a backslash or a colon'],
  [
    "a name that is no text",
    () => writeFileSync(Buffer.concat([Buffer.from(`${at}/`), Buffer.from([0x61, 0xff])]), ""),
    '"/a\ufffd" has a name that is no UTF-8',
  ],
  [
    "a file that is too large, without a byte on the disk",
    () => {
      write("big");
      truncateSync(join(at, "big"), 33_554_433);
    },
    '"big" has 33554433 bytes; at most 33554432 are taken',
  ],
  [
    "too much together",
    () => {
      for (const name of ["a", "b", "c", "d", "e"]) {
        write(name);
        truncateSync(join(at, name), 33_000_000);
      }
    },
    "it holds 165000000 bytes; at most 134217728 are taken",
  ],
  [
    "a folder that is too deep",
    () => mkdirSync(join(at, "d/".repeat(32)), { recursive: true }),
    `"${"d/".repeat(31)}d" is deeper than 32 folders`,
  ],
])("%s", async (_, make, reason) => {
  make();
  const refusal = await readToolFolder(at).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(NoPackage);
  expect((refusal as NoPackage).message).toBe(reason);
});

test("a file that became a link since is not followed", async () => {
  write("a");
  const { files } = await readToolFolder(at);
  rmSync(join(at, "a"));
  symlinkSync("/etc/hostname", join(at, "a"));
  await expect(readFolderFile(files[0]?.place ?? "")).rejects.toThrow("ELOOP");
});

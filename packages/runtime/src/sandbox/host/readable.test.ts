// Code is brought to where everybody can read it and nobody can change it, and left in place where that is so already.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ReadableStore } from "./readable.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "signalbox-readable-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mode = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

function closedPackage(): string {
  const path = join(folder, "package");
  mkdirSync(join(path, "lib"), { recursive: true, mode: 0o700 });
  writeFileSync(join(path, "main"), "run", { mode: 0o700 });
  writeFileSync(join(path, "lib", "data"), "data", { mode: 0o600 });
  symlinkSync("/etc/shadow", join(path, "link"));
  chmodSync(join(path, "main"), 0o4700);
  return path;
}

test("root: a package becomes a copy with open modes, without set-user bits, its links as they are", () => {
  const store = new ReadableStore(join(folder, "store"), true);
  const copy = store.package(closedPackage(), "sha256:1");
  expect(copy.startsWith(join(folder, "store"))).toBe(true);
  expect(["", "main", "lib", "lib/data"].map((name) => mode(join(copy, name)))).toEqual(["555", "555", "555", "444"]);
  expect(readFileSync(join(copy, "lib/data"), "utf8")).toBe("data");
  expect(readlinkSync(join(copy, "link"))).toBe("/etc/shadow");
});

test("root: one copy for one digest, whatever happens to its source", () => {
  const store = new ReadableStore(join(folder, "store"), true);
  const path = closedPackage();
  const copy = store.package(path, "sha256:1");
  writeFileSync(join(path, "main"), "changed");
  expect(store.package(path, "sha256:1")).toBe(copy);
  expect(readFileSync(join(copy, "main"), "utf8")).toBe("run");
  expect(store.package(path, "sha256:2")).not.toBe(copy);
});

test("root: a program stays where everybody reaches it, and is copied where not", () => {
  const store = new ReadableStore(join(folder, "store"), true);
  expect(store.program("/bin/sh")).toMatch(/^\/(usr\/)?bin\//);
  const closed = join(folder, "program");
  writeFileSync(closed, "x", { mode: 0o755 });
  // mkdtemp made the folder 0700.
  const copy = store.program(closed);
  expect(copy).not.toBe(closed);
  expect(mode(copy)).toBe("555");
});

test("an ordinary user's boxes read in place", () => {
  const store = new ReadableStore(join(folder, "store"), false);
  const path = closedPackage();
  expect(store.package(path, "sha256:1")).toBe(path);
  expect(store.program(join(path, "main"))).toBe(join(path, "main"));
});

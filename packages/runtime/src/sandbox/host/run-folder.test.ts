// Names tell whether their owner lives, and only what dead owners left is removed.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processId } from "./processes.ts";
import { makeRunFolder, newOwnerName, ownerOf, reap } from "./run-folder.ts";

test("a name holds the number and the start of its process", () => {
  const own = processId(process.pid);
  expect(ownerOf(newOwnerName())).toEqual(own);
  expect(newOwnerName()).not.toBe(newOwnerName());
  for (const name of ["uids", "signalbox-1", "signalbox-1-2", "signalbox-x-1-1", "other-1-2-3"])
    expect(ownerOf(name)).toBeUndefined();
});

test("a run folder that others could have made or may write to is refused", () => {
  const root = mkdtempSync(join(tmpdir(), "signalbox-run-"));
  makeRunFolder(root, "signalbox-1-1-1");
  chmodSync(root, 0o777);
  expect(() => makeRunFolder(root, "signalbox-1-1-2")).toThrow(/not a folder of this user alone/);
  symlinkSync(root, `${root}-link`);
  chmodSync(root, 0o711);
  expect(() => makeRunFolder(`${root}-link`, "signalbox-1-1-3")).toThrow(/not a folder of this user alone/);
  rmSync(`${root}-link`);
  rmSync(root, { recursive: true });
});

test("users of dead owners' boxes are free again, of living ones not", () => {
  const root = mkdtempSync(join(tmpdir(), "signalbox-reap-"));
  const taken = { "1879048192": newOwnerName(), "1879048193": "signalbox-4194303-1-1" };
  for (const [uid, owner] of Object.entries(taken)) mkdirSync(join(root, "uids", uid, owner), { recursive: true });
  reap(root, { mode: "none", reason: "" });
  expect(readdirSync(join(root, "uids"))).toEqual(["1879048192"]);
  rmSync(root, { recursive: true });
});

test("folders of the dead go, of the living and of strangers stay; a number that came again is no life", () => {
  const root = mkdtempSync(join(tmpdir(), "signalbox-reap-"));
  const living = newOwnerName();
  const dead = "signalbox-4194303-1-1";
  const cameAgain = `signalbox-${process.pid}-1-1`;
  for (const name of [living, dead, cameAgain, "uids"]) mkdirSync(join(root, name, "boxes", "b1"), { recursive: true });
  expect(reap(root, { mode: "none", reason: "" }).toSorted()).toEqual([dead, cameAgain].toSorted());
  expect([living, dead, cameAgain, "uids"].map((name) => existsSync(join(root, name)))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  rmSync(root, { recursive: true });
});

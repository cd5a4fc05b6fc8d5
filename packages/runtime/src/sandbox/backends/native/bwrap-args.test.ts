// Specs and paths that could reach out of a box are refused before anything is made.
import { expect, test } from "vitest";
import type { BoxSpec } from "../../types.ts";
import { bwrapArgs, isInnerPath, specProblems, type BoxParts } from "./bwrap-args.ts";

const spec = {
  boxId: "b1",
  tenant: "t",
  tool: "x",
  version: "1.0.0",
  runtime: "exec",
  entry: "bin/main",
  package: { path: "/p", digest: "d" },
  env: { A: "b" },
  egressSocket: null,
} as unknown as BoxSpec;
const parts: BoxParts = {
  disk: "/d",
  starters: "/s",
  etc: "/e",
  etcNames: ["passwd"],
  package: "/store/p",
  guest: null,
  node: null,
  egress: null,
  files: [{ path: "in/a", hostPath: "/h/a" }],
  systemLinks: { bin: "usr/bin" },
  systemFolders: [],
};

test.each(["a", "a/b", "a.b", "..a", "a..b/c"])("%j stays inside", (path) => expect(isInnerPath(path)).toBe(true));
test.each(["", "/a", "..", "a/../b", "./a", "a//b", "a/", "a\0b"])("%j does not", (path) =>
  expect(isInnerPath(path)).toBe(false),
);

test.each<[Partial<BoxSpec>, RegExp]>([
  [{ boxId: "../x" }, /boxId/],
  [{ boxId: "" }, /boxId/],
  [{ entry: "../main" }, /entry/],
  [{ entry: "/bin/sh" }, /entry/],
  [{ package: null }, /needs a package/],
  [{ env: { "A=B": "" } }, /no name of a variable/],
  [{ env: { A: "x\0--bind" } }, /zero byte/],
])("%j is refused", (wrong, problem) => {
  expect(specProblems({ ...spec, ...wrong }).join("; ")).toMatch(problem);
  expect(specProblems(spec)).toEqual([]);
});

test("what is bound is read-only but for the box's own disk; the network is never shared; no capability is kept", () => {
  const args = bwrapArgs(spec, parts);
  const writable = args.flatMap((arg, at) => (arg === "--bind" ? [args[at + 2]] : []));
  expect(writable).toEqual(["/dev/shm", "/tmp", "/workspace"]);
  for (const flag of ["--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"])
    expect(args).toContain(flag);
  expect(args).not.toContain("--share-net");
  expect(args.join(" ")).toContain("--cap-drop ALL");
  expect(args.join(" ")).toContain("--ro-bind /h/a /workspace/in/a");
  expect(args.join(" ")).not.toContain("egress");
});

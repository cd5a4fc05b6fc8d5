// Which box a call gets: rank by manifest, provenance and rules, against what is there; the table is written out by hand.
import { SignalboxError } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { manifest } from "../../../../test/support/corridor.ts";
import type { Obligations } from "../policy/types.ts";
import { readManifest } from "../registry/manifest.ts";
import type { ToolVersion } from "../registry/types.ts";
import { chooseBox, fitsBox, type BoxOrder, type BoxWish } from "./boxes.ts";

const MiB = 1_048_576;
type Trust = ToolVersion["trust"];

function toolOf(executor: object, more: Partial<ToolVersion> = {}, spec: object = {}): ToolVersion {
  const read = readManifest(manifest({ spec: { executor, ...spec } }));
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const row = {
    tenant: "acme",
    tool: "pay",
    version: "1.0.0",
    spec: read.spec,
    metadata: read.metadata,
    manifestDigest: "",
  };
  return {
    ...row,
    packageDigest: "sha256:aa",
    trust: "first_party",
    status: "active",
    publishedAt: 1,
    publishedBy: "user:own",
    ...more,
  };
}

const codeRun = (): ToolVersion =>
  toolOf({ type: "sandbox", runtime: "js", entry: "code", min: 40 }, { tenant: "platform", tool: "code.run" });

interface Case {
  readonly runtime?: string;
  readonly min?: number;
  readonly trust?: Trust;
  readonly sandbox?: Obligations["sandbox"];
}

const wishOf = (version: ToolVersion, more: Partial<BoxWish> = {}): BoxWish => ({
  version,
  obligations: { limits: {} },
  args: {},
  lowered: new Map(),
  ...more,
});

function choose({ runtime = "node", min, trust = "first_party", sandbox }: Case, offered: readonly string[]) {
  const version = toolOf({ type: "sandbox", runtime, entry: "main", ...(min === undefined ? {} : { min }) }, { trust });
  const obligations: Obligations = { limits: {}, ...(sandbox === undefined ? {} : { sandbox }) };
  return chooseBox(wishOf(version, { obligations }), new Set(offered));
}

const all = ["native", "container", "gvisor", "wasm", "microvm"];

test.each<[string, Case, readonly string[], string]>([
  ["first party: the weakest there is", {}, all, "native"],
  ["first party: what is there, where the weakest is not", {}, ["microvm", "gvisor"], "gvisor"],
  ["python and exec run where node does", { runtime: "python" }, ["native", "wasm"], "native"],
  ["exec", { runtime: "exec" }, ["wasm", "native"], "native"],
  ["a guest runs in wasm alone, whatever else is there", { runtime: "js" }, all, "wasm"],
  ["a module too", { runtime: "wasm" }, all, "wasm"],
  ["verified: a container at least", { trust: "verified" }, all, "container"],
  ["verified: or more", { trust: "verified" }, ["native", "microvm"], "microvm"],
  ["untrusted: 40", { trust: "untrusted" }, all, "gvisor"],
  ["untrusted guest: wasm has 40", { trust: "untrusted", runtime: "js" }, all, "wasm"],
  ["min of the manifest", { min: 30 }, all, "container"],
  ["a rank between two is met by the next one", { min: 11 }, all, "container"],
  ["min 50", { min: 50 }, all, "microvm"],
  ["a min below what provenance demands lowers nothing", { min: 10, trust: "untrusted" }, all, "gvisor"],
  ["provenance below min lowers nothing", { min: 50, trust: "verified" }, all, "microvm"],
  ["a rule's backend is a rank", { sandbox: "container" }, all, "container"],
  ["a rule's backend is met by a stronger one", { sandbox: "container" }, ["native", "microvm"], "microvm"],
  ["a rule's weak backend lowers nothing", { sandbox: "native", trust: "verified" }, all, "container"],
  ["the highest of all three counts", { sandbox: "gvisor", min: 30, trust: "verified" }, all, "gvisor"],
  ["a rule's wasm is rank 40 for a process", { sandbox: "wasm" }, ["native", "wasm", "gvisor"], "gvisor"],
])("%s", (_, asked, offered, expected) => {
  expect(choose(asked, offered)?.sandbox).toBe(expected);
});

test.each<[string, Case, readonly string[], string, object]>([
  [
    "nothing is there",
    {},
    [],
    "pay@1.0.0 needs one of native, container, gvisor, microvm; no sandbox worker with a box that works is connected",
    { required_rank: 10, backends: [] },
  ],
  [
    "only weaker ones",
    { trust: "untrusted" },
    ["native"],
    "pay@1.0.0 needs one of gvisor, microvm; here there is native",
    { required_rank: 40, backends: ["native"], able: ["gvisor", "microvm"] },
  ],
  [
    "wasm runs no process, however strong it is",
    { trust: "verified", runtime: "python" },
    ["wasm", "native"],
    "pay@1.0.0 needs one of container, gvisor, microvm; here there is native, wasm",
    { required_rank: 30 },
  ],
  [
    "native runs no guest",
    { runtime: "js" },
    ["native"],
    "pay@1.0.0 needs one of wasm; here there is native",
    { required_rank: 10, able: ["wasm"] },
  ],
  [
    "a rank that no backend for guests has",
    { runtime: "js", min: 50 },
    all,
    "pay@1.0.0 needs a box of rank 50, and nothing runs js in one; here there is container, gvisor, microvm, native, wasm",
    { required_rank: 50, able: [] },
  ],
])("503 otherwise, and what is missing: %s", (_, asked, offered, message, details) => {
  const error = caught(() => choose(asked, offered));
  expect(error).toMatchObject({
    code: "sandbox_unavailable",
    message: `${message}. 'signalbox doctor' says what this machine lacks, 'signalbox worker' connects one`,
  });
  expect(error.details).toMatchObject({ reason: "no_capable_worker", ...details });
});

test("WRK-02: a floor of gVisor: of native and microVM it is the microVM, and a container alone is not enough", () => {
  const floor: Case = { min: 40 };
  expect(choose(floor, ["native", "microvm"])?.sandbox).toBe("microvm");
  expect(caught(() => choose(floor, ["container"]))).toMatchObject({ code: "sandbox_unavailable", details: { reason: "no_capable_worker" } });
});

function caught(act: () => unknown): SignalboxError {
  try {
    act();
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test.each<[string, object, readonly string[]]>([
  ["network", { network: { allow: ["a.example:443"] } }, ["network.allow"]],
  ["paths of the host", { filesystem: { read: ["/srv"] } }, ["filesystem"]],
  ["secrets", { secrets: { KEY: "secret://acme/key" } }, ["secrets"]],
])("what boxes cannot give yet is refused by name: %s", (_, spec, unserved) => {
  const version = toolOf({ type: "sandbox", runtime: "node", entry: "main" }, {}, spec);
  const error = caught(() => chooseBox(wishOf(version), new Set(all)));
  expect(error).toMatchObject({ code: "sandbox_unavailable", retryable: false, details: { unserved } });
});

test("a tool of an application's worker has no box", () => {
  expect(chooseBox(wishOf(toolOf({ type: "worker" })), new Set(all))).toBeNull();
});

const orderOf = (wish: BoxWish, offered: readonly string[]): BoxOrder =>
  JSON.parse(chooseBox(wish, new Set(offered))?.boxJson ?? "null") as BoxOrder;

test("an order holds all that the worker needs; each limit is the least that manifest and rules say", () => {
  const executor = { type: "sandbox", runtime: "exec", entry: "go.sh", result: "stdout" };
  const spec = { limits: { memory_bytes: "64Mi", pids: 8 }, grace: "2s", env: { A: "b" }, events: ["seen"] };
  const obligations: Obligations = { limits: { memoryBytes: 32 * MiB, pids: 100, cpuSeconds: 2 } };
  expect(orderOf(wishOf(toolOf(executor, {}, spec), { obligations }), ["native"])).toEqual({
    backend: "native",
    runtime: "exec",
    entry: "go.sh",
    packageDigest: "sha256:aa",
    toolTenant: "acme",
    graceMs: 2_000,
    resultBytes: MiB,
    resultFrom: "stdout",
    events: ["seen"],
    report: "result",
    limits: {
      cpu: 1,
      cpuSeconds: 2,
      memoryBytes: 32 * MiB,
      diskBytes: 64 * MiB,
      pids: 8,
      fds: 256,
      outputBytes: MiB,
      egressBytes: 16 * MiB,
    },
    env: { A: "b" },
  });
});

const lowered = new Map([["code.run", 10]]);

test("code.run is JavaScript in a guest without its package; Python starts another program, in a box for processes", () => {
  expect(orderOf(wishOf(codeRun(), { args: { language: "javascript" } }), all)).toMatchObject({
    backend: "wasm",
    runtime: "js",
    entry: "code",
    packageDigest: null,
    report: "run",
  });
  expect(orderOf(wishOf(codeRun(), { args: { language: "python" } }), all)).toMatchObject({
    backend: "gvisor",
    runtime: "python",
    entry: "main.py",
    packageDigest: "sha256:aa",
    report: "run",
  });
});

test("the min of a built-in is 40 until an operator lowers it by name; rules and provenance stay", () => {
  const args = { language: "python" };
  expect(caught(() => chooseBox(wishOf(codeRun(), { args }), new Set(["native", "wasm"]))).code).toBe(
    "sandbox_unavailable",
  );
  expect(orderOf(wishOf(codeRun(), { args, lowered }), ["native", "wasm"]).backend).toBe("native");
  const obligations: Obligations = { limits: {}, sandbox: "gvisor" };
  expect(
    caught(() => chooseBox(wishOf(codeRun(), { args, lowered, obligations }), new Set(["native"]))).details,
  ).toMatchObject({ required_rank: 40 });
  // What needs no switch has nothing lowered.
  expect(
    caught(() => chooseBox(wishOf(codeRun(), { args: { language: "javascript" }, lowered }), new Set(["native"])))
      .details,
  ).toMatchObject({ required_rank: 40 });
  expect(
    caught(() => chooseBox(wishOf({ ...codeRun(), trust: "verified" }, { args, lowered }), new Set(["native"])))
      .details,
  ).toMatchObject({ required_rank: 30 });
});

test("a tenant's own tool of that name is nothing special", () => {
  const own = { ...codeRun(), tenant: "acme" };
  expect(orderOf(wishOf(own, { args: { language: "python" }, lowered }), all)).toMatchObject({
    backend: "wasm",
    runtime: "js",
    packageDigest: "sha256:aa",
    report: "result",
  });
});

test("changed arguments fit the box of a call, or are a new call", () => {
  const obligations: Obligations = { limits: {} };
  const wish = wishOf(codeRun(), { args: { language: "javascript" }, obligations, lowered });
  const admitted = chooseBox(wish, new Set(all));
  if (admitted === null) throw new Error("no box");
  expect(fitsBox(admitted, { ...wish, args: { language: "javascript", code: "1" } })).toBe(true);
  expect(fitsBox(admitted, { ...wish, args: { language: "python" } })).toBe(false);
  expect(fitsBox(admitted, { ...wish, obligations: { limits: { memoryBytes: MiB } } })).toBe(false);
  expect(fitsBox(admitted, { ...wish, obligations: { limits: {}, sandbox: "microvm" } })).toBe(false);
  expect(fitsBox({ sandbox: null, boxJson: null }, wishOf(toolOf({ type: "worker" })))).toBe(true);
});

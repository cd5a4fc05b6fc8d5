// What a guest is asked for becomes a wider box around it, and what the box saw becomes the tool's own end.
import { describe, expect, test } from "vitest";
import { readOrder } from "../../guest/order.ts";
import type { BoxEnd, BoxResult, BoxSpec } from "../../types.ts";
import { guestProblems, guestResult, outerSpec } from "./order.ts";

const MiB = 1_048_576;
const spec: BoxSpec = {
  boxId: "b1",
  tenant: "acme",
  tool: "a.b",
  version: "1.0.0",
  runtime: "js",
  entry: "code",
  package: null,
  limits: {
    cpu: 1,
    cpuSeconds: 5,
    memoryBytes: 32 * MiB,
    diskBytes: MiB,
    pids: 1,
    fds: 16,
    timeoutMs: 1_000,
    graceMs: 100,
    outputBytes: 1_024,
    resultBytes: 2_048,
    egressBytes: 0,
  },
  env: { NODE_OPTIONS: "--inspect" },
  egressSocket: null,
};

test("the box is wider by what Node needs, and the tool's variables are not its own", () => {
  const { limits, env, ...rest } = outerSpec(spec, "n1");
  expect(rest).toMatchObject({ boxId: "b1", tenant: "acme", runtime: "js", entry: "code", package: null });
  expect(limits).toEqual({ ...spec.limits, memoryBytes: 224 * MiB, pids: 25, fds: 48 });
  expect(Object.keys(env).toSorted()).toEqual(["SIGNALBOX_GUEST", "TZ"]);
  expect(readOrder(env["SIGNALBOX_GUEST"] ?? "")).toEqual({
    guest: "js",
    entry: "code",
    packageRoot: null,
    workspaceRoot: "/workspace",
    nonce: "n1",
    env: { NODE_OPTIONS: "--inspect" },
    memoryBytes: 32 * MiB,
    timeoutMs: 1_000,
    resultBytes: 2_048,
    runs: 1,
  });
});

test("a module's order names its package, and never more memory than it can address", () => {
  const big = { ...spec.limits, memoryBytes: 8_192 * MiB };
  const packaged = {
    ...spec,
    runtime: "wasm",
    entry: "t.wasm",
    package: { path: "/p", digest: "d" },
    limits: big,
  } as const;
  expect(readOrder(outerSpec(packaged, "n1").env["SIGNALBOX_GUEST"] ?? "")).toMatchObject({
    guest: "wasi",
    packageRoot: "/package",
    memoryBytes: 2_048 * MiB,
  });
});

describe("the end is", () => {
  const usage = { startMs: 0, durationMs: 0, cpuMs: 0, peakMemoryBytes: null, egressBytes: 0 };
  const seen = (end: BoxEnd, stderrTail = ""): BoxResult => ({
    end,
    stderrTail,
    resultText: null,
    truncated: [],
    usage,
  });
  const overOutput = { reason: "exceeded", resource: "output", limit: 1, observed: 2 } as const;
  const heap = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory";

  test.each<[string, BoxResult, Parameters<typeof guestResult>[1], BoxEnd]>([
    ["an exit", seen({ reason: "exited", code: 7 }), null, { reason: "exited", code: 7 }],
    ["what the guest told", seen({ reason: "exited", code: 1 }), overOutput, overOutput],
    ["what ended the box before that", seen({ reason: "cancelled" }), { reason: "timeout" }, { reason: "cancelled" }],
    [
      "a program of ours that broke: nothing is known",
      seen({ reason: "exited", code: 1 }),
      { reason: "broken", message: "oh" },
      { reason: "lost", message: "the guest program failed: oh" },
    ],
    [
      "memory, by the tool's limit and not by the box's",
      seen({ reason: "exceeded", resource: "memory", limit: 224 * MiB, observed: 230 * MiB }),
      null,
      { reason: "exceeded", resource: "memory", limit: 32 * MiB, observed: 230 * MiB },
    ],
    [
      "memory, when the host's own heap is full",
      seen({ reason: "crashed", signal: "SIGABRT" }, heap),
      null,
      { reason: "exceeded", resource: "memory", limit: 32 * MiB, observed: 32 * MiB },
    ],
    ["a crash", seen({ reason: "crashed", signal: "SIGSEGV" }), null, { reason: "crashed", signal: "SIGSEGV" }],
    ["an exit, whatever it printed", seen({ reason: "exited", code: 1 }, heap), null, { reason: "exited", code: 1 }],
  ])("%s", (_, result, told, end) => {
    expect(guestResult(result, told, spec.limits).end).toEqual(end);
  });
});

test("limits that are none are refused before the outer box's needs hide them", () => {
  expect(guestProblems(spec)).toEqual([]);
  const limits = { ...spec.limits, pids: 0, memoryBytes: -1, cpuSeconds: Number.NaN };
  expect(guestProblems({ ...spec, runtime: "wasm", entry: "t.wasm", package: { path: "/p", digest: "d" }, limits })).toEqual([
    "memoryBytes must be a whole number above 0",
    "pids must be a whole number above 0",
    "cpuSeconds must be above 0",
  ]);
});

// Ends are told by their first reason and true cause.
import { describe, expect, test } from "vitest";
import { breachOf, classify, endOfCode, type Counted } from "./outcome.ts";
import type { BoxEnd, BoxLimits } from "./types.ts";

const limits: BoxLimits = {
  cpu: 1,
  cpuSeconds: 2,
  memoryBytes: 1_000,
  diskBytes: 500,
  pids: 10,
  fds: 20,
  timeoutMs: 1_000,
  graceMs: 0,
  outputBytes: 1_000,
  resultBytes: 1_000,
  egressBytes: 0,
};
const quiet: Counted = {
  oomKills: 0,
  memoryBytes: null,
  peakMemoryBytes: 900,
  pidsRefused: 0,
  pids: null,
  cpuMs: 1_999,
  diskUsedBytes: 500,
  fds: 20,
};

describe("a breach", () => {
  test.each<[Partial<Counted>, BoxEnd | undefined]>([
    [{}, undefined],
    [{ oomKills: 1 }, { reason: "exceeded", resource: "memory", limit: 1_000, observed: 1_000 }],
    [
      { oomKills: 1, peakMemoryBytes: 1_500 },
      { reason: "exceeded", resource: "memory", limit: 1_000, observed: 1_500 },
    ],
    [{ memoryBytes: 1_001 }, { reason: "exceeded", resource: "memory", limit: 1_000, observed: 1_001 }],
    [{ memoryBytes: 1_000 }, undefined],
    [{ pidsRefused: 3 }, { reason: "exceeded", resource: "pids", limit: 10, observed: 11 }],
    [{ pids: 11 }, { reason: "exceeded", resource: "pids", limit: 10, observed: 11 }],
    [{ pids: 10 }, undefined],
    [{ cpuMs: 2_100 }, { reason: "exceeded", resource: "cpu", limit: 2, observed: 2.1 }],
    [{ fds: 21 }, { reason: "exceeded", resource: "fds", limit: 20, observed: 21 }],
    [{ diskUsedBytes: 501 }, { reason: "exceeded", resource: "disk", limit: 500, observed: 501 }],
    [
      { diskUsedBytes: 501, oomKills: 1, pidsRefused: 1 },
      { reason: "exceeded", resource: "disk", limit: 500, observed: 501 },
    ],
  ])("%j", (seen, end) => {
    expect(breachOf({ ...quiet, ...seen }, limits)).toEqual(end);
  });
});

test.each<[number, BoxEnd]>([
  [0, { reason: "exited", code: 0 }],
  [1, { reason: "exited", code: 1 }],
  [128, { reason: "exited", code: 128 }],
  [137, { reason: "crashed", signal: "SIGKILL" }],
  [139, { reason: "crashed", signal: "SIGSEGV" }],
  [143, { reason: "crashed", signal: "SIGTERM" }],
  [159, { reason: "crashed", signal: "SIGSYS" }],
  [160, { reason: "exited", code: 160 }],
  [255, { reason: "exited", code: 255 }],
])("code %i", (code, end) => {
  expect(endOfCode(code)).toEqual(end);
});

describe("the first reason wins", () => {
  const finish = { claimed: undefined, code: 0, counted: quiet, limits, lostMessage: "gone" };
  test("a timeout stays one, whatever the tool says and the kernel counts", () => {
    const counted = { ...quiet, oomKills: 2 };
    expect(classify({ ...finish, claimed: { reason: "timeout" }, counted })).toEqual({ reason: "timeout" });
  });
  test("a count outranks a good exit", () => {
    expect(classify({ ...finish, counted: { ...quiet, oomKills: 1 } })).toMatchObject({ resource: "memory" });
  });
  test("a box that told nothing is lost, and no success", () => {
    expect(classify({ ...finish, code: null })).toEqual({ reason: "lost", message: "gone" });
  });
  test("all well", () => {
    expect(classify(finish)).toEqual({ reason: "exited", code: 0 });
  });
});

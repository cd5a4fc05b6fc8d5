// Limits come to the numbers that the mechanisms take, and limits without sense are named.
import { expect, test } from "vitest";
import { heldLimits, limitProblems } from "./limits.ts";
import type { BoxLimits } from "./types.ts";

const limits: BoxLimits = {
  cpu: 0.5,
  cpuSeconds: 2.5,
  memoryBytes: 64 * 1_048_576,
  diskBytes: 1_000_000,
  pids: 10,
  fds: 100,
  timeoutMs: 1_000,
  graceMs: 0,
  outputBytes: 1_000,
  resultBytes: 1_000,
  egressBytes: 0,
};

test("each limit in the unit of what holds it", () => {
  expect(heldLimits(limits)).toEqual({
    pidsMax: 12,
    // 245 pages hold 1 000 000 bytes, and one more tells a breach from a full disk.
    diskBytes: 1_007_616,
    chargedBytesMax: 68_116_480,
    cpuQuotaUs: 50_000,
    cpuPeriodUs: 100_000,
    fdsMax: 101,
    cpuSecondsPerProcess: 4,
    outputBytesKill: 16_000,
  });
});

test("the bridge to the egress gateway takes nothing of the tool's processes", () => {
  expect(heldLimits(limits, true).pidsMax).toBe(28);
});

test("the kernel takes no quota under a millisecond", () => {
  expect(heldLimits({ ...limits, cpu: 0.001 }).cpuQuotaUs).toBe(1_000);
});

test.each<[Partial<BoxLimits>, string]>([
  [{ pids: 0 }, "pids must be a whole number above 0"],
  [{ diskBytes: 1.5 }, "diskBytes must be a whole number above 0"],
  [{ timeoutMs: Number.NaN }, "timeoutMs must be a whole number above 0"],
  [{ graceMs: -1 }, "graceMs must be a whole number, 0 or more"],
  [{ cpu: 0 }, "cpu must be above 0"],
  [{ cpuSeconds: Infinity }, "cpuSeconds must be above 0"],
  [{ memoryBytes: 1_000_000 }, "memoryBytes must be at least 8388608: less does not start a box"],
  [{ fds: 3 }, "fds must be at least 16: less does not start a tool"],
])("%j is refused", (wrong, problem) => {
  expect(limitProblems({ ...limits, ...wrong })).toEqual([problem]);
  expect(limitProblems(limits)).toEqual([]);
});

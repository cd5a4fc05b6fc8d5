// What a box's limits come to in the units of the mechanisms that hold them.
import type { BoxLimits } from "./types.ts";

/** Processes of ours that live in every box beside the tool: bubblewrap outside, and process 1 inside. */
const ownPids = 2;
const bridgePids = 16;
const pageBytes = 4_096;
const cpuPeriodUs = 100_000;
/** The kernel refuses less. */
const cpuQuotaUsMin = 1_000;
/** Bubblewrap, process 1 and what starts the tool need this much before the tool has a byte. */
const memoryBytesMin = 8 * 1_024 * 1_024;
/** Standard streams, result and events; and the loader needs some to start anything. */
const fdsMin = 16;
/** How often the limit of a stream may be written before the tool is killed for it. */
const floodFactor = 16;

export interface HeldLimits {
  readonly pidsMax: number;
  /**
   * Of all that the kernel charges: the box's files lie in memory, so both limits together. What is over `memoryBytes`
   * without files is found by looking.
   */
  readonly chargedBytesMax: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  /** One page more than the limit: a full file system is then a breach, and never just a full one. */
  readonly diskBytes: number;
  /** One more than the limit, for the same reason. */
  readonly fdsMax: number;
  /** A backstop for one process; the whole tree's time is added up elsewhere. */
  readonly cpuSecondsPerProcess: number;
  readonly outputBytesKill: number;
}

/** @param bridged the box has a bridge to its egress gateway, which takes a process, and one more for each connection */
export function heldLimits(limits: BoxLimits, bridged = false): HeldLimits {
  const diskBytes = Math.ceil(limits.diskBytes / pageBytes) * pageBytes + pageBytes;
  return {
    pidsMax: limits.pids + ownPids + (bridged ? bridgePids : 0),
    chargedBytesMax: limits.memoryBytes + diskBytes,
    cpuQuotaUs: Math.max(cpuQuotaUsMin, Math.round(limits.cpu * cpuPeriodUs)),
    cpuPeriodUs,
    diskBytes,
    fdsMax: limits.fds + 1,
    cpuSecondsPerProcess: Math.ceil(limits.cpuSeconds) + 1,
    outputBytesKill: limits.outputBytes * floodFactor,
  };
}

/** What is wrong with limits that somebody asks for, in words; empty = good. */
export function limitProblems(limits: BoxLimits): readonly string[] {
  const problems = [...countProblems(limits)];
  if (limits.memoryBytes > 0 && limits.memoryBytes < memoryBytesMin)
    problems.push(`memoryBytes must be at least ${memoryBytesMin}: less does not start a box`);
  if (limits.fds > 0 && limits.fds < fdsMin)
    problems.push(`fds must be at least ${fdsMin}: less does not start a tool`);
  return problems;
}

/** The same without what a process needs to start: a guest needs less. */
export function countProblems(limits: BoxLimits): readonly string[] {
  const whole = ["memoryBytes", "diskBytes", "pids", "fds", "timeoutMs", "outputBytes", "resultBytes"] as const;
  const problems = whole
    .filter((name) => !Number.isSafeInteger(limits[name]) || limits[name] <= 0)
    .map((name) => `${name} must be a whole number above 0`);
  for (const name of ["graceMs", "egressBytes"] as const)
    if (!Number.isSafeInteger(limits[name]) || limits[name] < 0)
      problems.push(`${name} must be a whole number, 0 or more`);
  for (const name of ["cpu", "cpuSeconds"] as const)
    if (!(Number.isFinite(limits[name]) && limits[name] > 0)) problems.push(`${name} must be above 0`);
  return problems;
}

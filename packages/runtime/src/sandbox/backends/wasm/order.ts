// Turns what a box is asked for into what the guest program is told, and into the box that holds the guest.
import { codeEntry, jsMemoryBytesMin, orderText, orderVariable, type GuestOrder } from "../../guest/order.ts";
import { countProblems } from "../../limits.ts";
import type { BoxEnd, BoxLimits, BoxResult, BoxSpec } from "../../types.ts";
import type { ToldEnd } from "../../guest/end.ts";

/** What Node takes beside the guest's own memory: its heap, the interpreter's code, threads, files. */
const own = { memoryBytes: 192 * 1024 * 1024, pids: 24, fds: 32 } as const;

/** What is wrong with a spec for a guest, in words; empty = good. */
export function guestProblems(spec: BoxSpec): readonly string[] {
  // Here, before the outer box's own needs are added to them.
  const problems: string[] = [...countProblems(spec.limits)];
  if (spec.runtime !== "js" && spec.runtime !== "wasm")
    problems.push(`a guest has the runtime js or wasm, not ${spec.runtime}`);
  const isCode = spec.runtime === "js" && spec.entry === codeEntry;
  if (!isCode && spec.package === null) problems.push(`the entry ${JSON.stringify(spec.entry)} needs a package`);
  if (spec.egressSocket !== null) problems.push("a guest has no network: a tool that needs one needs another backend");
  if (spec.runtime === "js" && spec.limits.memoryBytes < jsMemoryBytesMin) {
    problems.push(`memoryBytes must be at least ${jsMemoryBytesMin}: less does not start the JavaScript guest`);
  }
  return problems;
}

export interface Roots {
  readonly packageRoot: string | null;
  readonly workspaceRoot: string;
}

/** Where a box shows its folders. */
export function boxedRoots(spec: BoxSpec): Roots {
  return { packageRoot: spec.package === null ? null : "/package", workspaceRoot: "/workspace" };
}

/** The box around the guest: the second wall, wider by what Node itself needs. */
export function outerSpec(spec: BoxSpec, nonce: string): BoxSpec {
  const { limits } = spec;
  const order: GuestOrder = {
    guest: spec.runtime === "wasm" ? "wasi" : "js",
    entry: spec.entry,
    ...boxedRoots(spec),
    nonce,
    env: spec.env,
    memoryBytes: Math.min(limits.memoryBytes, 2 * 1024 * 1024 * 1024),
    timeoutMs: limits.timeoutMs,
    resultBytes: limits.resultBytes,
    runs: 1,
  };
  return {
    ...spec,
    env: { [orderVariable]: orderText(order), TZ: "UTC" },
    limits: {
      ...limits,
      memoryBytes: limits.memoryBytes + own.memoryBytes,
      pids: limits.pids + own.pids,
      fds: limits.fds + own.fds,
    },
  };
}

/** Node says so when its own heap is full; what a guest keeps outside its linear memory counts as its memory all the same. */
const heapFull = /JavaScript heap out of memory/;

/** The end as the tool's own: what the guest program told, where the box saw no more than an exit. */
export function guestResult(result: BoxResult, told: ToldEnd | null, limits: BoxLimits): BoxResult {
  return { ...result, end: guestEnd(result, told, limits) };
}

function guestEnd({ end, stderrTail }: BoxResult, told: ToldEnd | null, limits: BoxLimits): BoxEnd {
  if (end.reason === "exceeded" && end.resource === "memory") return overMemory(limits, end.observed);
  if (end.reason === "crashed" && heapFull.test(stderrTail)) return overMemory(limits, limits.memoryBytes);
  if (end.reason !== "exited" || told === null) return end;
  return told.reason === "broken" ? { reason: "lost", message: `the guest program failed: ${told.message}` } : told;
}

function overMemory({ memoryBytes: limit }: BoxLimits, observed: number): BoxEnd {
  return { reason: "exceeded", resource: "memory", limit, observed: Math.max(observed, limit) };
}

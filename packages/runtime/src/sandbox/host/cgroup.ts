// The control group of one box: its limits, what the kernel counted, and the kill that nothing in it survives.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HeldLimits } from "../limits.ts";
import type { CgroupLayout } from "./cgroup-layout.ts";

export interface CgroupCounts {
  readonly oomKills: number;
  readonly pidsRefused: number;
  readonly cpuMs: number;
  /** All that is charged: processes, files of the box, caches. */
  readonly chargedBytes: number;
  readonly peakBytes: number | null;
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
};
const numberIn = (path: string): number => Number(read(path) ?? 0) || 0;
/** The value behind a key in a file of `key value` lines. */
function field(path: string, key: string): number {
  const text = read(path) ?? "";
  for (const line of text.split("\n")) if (line.startsWith(`${key} `)) return Number(line.slice(key.length + 1)) || 0;
  return 0;
}

export class Cgroup {
  readonly #layout: Exclude<CgroupLayout, { mode: "none" }>;
  readonly #name: string;

  private constructor(layout: Exclude<CgroupLayout, { mode: "none" }>, name: string) {
    this.#layout = layout;
    this.#name = name;
  }

  /**
   * Makes the group, without limits as yet.
   * @throws Error when it cannot be made: then there is none
   */
  static create(layout: Exclude<CgroupLayout, { mode: "none" }>, name: string): Cgroup {
    const group = new Cgroup(layout, name);
    try {
      for (const folder of group.#folders()) mkdirSync(folder, { recursive: true });
      return group;
    } catch (error) {
      group.remove();
      throw error;
    }
  }

  #in(base: string, file: string): string {
    return join(base, this.#name, file);
  }

  #folders(): readonly string[] {
    const layout = this.#layout;
    if (layout.mode === "v2") return [join(layout.base, this.#name)];
    const bases = [
      layout.memory,
      layout.pids,
      layout.cpu,
      layout.cpuacct,
      ...(layout.kill === null ? [] : [layout.kill]),
    ];
    return [...new Set(bases)].map((base) => join(base, this.#name));
  }

  #set(base: string, file: string, value: string | number): void {
    writeFileSync(this.#in(base, file), String(value));
  }

  /** @throws Error when one of them cannot be set: nothing may run in the group then */
  limit(held: HeldLimits): void {
    const layout = this.#layout;
    if (layout.mode === "v2") {
      this.#set(layout.base, "memory.max", held.chargedBytesMax);
      this.#try(() => this.#set(layout.base, "memory.swap.max", 0));
      this.#set(layout.base, "pids.max", held.pidsMax);
      return;
    }
    this.#set(layout.memory, "memory.limit_in_bytes", held.chargedBytesMax);
    // Absent where the kernel does not account for swap.
    if (existsSync(this.#in(layout.memory, "memory.memsw.limit_in_bytes")))
      this.#set(layout.memory, "memory.memsw.limit_in_bytes", held.chargedBytesMax);
    this.#set(layout.pids, "pids.max", held.pidsMax);
  }

  /** Apart from the others: what is of ours in a box starts at full speed. */
  limitCpu(held: HeldLimits): void {
    const layout = this.#layout;
    if (layout.mode === "v2") return this.#set(layout.base, "cpu.max", `${held.cpuQuotaUs} ${held.cpuPeriodUs}`);
    this.#set(layout.cpu, "cpu.cfs_period_us", held.cpuPeriodUs);
    this.#set(layout.cpu, "cpu.cfs_quota_us", held.cpuQuotaUs);
  }

  #try(act: () => void): void {
    try {
      act();
    } catch {
      // Not on every kernel; nothing rests on it.
    }
  }

  /** A process that writes its number into each of these is held by the group, and all that it starts. */
  get entrances(): readonly string[] {
    return this.#folders().map((folder) => join(folder, "cgroup.procs"));
  }

  counts(): CgroupCounts {
    const layout = this.#layout;
    if (layout.mode === "v2") {
      const file = (name: string): string => this.#in(layout.base, name);
      return {
        oomKills: field(file("memory.events"), "oom_kill"),
        pidsRefused: field(file("pids.events"), "max"),
        cpuMs: field(file("cpu.stat"), "usage_usec") / 1_000,
        chargedBytes: numberIn(file("memory.current")),
        peakBytes: numberIn(file("memory.peak")) || null,
      };
    }
    return {
      // `memory.failcnt` counts reclaims as well, and on late kernels nothing at all.
      oomKills: field(this.#in(layout.memory, "memory.oom_control"), "oom_kill"),
      pidsRefused: field(this.#in(layout.pids, "pids.events"), "max"),
      cpuMs: numberIn(this.#in(layout.cpuacct, "cpuacct.usage")) / 1_000_000,
      chargedBytes: numberIn(this.#in(layout.memory, "memory.usage_in_bytes")),
      peakBytes: numberIn(this.#in(layout.memory, "memory.max_usage_in_bytes")) || null,
    };
  }

  /** Without the files of the box and without caches, which the kernel takes back when it needs them. */
  processBytes(): number {
    const layout = this.#layout;
    if (layout.mode === "v1") return field(this.#in(layout.memory, "memory.stat"), "total_rss");
    return field(this.#in(layout.base, "memory.stat"), "anon");
  }

  /** Processes that run in it; zombies are not among them. */
  members(): readonly number[] {
    const [folder] = this.#folders();
    return (read(join(folder ?? "", "cgroup.procs")) ?? "").split("\n").filter(Boolean).map(Number);
  }

  /** SIGKILL to all of them, by the kernel in one step where it can. */
  kill(): void {
    const base = this.#layout.mode === "v2" ? this.#layout.base : this.#layout.kill;
    if (base !== null) this.#try(() => writeFileSync(this.#in(base, "cgroup.kill"), "1"));
    for (const pid of this.members()) this.#try(() => process.kill(pid, "SIGKILL"));
  }

  /** @returns false while the kernel still holds on to it; ask again */
  remove(): boolean {
    return this.#folders().map(removeGroup).every(Boolean);
  }
}

/** Removes a group and those below it, killing what is in them; false when something is still there. */
export function removeGroup(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return true;
    for (const entry of list(folder)) removeGroup(join(folder, entry));
    for (const pid of (read(join(folder, "cgroup.procs")) ?? "").split("\n").filter(Boolean)) killQuietly(Number(pid));
    try {
      rmdirSync(folder);
      return true;
    } catch {
      return false;
    }
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

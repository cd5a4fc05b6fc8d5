// Looks at a living box: what its processes have used by now, from its control group or, without one, from each process.
import { closeSync, openSync, statfsSync } from "node:fs";
import type { Counted } from "../../outcome.ts";
import type { Cgroup } from "../../host/cgroup.ts";
import { childrenOf, openFilesOf, shareBytesOf, statOf, treeOf } from "../../host/processes.ts";
import type { BoxLimits } from "../../types.ts";

const ticksPerSecond = 100;
const pageBytes = 4_096;
/** Process 1 of the box is ours. */
const ownPids = 1;

export class Meter {
  readonly #cgroup: Cgroup | null;
  readonly #initPid: number;
  readonly #limits: BoxLimits;
  /** A handle on the box's file system, which outlives the box itself. */
  #disk: number | undefined;
  #cpuMsBefore = 0;
  #last: Counted = {
    oomKills: 0,
    memoryBytes: null,
    peakMemoryBytes: null,
    pidsRefused: 0,
    pids: null,
    cpuMs: 0,
    diskUsedBytes: null,
    fds: null,
  };

  constructor(cgroup: Cgroup | null, initPid: number, limits: BoxLimits) {
    this.#cgroup = cgroup;
    this.#initPid = initPid;
    this.#limits = limits;
    this.#disk = openSync(`/proc/${initPid}/root/workspace`, "r");
  }

  /** From here on CPU time is the tool's. */
  start(): void {
    this.#cpuMsBefore = this.#cgroup?.counts().cpuMs ?? 0;
  }

  /** @param alive false after the box's death: then only what outlives it is read, and the rest is as it was last seen */
  look(alive: boolean): Counted {
    const grouped = this.#cgroup === null ? (alive ? this.#lookAtTree() : this.#last) : this.#lookAtGroup(this.#cgroup);
    this.#last = { ...grouped, diskUsedBytes: this.#diskUsed(), fds: alive ? this.#openFiles() : this.#last.fds };
    return this.#last;
  }

  #lookAtGroup(cgroup: Cgroup): Counted {
    const { oomKills, pidsRefused, cpuMs, chargedBytes, peakBytes } = cgroup.counts();
    // The longer look only when there is something to find: this runs for every box, many times a second.
    const memoryBytes = chargedBytes > this.#limits.memoryBytes ? cgroup.processBytes() : null;
    return {
      ...this.#last,
      oomKills,
      pidsRefused,
      memoryBytes,
      peakMemoryBytes: peakBytes,
      cpuMs: cpuMs - this.#cpuMsBefore,
    };
  }

  #lookAtTree(): Counted {
    let [pids, pages, ticks] = [0, 0, 0];
    const tree = treeOf(this.#initPid);
    for (const pid of tree) {
      const stat = statOf(pid);
      if (stat === undefined) continue;
      pids += stat.threads;
      pages += stat.residentPages;
      ticks += stat.cpuTicks;
    }
    const resident = pages * pageBytes;
    // Children share most of their pages with their parents, and a plain sum counts these once for each.
    const memoryBytes =
      resident <= this.#limits.memoryBytes ? resident : tree.reduce((sum, pid) => sum + (shareBytesOf(pid) ?? 0), 0);
    return {
      ...this.#last,
      memoryBytes,
      peakMemoryBytes: Math.max(memoryBytes, this.#last.peakMemoryBytes ?? 0),
      pids: Math.max(0, pids - ownPids),
      // Of those that are gone nothing is known: the sum can only be too small.
      cpuMs: Math.max(this.#last.cpuMs, (ticks * 1_000) / ticksPerSecond),
    };
  }

  #diskUsed(): number | null {
    if (this.#disk === undefined) return this.#last.diskUsedBytes;
    const { blocks, bfree, bsize } = statfsSync(`/proc/self/fd/${this.#disk}`);
    return (blocks - bfree) * bsize;
  }

  #openFiles(): number | null {
    const [tool] = childrenOf(this.#initPid);
    return tool === undefined ? null : openFilesOf(tool);
  }

  close(): void {
    if (this.#disk !== undefined) closeSync(this.#disk);
    this.#disk = undefined;
  }
}

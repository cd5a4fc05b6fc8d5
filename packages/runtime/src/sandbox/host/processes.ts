// Reads processes of this host from /proc, and kills one only while it is still the one that was meant.
import { readFileSync, readdirSync, statSync } from "node:fs";

/** A process by number and start: numbers come again, the pair does not. */
export interface ProcessId {
  readonly pid: number;
  /** In ticks since the host started. */
  readonly startedAt: string;
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly cpuTicks: number;
  readonly threads: number;
  readonly startedAt: string;
  readonly residentPages: number;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

export function statOf(pid: number): Stat | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name stands in brackets and may hold anything, brackets too.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const number = (index: number): number => Number(fields[index]);
  return {
    state: fields[0] ?? "",
    parent: number(1),
    group: number(2),
    cpuTicks: number(11) + number(12),
    threads: number(17),
    startedAt: fields[19] ?? "",
    residentPages: number(21),
  };
}

export function processId(pid: number): ProcessId | undefined {
  const stat = statOf(pid);
  return stat && { pid, startedAt: stat.startedAt };
}

/** False for a zombie too: it runs nothing any more. */
export function isAlive({ pid, startedAt }: ProcessId): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.startedAt === startedAt && stat.state !== "Z" && stat.state !== "X";
}

export function sendSignal(id: ProcessId, signal: NodeJS.Signals): void {
  if (!isAlive(id)) return;
  try {
    process.kill(id.pid, signal);
  } catch {
    // It went in between.
  }
}

export function childrenOf(pid: number): readonly number[] {
  return (read(`/proc/${pid}/task/${pid}/children`) ?? "").split(" ").filter(Boolean).map(Number);
}

/** The process and all below it; what lost its parent hangs below process 1 of its own box. */
export function treeOf(pid: number): readonly number[] {
  const found = [pid];
  for (const parent of found) {
    // Every thread can have children of its own.
    for (const thread of threadsOf(parent)) {
      const text = read(`/proc/${parent}/task/${thread}/children`) ?? "";
      found.push(...text.split(" ").filter(Boolean).map(Number));
    }
  }
  return found;
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Open file descriptors; null where the kernel does not say (before 6.2) or the process is gone. */
export function openFilesOf(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}/fd`).size || null;
  } catch {
    return null;
  }
}

/**
 * Resident memory of a process in which what n processes share counts for each as an nth; undefined = it is gone, or not
 * ours to see. Dearer than the plain count: the kernel walks all its pages.
 */
export function shareBytesOf(pid: number): number | undefined {
  const kib = /^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? "")?.[1];
  return kib === undefined ? undefined : Number(kib) * 1_024;
}

// Reads CPU time and memory of a process, and CPU time of the machine, from /proc.
import { readFileSync, readdirSync } from "node:fs";

/** Linux reports CPU time in ticks of 10 ms on every architecture that Node runs on (USER_HZ). */
const tickUs = 10_000;

/** User and system time of all threads of a process since it started, µs. */
export function cpuTimeUs(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}

/** The same of a process and of all below it, with those that have ended and were waited for; 0 where it is gone itself. */
export function treeCpuUs(root: number): number {
  const all = new Map<number, { readonly parent: number; readonly ticks: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = statOf(Number(name));
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
      all.set(Number(name), { parent: Number(fields[1]), ticks });
    } catch {
      // It ended since the folder was read.
    }
  }
  const isBelow = (pid: number): boolean => pid === root || (all.has(pid) && isBelow(all.get(pid)?.parent ?? 0));
  return [...all].reduce((sum, [pid, { ticks }]) => (isBelow(pid) ? sum + ticks : sum), 0) * tickUs;
}

/** From the third field on. */
function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name (field 2) may hold spaces and brackets, so count from behind its last bracket.
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error(`process ${pid} reports no resident memory`);
  return Number(kib) * 1024;
}

/** CPU time that the whole machine has spent on work (or lost to its host) since it started, µs, all cores. */
export function machineBusyUs(): number {
  const ticks = /^cpu +(.+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1]?.split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, _idle, _iowait, irq = 0, softirq = 0, steal = 0] = ticks;
  return (user + nice + system + irq + softirq + steal) * tickUs;
}

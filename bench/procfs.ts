// Reads CPU time and memory of a process, and CPU time of the machine, from /proc.
import { readFileSync } from "node:fs";

/** Linux reports CPU time in ticks of 10 ms on every architecture that Node runs on (USER_HZ). */
const tickUs = 10_000;

/** User and system time of all threads of a process since it started, µs. */
export function cpuTimeUs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name (field 2) may hold spaces and brackets, so count from behind its last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
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

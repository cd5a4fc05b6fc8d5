// Reads a process's CPU time and memory from /proc.
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

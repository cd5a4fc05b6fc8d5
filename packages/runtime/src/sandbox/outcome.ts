// How a run in a box ended: the first reason wins, and what the kernel counted says more than an exit code.
import type { BoxEnd, BoxLimits, Resource } from "./types.ts";

/** What was counted of the whole tree, at any one moment. Null = this host cannot tell. */
export interface Counted {
  /** Times that the kernel killed for memory. */
  readonly oomKills: number;
  /** Memory of processes, without the files of the box. */
  readonly memoryBytes: number | null;
  readonly peakMemoryBytes: number | null;
  /** Times that a process could not be made. */
  readonly pidsRefused: number;
  readonly pids: number | null;
  readonly cpuMs: number;
  readonly diskUsedBytes: number | null;
  readonly fds: number | null;
}

/** The first breach among the counts; undefined = within the limits. */
export function breachOf(counted: Counted, limits: BoxLimits): BoxEnd | undefined {
  const over = (resource: Resource, limit: number, observed: number): BoxEnd => ({
    reason: "exceeded",
    resource,
    limit,
    observed,
  });
  const { memoryBytes, diskUsedBytes, fds, pids } = counted;
  // A full disk first: what fills it is charged as memory too, so that both can happen in one moment.
  if (diskUsedBytes !== null && diskUsedBytes > limits.diskBytes) return over("disk", limits.diskBytes, diskUsedBytes);
  if (counted.oomKills > 0)
    return over("memory", limits.memoryBytes, Math.max(counted.peakMemoryBytes ?? 0, limits.memoryBytes));
  if (memoryBytes !== null && memoryBytes > limits.memoryBytes) return over("memory", limits.memoryBytes, memoryBytes);
  if (counted.pidsRefused > 0) return over("pids", limits.pids, limits.pids + 1);
  if (pids !== null && pids > limits.pids) return over("pids", limits.pids, pids);
  if (counted.cpuMs > limits.cpuSeconds * 1_000)
    return over("cpu", limits.cpuSeconds, Math.round(counted.cpuMs) / 1_000);
  if (fds !== null && fds > limits.fds) return over("fds", limits.fds, fds);
  return undefined;
}

/** Signals by number, as Linux numbers them on x64 and arm64. */
const signals: readonly string[] = (
  "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE SIGALRM SIGTERM " +
  "SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO " +
  "SIGPWR SIGSYS"
).split(" ");
const signalCode = 128;

/** A code of 128 + n is what shells, and process 1 of a box, make of a death by signal n. */
export function endOfCode(code: number): BoxEnd {
  const signal = signals[code - signalCode - 1];
  return signal === undefined ? { reason: "exited", code } : { reason: "crashed", signal };
}

export interface Finish {
  /** What ended it first, noted while it ran: a deadline, a cancel, a flood, a count. */
  readonly claimed: BoxEnd | undefined;
  /** Of the tool; null = the box went away without telling. */
  readonly code: number | null;
  readonly counted: Counted;
  readonly limits: BoxLimits;
  readonly lostMessage: string;
}

/** One answer for every way to end. */
export function classify({ claimed, code, counted, limits, lostMessage }: Finish): BoxEnd {
  if (claimed !== undefined) return claimed;
  const breach = breachOf(counted, limits);
  if (breach !== undefined) return breach;
  return code === null ? { reason: "lost", message: lostMessage } : endOfCode(code);
}

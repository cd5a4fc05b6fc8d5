// A box as data: what is asked of an isolation backend, what runs in it, and how it can end; one interface for every backend.

/** Isolation backends by name, with their ranks: a demand for a rank is met by any backend of at least that rank. */
export const backendRanks = { native: 10, container: 30, gvisor: 40, wasm: 40, microvm: 50 } as const;
export type BackendName = keyof typeof backendRanks;

/** One unit each; every run has every limit. */
export interface BoxLimits {
  /** Share of one core as a rate: 1 = one whole core, 0.5 = half of one. */
  readonly cpu: number;
  /** CPU time of the whole tree. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** `/workspace` and `/tmp` together. */
  readonly diskBytes: number;
  readonly pids: number;
  readonly fds: number;
  /** From the start of the tool's code. */
  readonly timeoutMs: number;
  /** Between the signal that asks the tool to stop and the kill of its whole tree. */
  readonly graceMs: number;
  /** Of each of stdout and stderr: what is over it is cut and flagged; 16 times as much kills. */
  readonly outputBytes: number;
  /** Of the structured result. */
  readonly resultBytes: number;
  /** Of all bytes that cross the egress gateway, both ways. */
  readonly egressBytes: number;
}

export const resources = ["memory", "cpu", "pids", "disk", "output", "egress", "fds"] as const;
export type Resource = (typeof resources)[number];

/** What the code in the box is started with. */
export type Runtime = "js" | "node" | "python" | "wasm" | "exec";

/** A host folder with a tool's code, checked against its digest already; mounted read-only at `/package`. */
export interface BoxPackage {
  readonly path: string;
  readonly digest: string;
}

/** A file that stands in the box, read-only, below `/workspace`. */
export interface BoxFile {
  /** Relative, normalised, without `..`. */
  readonly path: string;
  readonly hostPath: string;
}

export interface BoxSpec {
  /** Unique on this host: names folders, cgroups and sockets of the box. */
  readonly boxId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly version: string;
  readonly runtime: Runtime;
  /** Path below `/package` of what is started; for the built-in guests their own name. */
  readonly entry: string;
  readonly package: BoxPackage | null;
  readonly limits: BoxLimits;
  /** All there is: nothing of the host's environment comes along. */
  readonly env: Readonly<Record<string, string>>;
  /** A unix socket of the egress gateway that belongs to this box alone; null = no network at all. */
  readonly egressSocket: string | null;
}

/** One run in one box. */
export interface Invocation {
  /** JSON text on the tool's stdin: `{"args":…,"context":…,"secrets":…}`. */
  readonly requestJson: string;
  readonly files: readonly BoxFile[];
  /** Where the result comes from: file descriptor 3, or all of stdout. */
  readonly resultFrom: "fd3" | "stdout";
}

/** Where output goes while it runs. A promise that is not kept yet holds the tool back: nothing is buffered beyond one chunk each. */
export interface BoxIo {
  stdout(chunk: Uint8Array): void | Promise<void>;
  stderr(chunk: Uint8Array): void | Promise<void>;
  /** One line of file descriptor 4, JSON text that has not been looked at. */
  event(line: string): void | Promise<void>;
}

/**
 * Why it ended; the first reason wins, and whatever else happened is its consequence.
 * `crashed`: by a signal that nobody here sent. `lost`: the backend itself failed, nothing is known of the tool.
 */
export type BoxEnd =
  | { readonly reason: "exited"; readonly code: number }
  | { readonly reason: "crashed"; readonly signal: string }
  | { readonly reason: "exceeded"; readonly resource: Resource; readonly limit: number; readonly observed: number }
  | { readonly reason: "timeout" }
  | { readonly reason: "cancelled" }
  | { readonly reason: "lost"; readonly message: string };

export interface BoxUsage {
  /** From the request to the first instruction of the tool's process. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly cpuMs: number;
  /** Null where the host cannot tell. */
  readonly peakMemoryBytes: number | null;
  readonly egressBytes: number;
}

export interface BoxResult {
  readonly end: BoxEnd;
  /** Text of the structured result, not yet parsed; null = none was written. Never more than the limit. */
  readonly resultText: string | null;
  /** What was cut off: the streams that went over their limit. */
  readonly truncated: readonly ("stdout" | "stderr")[];
  /** The last 4 KiB of stderr, for the error that a person reads. */
  readonly stderrTail: string;
  readonly usage: BoxUsage;
}

export interface Sandbox {
  readonly boxId: string;
  /** True when it waited ready-made. */
  readonly warm: boolean;
  /**
   * Once. Resolves when the whole tree is dead, whatever it did; never rejects. An abort of `signal` is a cancel: the tool
   * gets its grace, then the tree is killed.
   */
  run(invocation: Invocation, io: BoxIo, signal: AbortSignal): Promise<BoxResult>;
  /** Kills what lives and removes every trace on the host; idempotent. */
  destroy(): Promise<void>;
}

/** What a backend can do on this host, found out by doing it. */
export type Probe =
  | {
      readonly ok: true;
      readonly rank: number;
      /** What the limits rest on, e.g. `cgroup v2`, `cgroup v1`, `rlimits`; for people. */
      readonly limitsBy: string;
      /** Facts for people: versions, modes. */
      readonly notes: readonly string[];
    }
  | {
      readonly ok: false;
      /** Why it cannot be used here. */
      readonly reason: string;
      /** The command that brings what is missing; null = nothing would. */
      readonly remedy: string | null;
    };

export interface SandboxBackend {
  readonly name: BackendName;
  /** Runs a canary; under a second where it works. Never rejects. */
  probe(): Promise<Probe>;
  /** @throws Error when the host cannot give what the spec demands: then nothing runs, and nothing weaker does */
  provision(spec: BoxSpec, signal: AbortSignal): Promise<Sandbox>;
  /** Gets boxes ready for a class of specs; a backend without a pool ignores it. */
  warm?(spec: BoxSpec, count: number): void;
  /** Ends the pool and everything that lives; removes leftovers of earlier processes too. */
  close(): Promise<void>;
}

/** `Probe.limitsBy` where no kernel holds the limits of a box: an operator has accepted that by name. */
export const watchedLimits = "best effort: rlimits and watching";

export function isWatched(limitsBy: string): boolean {
  return limitsBy === watchedLimits;
}

// What a command needs of its surroundings, as an argument: a terminal, an environment, and the runtime's own modes.
import type { DevOptions, DevRuntime, ServeOptions } from "../compose.ts";
import type { Backends, BoxWorker, BoxWorkerOptions } from "../boxes/worker.ts";
import type { Probe, SandboxBackend } from "../sandbox/types.ts";
import type { LedgerExport, LedgerImport, LedgerPlace, MoveOptions } from "../adapters/transfer/move.ts";
import type { Upgrade } from "../adapters/transfer/upgrade.ts";
import type { Console } from "./console.ts";
import type { AuditVerdict } from "../ledger/audit.ts";

export interface Sink {
  write(text: string): unknown;
}

export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Everything on standard input, as text. */
  readonly readStdin: () => Promise<string>;
  /** Calls back when standard input ends; waiting for that does not keep the process. */
  readonly onStdinEnd: (listener: () => void) => void;
  /** The keyboard of whoever sits at the terminal; undefined where standard input or output is none. */
  readonly openConsole: () => Promise<Console | undefined>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** True when people look at stdout. */
  readonly isTTY: boolean;
  /** True when people look at stderr; progress is shown there and nowhere else. */
  readonly errIsTTY: boolean;
  /** The terminal behind stdout as it is now; undefined where there is none. */
  readonly size: () => { readonly columns: number; readonly rows: number } | undefined;
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
  /** Fresh text that nobody else has. */
  readonly newId: () => string;
  /** Called for every SIGINT and SIGTERM until the returned function is called. */
  readonly onStop: (listener: (signal: "SIGINT" | "SIGTERM") => void) => () => void;
  /** Ends the process at once. */
  readonly exitNow: (code: number) => void;
  readonly delays: Delays;
  readonly compose: () => Promise<Compose>;
  readonly boxes: () => Promise<Boxes>;
}

export interface Delays {
  /** Work that takes longer than this says that it is going on. */
  readonly progressAfterMs: number;
  /** Between two looks at a call that has yet to end: the first and the longest. */
  readonly lookFirstMs: number;
  readonly lookMsMax: number;
  /** Between two looks of a `--watch`, where `--interval` says nothing. */
  readonly followMs: number;
  /** How long somebody who presses Tab waits for a runtime at most. */
  readonly completeMsMax: number;
}

/** What `worker` and `doctor` ask of the sandbox worker's own composition root. */
export interface Boxes {
  startBoxWorker(options: BoxWorkerOptions): Promise<BoxWorker>;
  makeBackends(options: Pick<BoxWorkerOptions, "allowBestEffortLimits" | "log">): Backends;
  probeAll(backends: readonly SandboxBackend[]): Promise<Readonly<Record<string, Probe>>>;
}

/** What the commands that work on the local data folder, and `dev`, ask of the composition root. */
export interface Compose {
  startDev(options: DevOptions): Promise<DevRuntime>;
  startServe(options: ServeOptions): Promise<DevRuntime>;
  /** Makes a new admin key for a stopped runtime's data folder and writes it to the key file. */
  resetLocalKey(dataDir: string): Promise<{ readonly keyFile: string }>;
  verifyLocal(dataDir: string): Promise<AuditVerdict>;
  exportLedger(place: LedgerPlace, options: MoveOptions): Promise<LedgerExport>;
  importLedger(place: LedgerPlace, options: MoveOptions): Promise<LedgerImport>;
  upgradeLedger(place: LedgerPlace, options: { readonly dryRun: boolean; readonly now: number }): Promise<Upgrade>;
}

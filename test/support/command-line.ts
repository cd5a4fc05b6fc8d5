// Runs the command line in this process, with a terminal and an environment that a test makes up.
import type { ExitCode } from "../../packages/runtime/src/cli/exit-codes.ts";
import type { Console } from "../../packages/runtime/src/cli/console.ts";
import type { Compose, Io } from "../../packages/runtime/src/cli/io.ts";
import type { CommandTree } from "../../packages/runtime/src/cli/command-tree.ts";
import { commandTree, runCli } from "../../packages/runtime/src/cli/program.ts";

/** 2026-01-31T12:00:00.000Z: the present of every command that a test runs. */
export const presentMs = Date.UTC(2026, 0, 31, 12);

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly errIsTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly compose?: Partial<Compose>;
  /** Else it is always the same. */
  readonly newId?: () => string;
  /** The keyboard; absent: nobody sits there. */
  readonly console?: Console;
  readonly progressAfterMs?: number;
  readonly completeMsMax?: number;
  /** Called with everything that stderr has got so far. */
  readonly onErr?: (text: string) => void;
  /** Called with everything that stdout has got so far. */
  readonly onOut?: (text: string) => void;
}

export interface CommandLine {
  readonly ended: Promise<ExitCode>;
  readonly out: () => string;
  readonly err: () => string;
  readonly signal: (name: "SIGINT" | "SIGTERM") => void;
  /** Codes with which the process was told to end at once. */
  readonly exits: readonly number[];
}

export interface Ended {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
}

type Listener = (signal: "SIGINT" | "SIGTERM") => void;

function ioFor(
  around: Surroundings,
  write: { out(text: string): void; err(text: string): void },
  listeners: Set<Listener>,
  exits: number[],
): Io {
  return {
    stdout: { write: write.out },
    stderr: { write: write.err },
    readStdin: async () => around.stdin ?? "",
    onStdinEnd: () => undefined,
    openConsole: async () => around.console,
    env: around.env ?? {},
    cwd: around.cwd ?? "/",
    isTTY: around.isTTY ?? false,
    errIsTTY: around.errIsTTY ?? false,
    size: () => (around.columns === undefined ? undefined : { columns: around.columns, rows: around.rows ?? 24 }),
    now: () => presentMs,
    newId: around.newId ?? (() => "0123"),
    onStop(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exitNow: (code) => exits.push(code),
    delays: {
      progressAfterMs: around.progressAfterMs ?? 60_000,
      lookFirstMs: 1,
      lookMsMax: 1,
      followMs: 1,
      completeMsMax: around.completeMsMax ?? 5_000,
    },
    compose: async () => ({ ...nothingComposed, ...around.compose }),
    boxes: async () => Promise.reject(new Error("this command line has no boxes")),
  };
}

export function startCli(args: readonly string[], around: Surroundings = {}): CommandLine {
  let out = "";
  let err = "";
  const exits: number[] = [];
  const listeners = new Set<Listener>();
  const write = {
    out(text: string) {
      out += text;
      around.onOut?.(out);
    },
    err(text: string) {
      err += text;
      around.onErr?.(err);
    },
  };
  return {
    ended: runCli(args, ioFor(around, write, listeners, exits)),
    out: () => out,
    err: () => err,
    signal: (name) => listeners.forEach((listener) => listener(name)),
    exits,
  };
}

/** Every command that there is, with its options and arguments. */
export function allCommands(): CommandTree {
  return commandTree(ioFor({}, { out: () => undefined, err: () => undefined }, new Set(), []));
}

export async function cli(args: readonly string[], around: Surroundings = {}): Promise<Ended> {
  const run = startCli(args, around);
  const code = await run.ended;
  return { code, out: run.out(), err: run.err() };
}

/** The environment with which a command finds this runtime. */
export function reaching(url: string): { readonly env: Readonly<Record<string, string>> } {
  return { env: { SIGNALBOX_URL: url, SIGNALBOX_KEY: "sbx_test" } };
}

const unscripted = async (): Promise<never> => {
  throw new Error("the test has not said what this does");
};
const nothingComposed: Compose = {
  startDev: unscripted,
  startServe: unscripted,
  resetLocalKey: unscripted,
  verifyLocal: unscripted,
  exportLedger: unscripted,
  importLedger: unscripted,
  upgradeLedger: unscripted,
};

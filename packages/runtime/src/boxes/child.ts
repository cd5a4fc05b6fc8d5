// Keeps a sandbox worker running as a child process: boxes are never forked by the process that decides about calls.
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Log } from "../corridor/ports.ts";
import type { Probe } from "../sandbox/types.ts";

export interface BoxChildOptions {
  /** The command line's own script. */
  readonly cli: string;
  /** `host:port` of the gRPC door. */
  readonly address: string;
  readonly key: string;
  readonly store: string;
  readonly capacity: number;
  readonly acceptWatchedLimits: boolean;
  readonly log: Log;
  readonly onProved: (probes: Readonly<Record<string, Probe>>) => void;
}

export interface BoxChild {
  /** Lets it finish what it holds, at most `ms`; then it is killed, and its boxes die with it. */
  stop(ms: number): Promise<void>;
}

const backOffMs = { first: 500, max: 30_000 };
/** One that lived this long did not fail at its start. */
const settledMs = 10_000;

export function keepBoxWorker(options: BoxChildOptions): BoxChild {
  let child: ChildProcess | undefined;
  let stopping = false;
  let waitMs = backOffMs.first;
  let again: NodeJS.Timeout | undefined;
  const start = (): void => {
    const startedAt = performance.now();
    const running = launch(options);
    child = running;
    running.once("exit", (code, signal) => {
      child = undefined;
      if (stopping) return;
      // Code 0: it left by itself to make room for a fresh one.
      const left = code === 0;
      if (!left) options.log.warn({ code, signal }, "the sandbox worker ended; another one is started");
      waitMs = left || performance.now() - startedAt > settledMs ? backOffMs.first : Math.min(waitMs * 2, backOffMs.max);
      again = setTimeout(start, left ? 0 : waitMs);
    });
  };
  start();
  return {
    async stop(ms) {
      stopping = true;
      clearTimeout(again);
      const running = child;
      if (running === undefined) return;
      const ended = new Promise<void>((resolve) => running.once("exit", () => resolve()));
      running.kill("SIGTERM");
      const kill = setTimeout(() => running.kill("SIGKILL"), ms);
      await ended;
      clearTimeout(kill);
    },
  };
}

function launch(options: BoxChildOptions): ChildProcess {
  const { cli, address, key, store, capacity, acceptWatchedLimits, log, onProved } = options;
  const args = ["worker", "--json", "--with-parent", "--connect", address, "--store", store, "--capacity", String(capacity)];
  if (acceptWatchedLimits) args.push("--accept-watched-limits");
  // Its end of stdin closes when this process dies, however it dies: then the worker finishes and leaves.
  const child = spawn(process.execPath, [cli, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", SIGNALBOX_WORKER_KEY: key },
    // Ctrl-C in a terminal goes to the whole group; this process says when the worker stops.
    detached: true,
  });
  child.on("error", (error) => log.error({ reason: error.message }, "the sandbox worker could not be started"));
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = readReady(line);
      if (said !== undefined) onProved(said);
    });
  }
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on("line", (line) => log.info({ from: "sandbox worker" }, line));
  }
  return child;
}

function readReady(line: string): Readonly<Record<string, Probe>> | undefined {
  try {
    const said = JSON.parse(line) as { readonly ready?: boolean; readonly boxes?: Readonly<Record<string, Probe>> };
    return said.ready === true ? said.boxes : undefined;
  } catch {
    return undefined;
  }
}

// Starts the bench's processes, hears their first words, and leaves none of them (and no folder) behind.
import { fork, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cpuTimeUs } from "./procfs.ts";

const stopGraceMs = 3_000;
const stderrCharsMax = 4_096;

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly process: ChildProcess;
  /** The first JSON line on stdout in which this field is true; rejects when the process ends or the time is up. */
  saying(word: string, timeoutMs: number): Promise<Readonly<Record<string, unknown>>>;
  /** SIGTERM, then SIGKILL for the whole process group; resolves when the process is gone. */
  stop(): Promise<void>;
}

/** Something that the bench has started and that is no child of the kind below. */
export interface Started {
  /** CPU time that it has used, µs. */
  readonly cpuUs: () => number;
  readonly end: () => Promise<void>;
}

const running = new Set<Child>();
const folders = new Set<string>();
const others = new Set<Started>();

/** Ended by {@link cleanUp}, after the children; what ends it when the bench is killed is its own affair. */
export function atCleanUp(started: Started): void {
  others.add(started);
}

/** Runs `node <args>` in a process group of its own, so that what it starts dies with it. */
export function startNode(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  return startProgram(name, process.execPath, args, env);
}

/** The same of any program. */
export function startProgram(name: string, program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  return adopt(name, child);
}

/** The same, with a message channel. */
export function forkNode(name: string, file: string): Child {
  return adopt(name, fork(file, { detached: true, stdio: ["ignore", "pipe", "pipe", "ipc"] }));
}

function adopt(name: string, child: ChildProcess): Child {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started`);
  const heard: Record<string, unknown>[] = [];
  const listeners = new Set<() => void>();
  let stderr = "";
  let ended: string | undefined;
  const wake = (): void => {
    for (const listener of listeners) listener();
  };
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-stderrCharsMax);
  });
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = parseLine(line);
      if (said === undefined) return;
      heard.push(said);
      wake();
    });
  }
  const gone = new Promise<void>((resolve) => {
    child.on("close", (code, signal) => {
      ended = `${name} ended (${signal ?? `exit code ${code}`})${stderr === "" ? "" : `: ${stderr.trim()}`}`;
      running.delete(self);
      wake();
      resolve();
    });
  });

  const self: Child = {
    name,
    pid,
    process: child,
    saying: (word, timeoutMs) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const said = heard.find((line) => line[word] === true);
          if (said !== undefined) settle(() => resolve(said));
          else if (ended !== undefined) settle(() => reject(new Error(ended)));
        };
        const timer = setTimeout(() => {
          settle(() => reject(new Error(`${name} did not say "${word}" in ${timeoutMs} ms: ${stderr.trim()}`)));
        }, timeoutMs);
        const settle = (end: () => void): void => {
          clearTimeout(timer);
          listeners.delete(look);
          end();
        };
        listeners.add(look);
        look();
      }),
    async stop() {
      if (ended !== undefined) return;
      signalGroup(pid, "SIGTERM");
      const force = setTimeout(() => signalGroup(pid, "SIGKILL"), stopGraceMs);
      await gone;
      clearTimeout(force);
      // A grandchild may outlive its parent's polite end.
      signalGroup(pid, "SIGKILL");
    },
  };
  running.add(self);
  return self;
}

/** Things that are not lines of JSON (banners, warnings) are nobody's word. */
function parseLine(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** CPU time of this process and of all that it has started and that still run, µs. */
export function ourCpuUs(): number {
  const own = process.cpuUsage();
  const children = [...running].reduce((total, { pid }) => total + cpuTimeUs(pid), own.user + own.system);
  return [...others].reduce((total, { cpuUs }) => total + cpuUs(), children);
}

/** A fresh folder that is removed when the bench ends, however it ends. */
export function makeFolder(parent: string, name: string): string {
  const folder = mkdtempSync(join(parent, `signalbox-bench-${name}-`));
  folders.add(folder);
  return folder;
}

/** Stops everything that still runs, then removes every folder. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...running].map((child) => child.stop()));
  await Promise.all([...others].map(({ end }) => end()));
  others.clear();
  removeFolders();
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  folders.clear();
}

/** For ends that leave no time to wait: an exit in the middle, Ctrl-C, a SIGTERM. */
export function cleanUpOnExit(): void {
  process.on("exit", () => {
    for (const child of running) signalGroup(child.pid, "SIGKILL");
    removeFolders();
  });
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
    ["SIGHUP", 1],
  ] as const) {
    process.on(signal, () => process.exit(128 + number));
  }
}

// Starts the demo's child processes, keeps what each says in a log file, and sees to it that none is left behind.
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";

export interface ChildSpec {
  /** For people, and the log file's name. */
  readonly name: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** The next line of stdout; undefined when there is none any more. */
  nextLine(): Promise<string | undefined>;
  /** What the process ended with, like `exit code 0` or `SIGKILL`. */
  readonly ended: Promise<string>;
  kill(signal: NodeJS.Signals): void;
}

/** How long a child may take to leave when the demo ends. */
const leaveMs = 1_500;
const tailLines = 15;
/** The demo itself looks at calls all the time; that tells nobody anything. */
const dullLine = /"method":"GET".*"status":200/;

export class Children {
  readonly #running = new Map<ChildProcess, Child>();
  readonly #logs: { readonly name: string; readonly file: string }[] = [];
  // The last resort, for an end that nobody foresaw: signals can still be sent from here.
  readonly #killAll = (): void => this.#signal("SIGKILL");

  constructor() {
    process.on("exit", this.#killAll);
  }

  /** Starts one more Node process. Its stdout can be read by line; stdout and stderr both go to the log file. */
  start(spec: ChildSpec): Child {
    const { name, logFile } = spec;
    const child = spawn(process.execPath, [...spec.args], {
      cwd: spec.cwd,
      env: spec.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = createWriteStream(logFile, { flags: "a" });
    this.#logs.push({ name, file: logFile });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, signal) => {
        this.#running.delete(child);
        log.end(() => resolve(signal ?? `exit code ${code}`));
      });
    });
    const started: Child = {
      name,
      pid: child.pid ?? 0,
      logFile,
      ended,
      nextLine: async () => {
        const { done, value } = await lines.next();
        return done === true ? undefined : value;
      },
      kill: (signal) => void child.kill(signal),
    };
    this.#running.set(child, started);
    return started;
  }

  /** Everybody leaves: asked first, then forced. */
  async end(): Promise<void> {
    this.#signal("SIGTERM");
    const all = Promise.all([...this.#running.values()].map(({ ended }) => ended));
    const timer = new AbortController();
    await Promise.race([all, wait(leaveMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
    this.#signal("SIGKILL");
    await all;
    process.off("exit", this.#killAll);
  }

  /** The last lines of every child's log, for whoever wants to know why the demo failed. */
  tails(): string {
    return this.#logs.map(({ name, file }) => `--- the end of ${name}'s log\n${tail(file)}`).join("\n");
  }

  #signal(signal: NodeJS.Signals): void {
    for (const child of this.#running.keys()) child.kill(signal);
  }
}

function tail(file: string): string {
  try {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    return lines
      .filter((line) => !dullLine.test(line))
      .slice(-tailLines)
      .join("\n");
  } catch {
    return "(nothing)";
  }
}

export interface Finished {
  /** -1 for a command that a signal ended. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end; the signal ends it early. */
export function runToEnd(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ exitCode: code ?? -1, stdout, stderr }));
  });
}

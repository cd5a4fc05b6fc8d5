// Child processes of a test: started in a group of their own, heard line by line, and never left behind.
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  readonly ended: Promise<End>;
  /** The next line of stdout; rejects when the process ends first. */
  nextLine(): Promise<string>;
  stdout(): string;
  stderr(): string;
  /** To the process itself. */
  signal(name: NodeJS.Signals): void;
  /** SIGKILL to the whole group. */
  kill(): Promise<End>;
}

export interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Opens a message channel beside the pipes. */
  readonly ipc?: boolean;
}

const alive = new Set<Child>();
const killAll = (): void => {
  for (const child of alive) killGroup(child.pid);
};
// Whatever ends the test's own process takes its children along: its end, a signal, or a runner that is gone.
process.on("exit", killAll).on("disconnect", killAll);
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15],
  ["SIGHUP", 1],
] as const)
  process.once(signal, () => {
    killAll();
    process.exit(128 + number);
  });

/** Runs `node <args>`. */
export function startNode(args: readonly string[], options: ChildOptions = {}): Child {
  const { env = {}, cwd, ipc = false } = options;
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? (["ipc"] as const) : [])],
    // Vitest's own settings are not the child's.
    env: { ...process.env, NODE_OPTIONS: "", VITEST: "", NODE_ENV: "", FORCE_COLOR: "0", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error(`node ${args.join(" ")} did not start`);
  let out = "";
  let err = "";
  stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const ended = new Promise<End>((resolve) => {
    child.once("close", (code, signal) => {
      alive.delete(self);
      resolve({ code, signal });
    });
  });
  const self: Child = {
    pid,
    process: child,
    ended,
    async nextLine() {
      const { done, value } = await lines.next();
      if (done === true) throw new Error(`node ${args.join(" ")} ended and said no more; stderr: ${err}`);
      return value;
    },
    stdout: () => out,
    stderr: () => err,
    signal: (name) => void process.kill(pid, name),
    async kill() {
      killGroup(pid);
      return ended;
    },
  };
  alive.add(self);
  return self;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

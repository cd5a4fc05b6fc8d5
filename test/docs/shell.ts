// A shell in a folder of its own, as a reader of the docs has it: `signalbox` is the built command line, and nobody else's ports are used.
import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startNode } from "../support/processes.ts";
import { signalboxBin } from "../support/stack.ts";

export const repo = fileURLToPath(new URL("../..", import.meta.url));
const builtProgram = join(repo, "packages/runtime/dist/cli/program.js");

/** What a page may say of ports; the shell has its own in their place. */
const shownPorts = { http: "127.0.0.1:8080", grpc: "127.0.0.1:9090", receiver: "127.0.0.1:8090" } as const;
type PortName = keyof typeof shownPorts;

const commandMsMax = 40_000;
const outputMsMax = 20_000;
const endMsMax = 8_000;
const lookEveryMs = 25;

export interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
}

export interface Running {
  /** What it has printed up to now. */
  printed(): readonly string[];
  /** @returns whether it became so in time */
  until(isSo: (printed: readonly string[]) => boolean): Promise<boolean>;
}

export interface Shell {
  readonly folder: string;
  /** To its end. @throws Error when it takes too long */
  run(command: string): Promise<Ran>;
  /** In the background. */
  start(command: string): Promise<Running>;
  /** Ends everything that was started, and takes the folder away. */
  close(): Promise<void>;
}

export async function openShell(): Promise<Shell> {
  const place = mkdtempSync(join(tmpdir(), "signalbox-docs-"));
  const [ports, commands] = await Promise.all([freePorts(), warmCommands()]);
  const folder = furnish(place);
  const bash = spawn("bash", ["--noprofile", "--norc", "-s"], {
    cwd: folder,
    detached: true,
    stdio: ["pipe", "ignore", "ignore", "pipe"],
    env: environment(place, folder, {
      DOCS_NODE: process.execPath,
      DOCS_BIN: signalboxBin,
      DOCS_COMMANDS: commands,
      DOCS_PORTS: `--port ${portOf(ports.http)} --grpc-port ${portOf(ports.grpc)}`,
      // Where programs go that are not told otherwise.
      SIGNALBOX_WORKER_ADDRESS: ports.grpc,
      SIGNALBOX_GRPC: ports.grpc,
      RECEIVER_PORT: portOf(ports.receiver),
    }),
  });
  const { stdin } = bash;
  if (stdin === null) throw new Error("bash did not start");
  const ends = createInterface({ input: bash.stdio[3] as Readable })[Symbol.asyncIterator]();
  const gone = new Promise<void>((resolve) => bash.once("exit", () => resolve()));
  let count = 0;

  const tell = async (command: string, logFile: string): Promise<number> => {
    // By eval, so that a command that is no command ends itself and not the shell.
    const quoted = `'${realPorts(command, ports).replaceAll("'", String.raw`'\''`)}'`;
    stdin.write(`eval ${quoted} >'${logFile}' 2>&1 </dev/null 3>&-\nprintf '%s\\n' "$?" >&3\n`);
    const said = await Promise.race([ends.next(), after(commandMsMax, undefined, { ref: false })]);
    if (said === undefined) throw new Error(`still running after ${commandMsMax / 1000} s: ${command}`);
    if (said.done === true) throw new Error(`the shell ended at: ${command}`);
    return Number(said.value);
  };
  const readLog = (file: string): readonly string[] => linesOf(asShown(readFileSync(file, "utf8"), ports, folder));
  const nextLog = (): string => join(place, "logs", `${++count}.log`);

  return {
    folder,
    async run(command) {
      const logFile = nextLog();
      const code = await tell(command, logFile);
      return { code, printed: readLog(logFile) };
    },
    async start(command) {
      const logFile = nextLog();
      await tell(/&(?: \w+=\$!)?\s*$/.test(command) ? command : `${command} &`, logFile);
      const printed = (): readonly string[] => readLog(logFile);
      return {
        printed,
        async until(isSo) {
          const giveUpAt = performance.now() + outputMsMax;
          while (performance.now() < giveUpAt) {
            if (isSo(printed())) return true;
            await after(lookEveryMs);
          }
          return isSo(printed());
        },
      };
    },
    async close() {
      const { pid } = bash;
      if (pid !== undefined) await endGroup(pid, gone);
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

let warm: Promise<string> | undefined;

/** The port of the one command line that all shells use; it goes with this process. @throws Error that says to build first */
function warmCommands(): Promise<string> {
  if (!existsSync(builtProgram)) throw new Error("pages run the built command line: run `npm run build` first");
  return (warm ??= startWarm());
}

async function startWarm(): Promise<string> {
  const { nextLine, process: child } = startNode([join(import.meta.dirname, "command-server.ts")]);
  const port = await nextLine();
  // It ends with this process, and must not keep it.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
  return port;
}

/** The folder looks like the repository to whoever stands in it, with examples that may be changed. */
function furnish(place: string): string {
  const folder = join(place, "signalbox");
  const shims = join(place, "bin");
  for (const one of [folder, shims, join(place, "logs"), join(place, "home")]) mkdirSync(one);
  for (const name of ["packages", "node_modules", "clients", "package.json"])
    symlinkSync(join(repo, name), join(folder, name));
  cpSync(join(repo, "examples"), join(folder, "examples"), { recursive: true });
  const shim = (name: string, text: string): void => {
    writeFileSync(join(shims, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(shims, name), 0o755);
  };
  copyFileSync(join(import.meta.dirname, "commands-in.sh"), join(shims, "signalbox"));
  chmodSync(join(shims, "signalbox"), 0o755);
  shim("npx", `[ "$1" = signalbox ] || { echo "npx of $1 is not meant here" >&2; exit 127; }\nexec "$@"`);
  return folder;
}

function environment(place: string, folder: string, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const path = [join(place, "bin"), dirname(process.execPath), process.env["PATH"] ?? ""].join(":");
  return { PATH: path, HOME: join(place, "home"), PWD: folder, LANG: "C.UTF-8", TMPDIR: place, ...more };
}

/** Asks, and then does not ask any more. */
async function endGroup(pid: number, gone: Promise<void>): Promise<void> {
  const signal = (name: NodeJS.Signals | 0): boolean => {
    try {
      process.kill(-pid, name);
      return true;
    } catch {
      return false;
    }
  };
  const giveUpAt = performance.now() + endMsMax;
  signal("SIGTERM");
  process.kill(pid, "SIGKILL");
  await gone;
  while (signal(0) && performance.now() < giveUpAt) await after(lookEveryMs);
  signal("SIGKILL");
}

type Ports = Readonly<Record<PortName, string>>;

const portOf = (address: string): string => address.slice(address.lastIndexOf(":") + 1);

/** Below the ports that the kernel gives to whoever asks for any: nobody gets one of these by chance between two looks. */
const portsBelow = 32_000;
const portsAbove = 20_000;
let nextPort = portsAbove + (process.pid % (portsBelow - portsAbove));

async function freePorts(): Promise<Ports> {
  const names = Object.keys(shownPorts) as PortName[];
  const ports = {} as Record<PortName, string>;
  for (const name of names) ports[name] = `127.0.0.1:${await freePort()}`;
  return ports;
}

async function freePort(): Promise<number> {
  for (;;) {
    nextPort = nextPort + 1 < portsBelow ? nextPort + 1 : portsAbove;
    const port = nextPort;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) =>
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)),
    );
    if (isFree) await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

function realPorts(command: string, ports: Ports): string {
  return replaceEach(command, (name) => [shownPorts[name], ports[name]]);
}

function asShown(text: string, ports: Ports, folder: string): string {
  return replaceEach(text, (name) => [ports[name], shownPorts[name]]).replaceAll(folder, "…");
}

function replaceEach(text: string, pair: (name: PortName) => readonly [from: string, to: string]): string {
  return (Object.keys(shownPorts) as PortName[]).reduce((before, name) => before.replaceAll(...pair(name)), text);
}

/** What the shell itself says of a process that was ended, whenever it gets to it. */
const notice = /^bash: line \d+: +\d+ (?:Killed|Terminated) /;

function linesOf(text: string): readonly string[] {
  const lines = text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => !notice.test(line));
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

// What every box begins as, whatever it will be for: a folder, a user, a control group, pipes, and a launcher that waits for its order.
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, chownSync, closeSync, linkSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { Cgroup } from "../../host/cgroup.ts";
import type { PipeEnds } from "../../host/fifos.ts";
import { makePassage } from "../../host/run-folder.ts";
import { launcherArgs } from "./launcher.ts";
import { Lines, readPipe, type Reading } from "./streams.ts";
import { fds, type NativeHost } from "./types.ts";

const stdio = ["stdin", "stdout", "stderr", "result", "events", "go"] as const;
type Pipes = Record<(typeof stdio)[number], PipeEnds>;
const launcherPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const removeTriesMax = 50;
const removeEveryMs = 2;

/** Our ends of the pipes that a tool's run reads and writes. */
export type RunPipes = Readonly<Record<"stdin" | "stdout" | "result" | "go", number>>;

/** Where the two streams go that are read from the start. */
export interface EarlyReaders {
  stderr: (chunk: Buffer) => void | Promise<void>;
  event: (line: string) => void | Promise<void>;
  overlongEvent: (bytes: number) => void;
}

export class Cradle {
  readonly name: string;
  readonly folder: string;
  readonly cgroup: Cgroup | null;
  readonly readers: EarlyReaders;
  /** The exit code of what was started; null = it was killed. */
  readonly exit: Promise<number | null>;
  /** Number of process 1 of the box, as bubblewrap tells it. */
  readonly initPid: Promise<number>;
  readonly early: readonly Reading[];
  readonly #host: NativeHost;
  readonly #uid: number | null;
  readonly #child: ChildProcess;
  readonly #order: NodeJS.WritableStream | null;
  #ours: Partial<Record<keyof Pipes, number>> = {};
  #ended = false;

  private constructor(host: NativeHost, name: string) {
    this.name = name;
    this.#host = host;
    this.folder = join(host.folder.boxes, name);
    this.readers = { stderr: () => undefined, event: () => undefined, overlongEvent: () => undefined };
    this.#uid = host.uids?.take() ?? null;
    try {
      this.cgroup = host.layout.mode === "none" ? null : Cgroup.create(host.layout, name);
    } catch (error) {
      if (this.#uid !== null) host.uids?.give(this.#uid);
      throw error;
    }
    makePassage(this.folder);
    makePassage(join(this.folder, "disk"));
    const pipes = this.#openPipes();
    this.#child = this.#spawn(pipes);
    this.exit = new Promise((resolve) => {
      this.#child.once("exit", (code) => resolve(code));
      this.#child.once("error", () => resolve(null));
    });
    void this.exit.then(() => (this.#ended = true));
    const more = this.#child.stdio as readonly unknown[];
    this.#order = more[fds.args] as NodeJS.WritableStream | null;
    this.#order?.on("error", () => undefined);
    this.initPid = initPidFrom(more[fds.status] as NodeJS.ReadableStream | null);
    this.early = this.#readEarly(pipes);
  }

  /** @throws Error when the host has no more of something */
  static async make(host: NativeHost, name: string): Promise<Cradle> {
    do await host.fifos.fill(stdio.length);
    while (host.fifos.count < stdio.length);
    return new Cradle(host, name);
  }

  #spawn(pipes: Pipes): ChildProcess {
    const filter = openSync(this.#host.folder.filter, "r");
    const theirs = [pipes.stdin, pipes.stdout, pipes.stderr, pipes.result, pipes.events].map((ends) => ends.theirs);
    const entrances = this.cgroup?.entrances ?? [];
    try {
      return spawn("/usr/bin/perl", launcherArgs(this.#host.arch, { folder: this.folder, uid: this.#uid, entrances }), {
        // fds.filter, fds.args, fds.status, fds.go, in this order.
        stdio: [...theirs, filter, "pipe", "pipe", pipes.go.theirs],
        env: { PATH: launcherPath },
        cwd: "/",
        // Ctrl-C in the worker's terminal is the worker's to answer, not the box's.
        detached: true,
      });
    } finally {
      for (const fd of [...theirs, filter, pipes.go.theirs]) closeSync(fd);
    }
  }

  #openPipes(): Pipes {
    const pipes: Partial<Pipes> = {};
    for (const name of stdio) {
      const ends = this.#host.fifos.take(name === "stdin" || name === "go" ? "write" : "read", this.#uid);
      pipes[name] = ends;
      this.#ours[name] = ends.ours;
    }
    return pipes as Pipes;
  }

  #readEarly(pipes: Pipes): readonly Reading[] {
    const lines = new Lines(
      this.#host.eventBytesMax,
      (bytes) => this.readers.overlongEvent(bytes),
      (line) => this.readers.event(line),
    );
    delete this.#ours.stderr;
    delete this.#ours.events;
    return [
      readPipe(pipes.stderr.ours, (chunk) => this.readers.stderr(chunk)),
      readPipe(pipes.events.ours, (chunk) => lines.push(chunk)),
    ];
  }

  order(bytes: Uint8Array): void {
    this.#order?.end(bytes);
  }

  /**
   * Brings a socket to where this box's user, and nobody else on the host, can connect to it.
   * @returns the path to bind
   */
  adopt(socket: string): string {
    if (this.#uid === null) return socket;
    let path = join(this.folder, "egress.sock");
    try {
      linkSync(socket, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      // On another file system: its folders decide whether the box can reach it, and bubblewrap says so when it cannot.
      path = socket;
    }
    chownSync(path, this.#uid, this.#uid);
    chmodSync(path, 0o600);
    return path;
  }

  /** Our ends, for the one run. */
  takePipes(): RunPipes {
    const { stdin, stdout, result, go } = this.#ours;
    if (stdin === undefined || stdout === undefined || result === undefined || go === undefined)
      throw new Error(`the box ${this.name} has run already`);
    this.#ours = {};
    return { stdin, stdout, result, go };
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  kill(): void {
    this.cgroup?.kill();
    this.#child.kill("SIGKILL");
  }

  /** After the death of all that lived in it. */
  async remove(): Promise<void> {
    for (const reading of this.early) reading.stop();
    for (const fd of Object.values(this.#ours)) closeSync(fd);
    this.#ours = {};
    const { cgroup } = this;
    for (let tries = 0; tries < removeTriesMax && cgroup !== null && !cgroup.remove(); tries += 1)
      await after(removeEveryMs);
    rmSync(this.folder, { recursive: true, force: true });
    if (this.#uid !== null) this.#host.uids?.give(this.#uid);
  }
}

function initPidFrom(status: NodeJS.ReadableStream | null): Promise<number> {
  const pid = new Promise<number>((resolve, reject) => {
    let text = "";
    status?.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const told = /"child-pid":\s*(\d+)/.exec(text)?.[1];
      if (told !== undefined) resolve(Number(told));
    });
    status?.on("error", () => undefined);
    status?.on("close", () => reject(new Error("bubblewrap said nothing of its process")));
  });
  pid.catch(() => undefined);
  return pid;
}

// One box from its order to its removal: it is parked when it is ready, runs one tool, and is dead before its result is told.
import { timeInWords } from "@signalbox/protocol";
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { isAlive, processId, sendSignal, statOf, childrenOf, type ProcessId } from "../../host/processes.ts";
import { heldLimits, type HeldLimits } from "../../limits.ts";
import type { BoxFile, BoxSpec } from "../../types.ts";
import { bwrapArgs, type BoxParts } from "./bwrap-args.ts";
import type { Cradle, EarlyReaders, RunPipes } from "./cradle.ts";
import { orderBytes } from "./launcher.ts";
import { Meter } from "./meter.ts";
import { commandOf } from "./starters.ts";
import { CappedStream, type Reading } from "./streams.ts";
import type { NativeHost } from "./types.ts";

const startMsMax = 10_000;
const deathMsMax = 10_000;
const complaintBytesMax = 2_048;
const complaintMsMax = 100;

export class Box {
  readonly held: HeldLimits;
  readonly #host: NativeHost;
  readonly #spec: BoxSpec;
  readonly #cradle: Cradle;
  #init: ProcessId | undefined;
  #meter: Meter | undefined;
  #destroyed: Promise<void> | undefined;

  private constructor(host: NativeHost, spec: BoxSpec, cradle: Cradle) {
    this.#host = host;
    this.#spec = spec;
    this.#cradle = cradle;
    this.held = heldLimits(spec.limits, spec.egressSocket !== null);
  }

  /**
   * Resolves when the box waits for its tool's run. The cradle is the box's from here on.
   * @throws Error when it cannot be made, with what bubblewrap said; then nothing of it is left
   */
  static async start(
    { host, spec, cradle }: { host: NativeHost; spec: BoxSpec; cradle: Cradle },
    files: readonly BoxFile[],
    signal: AbortSignal,
  ): Promise<Box> {
    const box = new Box(host, spec, cradle);
    try {
      await box.#launch(files, signal);
      return box;
    } catch (error) {
      await box.destroy();
      throw error;
    }
  }

  async #launch(files: readonly BoxFile[], signal: AbortSignal): Promise<void> {
    const cradle = this.#cradle;
    cradle.cgroup?.limit(this.held);
    const silent = { bytesMax: 0, bytesKill: Infinity, onFlood: () => undefined };
    const complaint = new CappedStream(silent, complaintBytesMax, () => undefined);
    cradle.readers.stderr = (chunk) => complaint.push(chunk);
    const ready = new Promise<void>((resolve) => (cradle.readers.event = () => resolve()));
    cradle.order(
      orderBytes({
        diskBytes: this.held.diskBytes,
        fdsMax: this.held.fdsMax,
        cpuSeconds: this.held.cpuSecondsPerProcess,
        command: commandOf(this.#spec, this.#host),
        boxArgs: bwrapArgs(this.#spec, this.#parts(files)),
      }),
    );
    const gone = cradle.exit.then(async () => {
      // What was said last can still be in the pipe.
      await Promise.race([Promise.all(cradle.early.map(({ ended }) => ended)), after(complaintMsMax)]);
      throw new Error(`the box did not start: ${complaint.tail.trim() || "bubblewrap ended without a word"}`);
    });
    gone.catch(() => undefined);
    const given = new AbortController();
    try {
      await Promise.race([ready, gone, untilGivenUp(AbortSignal.any([signal, given.signal]))]);
    } finally {
      given.abort();
    }
    this.#init = processId(await cradle.initPid);
    if (this.#init === undefined) throw new Error("the box died as it was started");
    this.#meter = new Meter(cradle.cgroup, this.#init.pid, this.#spec.limits);
    cradle.cgroup?.limitCpu(this.held);
  }

  #parts(files: readonly BoxFile[]): BoxParts {
    const { store, folder, guests, nodePath } = this.#host;
    const { runtime, package: code, egressSocket } = this.#spec;
    const guest = runtime === "js" || runtime === "wasm" ? guests[runtime] : undefined;
    return {
      disk: join(this.#cradle.folder, "disk"),
      starters: folder.stubs,
      etc: folder.etc,
      etcNames: readdirSync(folder.etc),
      package: code === null ? null : store.package(code.path, code.digest),
      guest: guest === undefined ? null : store.program(guest.folder),
      node: runtime === "exec" || runtime === "python" || nodePath === null ? null : store.program(nodePath),
      egress: egressSocket === null ? null : this.#cradle.adopt(egressSocket),
      files: files.map((file, index) => ({ ...file, hostPath: store.file(file.hostPath, this.#cradle.folder, index) })),
      ...system(),
    };
  }

  takePipes(): RunPipes {
    return this.#cradle.takePipes();
  }

  /** What is read from the start: whoever runs the tool says where it goes. */
  get readers(): EarlyReaders {
    return this.#cradle.readers;
  }

  get isAlive(): boolean {
    return this.#init !== undefined && isAlive(this.#init);
  }

  get early(): readonly Reading[] {
    return this.#cradle.early;
  }

  get meter(): Meter {
    if (this.#meter === undefined) throw new Error(`the box ${this.#cradle.name} is not started`);
    return this.#meter;
  }

  /** The tool's exit code as process 1 of the box tells it; null = it told nothing. */
  get exit(): Promise<number | null> {
    return this.#cradle.exit;
  }

  /** Asks the tool, and what shares its process group, to stop. */
  ask(signal: NodeJS.Signals): void {
    if (this.#init === undefined || !isAlive(this.#init)) return;
    const [tool] = childrenOf(this.#init.pid);
    const group = tool === undefined ? undefined : statOf(tool)?.group;
    if (group === undefined || group <= 1) return;
    try {
      // Process 1 of a box is deaf to it: nothing but a kill reaches it from outside.
      process.kill(-group, signal);
    } catch {
      // It ended in between.
    }
  }

  kill(): void {
    this.#cradle.kill();
    // With its process 1 the kernel ends everything in a box; with bubblewrap ends process 1.
    if (this.#init !== undefined) sendSignal(this.#init, "SIGKILL");
  }

  /** Kills, and resolves when no process of the box is left. @returns false when one would not die */
  async die(): Promise<boolean> {
    this.kill();
    await this.#cradle.exit;
    const lives = (): boolean =>
      (this.#init !== undefined && isAlive(this.#init)) || (this.#cradle.cgroup?.members().length ?? 0) > 0;
    const deadline = performance.now() + deathMsMax;
    for (let wait = 1; lives(); wait = Math.min(wait * 2, 20)) {
      if (performance.now() > deadline) return false;
      await after(wait);
      this.kill();
    }
    return true;
  }

  /** Removes every trace; idempotent. */
  destroy(): Promise<void> {
    return (this.#destroyed ??= this.#destroy());
  }

  async #destroy(): Promise<void> {
    await this.die();
    this.#meter?.close();
    await this.#cradle.remove();
  }
}

/** Rejects when it took too long or nobody waits any more. */
function untilGivenUp(signal: AbortSignal): Promise<never> {
  const never = new Promise<never>((_, reject) => {
    const late = setTimeout(() => reject(new Error(`the box was not ready after ${timeInWords(startMsMax)}`)), startMsMax);
    const given = (): void => {
      clearTimeout(late);
      reject(new Error("the box was given up"));
    };
    if (signal.aborted) given();
    else signal.addEventListener("abort", given, { once: true });
  });
  never.catch(() => undefined);
  return never;
}

/** Top-level folders of the system: most hosts have links into /usr, some have folders. */
function system(): { systemLinks: Record<string, string>; systemFolders: string[] } {
  const systemLinks: Record<string, string> = {};
  const systemFolders: string[] = [];
  for (const name of ["bin", "sbin", "lib", "lib32", "lib64", "libx32"]) {
    const stat = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) systemLinks[name] = readlinkSync(`/${name}`);
    else if (stat?.isDirectory()) systemFolders.push(name);
  }
  return { systemLinks, systemFolders };
}

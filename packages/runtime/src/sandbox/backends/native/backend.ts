// The native backend: processes in namespaces of their own, behind a filter of system calls, within control groups.
import { existsSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCgroups } from "../../host/cgroup-layout.ts";
import { removeGroup } from "../../host/cgroup.ts";
import { FifoStock } from "../../host/fifos.ts";
import { ReadableStore } from "../../host/readable.ts";
import { makeRunFolder, newOwnerName, reap, uidsFolder, writeEtc, writeReadable } from "../../host/run-folder.ts";
import { Uids } from "../../host/uids.ts";
import { limitProblems } from "../../limits.ts";
import { Pool } from "../../pool.ts";
import { assembleSeccomp, compileSeccomp } from "../../seccomp-compile.ts";
import {
  backendRanks,
  type BoxFile,
  type BoxIo,
  type BoxResult,
  type BoxSpec,
  type Invocation,
  type Probe,
  type Sandbox,
  type SandboxBackend,
  watchedLimits,
} from "../../types.ts";
import { Box } from "./box.ts";
import { Cradle } from "./cradle.ts";
import { Cradles } from "./cradles.ts";
import { isInnerPath, specProblems } from "./bwrap-args.ts";
import { canary, missing } from "./canary.ts";
import { runTool } from "./run.ts";
import { starterFiles } from "./starters.ts";
import type { NativeHost, NativeOptions } from "./types.ts";

const parkedIdleMs = 60_000;
const canaryMsMax = 5_000;
const reapEveryMs = 5_000;
const eventBytesMax = 300 * 1_024;

export class NativeBackend implements SandboxBackend {
  readonly name = "native";
  readonly #options: NativeOptions;
  readonly #onError: (error: Error) => void;
  #host: NativeHost | undefined;
  #owner = "";
  #pool: Pool<Box> | undefined;
  #cradles: Cradles | undefined;
  #reaping: NodeJS.Timeout | undefined;
  #closed = false;
  #boxes = new Set<Box>();
  #made = 0;

  constructor(options: NativeOptions = {}) {
    this.#options = options;
    this.#onError = options.onError ?? (() => undefined);
  }

  get #root(): string {
    const uid = process.getuid?.() ?? 0;
    if (this.#options.runRoot !== undefined) return this.#options.runRoot;
    if (uid === 0) return "/run/signalbox";
    const own = process.env["XDG_RUNTIME_DIR"];
    return own !== undefined && existsSync(own) ? join(own, "signalbox") : join(tmpdir(), `signalbox-${uid}`);
  }

  /** Looks at the host once; folders and groups of dead owners go first. */
  #open(): NativeHost {
    if (this.#closed) throw new Error("the native backend is closed");
    if (this.#host !== undefined) return this.#host;
    const asRoot = process.getuid?.() === 0;
    const { parkedPerClass = 1, parkedMax = 32 } = this.#options;
    const { cgroupMount = "/sys/fs/cgroup", cgroupSelf = "/proc/self/cgroup" } = this.#options;
    this.#owner = newOwnerName();
    const layout = findCgroups({ mount: cgroupMount, self: cgroupSelf, owner: this.#owner });
    reap(this.#root, layout);
    const folder = makeRunFolder(this.#root, this.#owner);
    const arch = process.arch === "arm64" ? "arm64" : "x64";
    writeEtc(folder.etc);
    writeReadable(folder.stubs, starterFiles);
    writeFileSync(folder.filter, assembleSeccomp(compileSeccomp(arch)));
    const host: NativeHost = {
      asRoot,
      arch,
      layout,
      folder,
      store: new ReadableStore(join(folder.path, "store"), asRoot),
      fifos: new FifoStock(folder.fifos),
      uids: asRoot ? new Uids(join(this.#root, uidsFolder), this.#owner, process.pid * 64) : null,
      nodePath: this.#options.nodePath ?? null,
      pythonPath: findPython(),
      guests: this.#options.guests ?? {},
      eventBytesMax: this.#options.eventBytesMax ?? eventBytesMax,
    };
    this.#host = host;
    this.#cradles = new Cradles(this.#options.cradles ?? 4, () => Cradle.make(host, this.#nextName()), this.#onError);
    this.#pool = new Pool<Box>(
      {
        start: (each) => this.#start(each, [], new AbortController().signal),
        discard: (box) => this.#remove(box),
        isFit: (box) => box.isAlive,
        now: () => performance.now(),
        onError: this.#onError,
      },
      { perClass: parkedPerClass, itemsMax: parkedMax, idleMs: parkedIdleMs, startsMax: 2 },
    );
    this.#reaping = setInterval(() => this.#reap(), reapEveryMs).unref();
    return host;
  }

  #reap(): void {
    try {
      this.#pool?.sweep();
      if (this.#host !== undefined) reap(this.#root, this.#host.layout);
    } catch (error) {
      this.#onError(error as Error);
    }
  }

  async #start(spec: BoxSpec, files: readonly BoxFile[], signal: AbortSignal): Promise<Box> {
    const host = this.#open();
    const cradle = this.#cradles?.take() ?? (await Cradle.make(host, this.#nextName()));
    const box = await Box.start({ host, spec, cradle }, files, signal);
    this.#boxes.add(box);
    return box;
  }

  #nextName(): string {
    return `b${(this.#made += 1)}`;
  }

  async #remove(box: Box): Promise<void> {
    await box.destroy();
    this.#boxes.delete(box);
  }

  async probe(): Promise<Probe> {
    const absent = missing();
    if (absent !== undefined) return { ok: false, ...absent };
    try {
      const { layout, asRoot, pythonPath } = this.#open();
      if (layout.mode === "none" && this.#options.allowBestEffortLimits !== true) return noGroups(layout.reason);
      const problem = await canary(this.#open().folder.path, (spec) => this.#canaryBox(spec));
      if (problem !== undefined) return { ok: false, ...problem };
      return {
        ok: true,
        rank: backendRanks.native,
        limitsBy: layout.mode === "none" ? watchedLimits : `cgroup ${layout.mode}`,
        notes: [
          asRoot ? "every box has a user of its own" : "boxes run as this user, in user namespaces",
          pythonPath === null ? "no Python below /usr" : `Python is ${pythonPath}`,
        ],
      };
    } catch (error) {
      return { ok: false, reason: (error as Error).message, remedy: null };
    }
  }

  async #canaryBox(spec: BoxSpec): Promise<Sandbox> {
    const box = await this.#start(spec, [], AbortSignal.timeout(canaryMsMax));
    return this.#sandbox(spec, box, { warm: false, startedAt: performance.now() });
  }

  async provision(spec: BoxSpec, signal: AbortSignal): Promise<Sandbox> {
    const problems = [...specProblems(spec), ...limitProblems(spec.limits)];
    if (problems.length > 0) throw new Error(`the native backend cannot make this box: ${problems.join("; ")}`);
    const { layout } = this.#open();
    if (layout.mode === "none" && this.#options.allowBestEffortLimits !== true)
      throw new Error(`this host cannot hold the limits of a box: ${layout.reason}`);
    const startedAt = performance.now();
    const parked = this.#pool?.take(spec);
    const box = parked ?? (await this.#start(spec, [], signal));
    return this.#sandbox(spec, box, { warm: parked !== undefined, startedAt });
  }

  #sandbox(spec: BoxSpec, first: Box, { warm, startedAt }: { warm: boolean; startedAt: number }): Sandbox {
    let box = first;
    let used = false;
    const run = async (invocation: Invocation, io: BoxIo, signal: AbortSignal): Promise<BoxResult> => {
      if (used) return lost("a box runs once");
      used = true;
      try {
        if (invocation.files.length > 0) {
          // Files are bound as the box is made, each read-only as a mount of its own: a parked box cannot have them.
          const wrong = invocation.files.find(({ path }) => !isInnerPath(path));
          if (wrong !== undefined) return lost(`${JSON.stringify(wrong.path)} is no path below the workspace`);
          await this.#remove(box);
          box = await this.#start(spec, invocation.files, signal);
        }
        // What nobody wants any more is not started at all.
        signal.throwIfAborted();
        const startMs = performance.now() - startedAt;
        return await runTool(box, spec.limits, { invocation, io, signal, startMs });
      } catch (error) {
        await box.destroy();
        return signal.aborted ? { ...lost(""), end: { reason: "cancelled" } } : lost((error as Error).message);
      }
    };
    const destroy = async (): Promise<void> => {
      await this.#remove(box);
      // Each costs a fork, which nobody who waits for this end should pay.
      setImmediate(() => {
        this.#cradles?.refill();
        this.#pool?.refill();
      });
    };
    return { boxId: spec.boxId, warm, run, destroy };
  }

  warm(spec: BoxSpec, count: number): void {
    this.#open();
    this.#pool?.want(spec, count);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#reaping);
    await Promise.all([this.#pool?.close(), this.#cradles?.close()]);
    await Promise.all([...this.#boxes].map((box) => this.#remove(box)));
    const host = this.#host;
    if (host === undefined) return;
    const { layout } = host;
    if (layout.mode === "v2") removeGroup(layout.base);
    if (layout.mode === "v1")
      for (const base of [layout.memory, layout.pids, layout.cpu, layout.cpuacct, layout.kill ?? []].flat())
        removeGroup(base);
    rmSync(host.folder.path, { recursive: true, force: true });
  }
}

function noGroups(reason: string): Probe {
  return {
    ok: false,
    reason: `this user may not make control groups, so memory, processes and CPU of a box cannot be held: ${reason}`,
    remedy:
      "run the worker as root, or where control groups are delegated to it: systemd-run --user --scope -p Delegate=yes signalbox worker",
  };
}

function lost(message: string): BoxResult {
  return {
    end: { reason: "lost", message },
    resultText: null,
    truncated: [],
    stderrTail: "",
    usage: { startMs: 0, durationMs: 0, cpuMs: 0, peakMemoryBytes: null, egressBytes: 0 },
  };
}

/** A real interpreter of the system: what version managers put in the way does not work in a box. */
function findPython(): string | null {
  for (const path of ["/usr/bin/python3", "/usr/local/bin/python3"]) {
    if (existsSync(path) && realpathSync(path).startsWith("/usr/")) return path;
  }
  return null;
}

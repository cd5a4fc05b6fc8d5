// The guest program as an ordinary child process, for hosts without boxes: one wall in place of two, so only who says so by name gets it.
import { timeInWords } from "@signalbox/protocol";
import { spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { orderText, orderVariable, readOrder } from "../../guest/order.ts";
import { endOfCode } from "../../outcome.ts";
import type { BoxEnd, BoxFile, BoxIo, BoxLimits, BoxResult, BoxSpec, Invocation, Probe, Sandbox } from "../../types.ts";
import { CappedStream, Lines, WholeText } from "../native/streams.ts";
import { nodeArgs, type GuestFolder } from "./guest-folder.ts";

/** What holds the guest's process: the native backend, or this. */
export interface OuterBackend {
  probe(): Promise<Probe>;
  provision(spec: BoxSpec, signal: AbortSignal): Promise<Sandbox>;
  warm?(spec: BoxSpec, count: number): void;
}

/** Of a guest without a box around it. */
const plainRank = 20;
const startMsMax = 10_000;
const tailBytes = 4_096;
const eventBytesMax = 300 * 1_024;
/** How often the limit of a stream may be written before the guest is killed for it. */
const floodFactor = 16;
const goFd = 8;

export function createPlainOuter(nodePath: string, folder: GuestFolder): OuterBackend {
  return {
    probe: async () => ({
      ok: true,
      rank: plainRank,
      limitsBy: "the guest alone: memory, time and output; CPU and processes are not held",
      notes: ["no box stands around the guest"],
    }),
    async provision(spec, signal) {
      signal.throwIfAborted();
      const scratch = mkdtempSync(join(tmpdir(), "signalbox-plain-"));
      try {
        const child = start(nodePath, folder, spec, scratch);
        await ready(child, signal);
        return sandbox(spec, child, scratch);
      } catch (error) {
        rmSync(scratch, { recursive: true, force: true });
        throw error;
      }
    },
  };
}

function start(nodePath: string, folder: GuestFolder, spec: BoxSpec, scratch: string): ChildProcess {
  const packageRoot = spec.package?.path ?? null;
  const order = readOrder(spec.env[orderVariable] ?? "null");
  const readable = [folder.path, scratch, ...(packageRoot === null ? [] : [packageRoot])];
  const child = spawn(nodePath, [...nodeArgs(readable), join(folder.path, folder.entry), spec.entry], {
    cwd: scratch,
    env: { ...spec.env, [orderVariable]: orderText({ ...order, packageRoot, workspaceRoot: scratch }) },
    // 0 to 4 are the tool's, 8 is the go; what lies between belongs to boxes.
    stdio: ["pipe", "pipe", "pipe", "pipe", "pipe", "ignore", "ignore", "ignore", "pipe"],
  });
  // A guest that is killed breaks its pipes: how it ended is told by its exit.
  for (const pipe of child.stdio) pipe?.on("error", () => undefined);
  return child;
}

/** Resolves at the first line of descriptor 4. */
function ready(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const events = child.stdio[4] as Readable;
  return new Promise((resolve, reject) => {
    const give = (error: Error): void => {
      child.kill("SIGKILL");
      reject(error);
    };
    const late = setTimeout(() => give(new Error(`the guest was not ready after ${timeInWords(startMsMax)}`)), startMsMax);
    const aborted = (): void => give(new Error("the guest was given up"));
    signal.addEventListener("abort", aborted, { once: true });
    child.once("error", give);
    child.once("exit", (code) => give(new Error(`the guest did not start: exit code ${code}`)));
    const heard = (): void => {
      // The one line is all that it writes before it is let go; without it this is the end of the pipe.
      if (events.read() === null) return;
      events.off("readable", heard);
      clearTimeout(late);
      signal.removeEventListener("abort", aborted);
      child.removeAllListeners("exit");
      resolve();
    };
    events.on("readable", heard);
  });
}

function sandbox(spec: BoxSpec, child: ChildProcess, scratch: string): Sandbox {
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    boxId: spec.boxId,
    warm: false,
    async run(invocation, io, signal) {
      placeFiles(invocation.files, scratch);
      return runPlain(child, spec.limits, { invocation, io, signal });
    },
    async destroy() {
      child.kill("SIGKILL");
      for (const pipe of child.stdio) pipe?.destroy();
      await gone;
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

function placeFiles(files: readonly BoxFile[], scratch: string): void {
  for (const { path, hostPath } of files) {
    mkdirSync(dirname(join(scratch, path)), { recursive: true });
    copyFileSync(hostPath, join(scratch, path));
  }
}

interface Run {
  readonly invocation: Invocation;
  readonly io: BoxIo;
  readonly signal: AbortSignal;
}

async function runPlain(child: ChildProcess, limits: BoxLimits, { invocation, io, signal }: Run): Promise<BoxResult> {
  const startedAt = performance.now();
  let claimed: BoxEnd | undefined;
  // A guest has nothing to tidy up: there is no grace.
  const kill = (end: BoxEnd): void => {
    claimed ??= end;
    child.kill("SIGKILL");
  };
  const cancel = (): void => kill({ reason: "cancelled" });
  const late = setTimeout(() => kill({ reason: "timeout" }), limits.timeoutMs);
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  const outputs = connect(child, limits, { invocation, io, kill });
  const exit = new Promise<BoxEnd>((resolve) => {
    child.once("close", (code, name) =>
      resolve(name === null ? endOfCode(code ?? 0) : { reason: "crashed", signal: name }),
    );
  });
  const pipes: readonly unknown[] = child.stdio;
  (pipes[goFd] as Writable).end("\n");
  const input = child.stdio[0] as Writable;
  input.end(invocation.requestJson);
  const end = await exit;
  await outputs.read;
  clearTimeout(late);
  signal.removeEventListener("abort", cancel);
  const { stdout, stderr, result } = outputs;
  return {
    end: claimed ?? end,
    resultText: result.text,
    truncated: [...(stdout.truncated ? (["stdout"] as const) : []), ...(stderr.truncated ? (["stderr"] as const) : [])],
    stderrTail: stderr.tail,
    usage: {
      startMs: 0,
      durationMs: performance.now() - startedAt,
      cpuMs: 0,
      peakMemoryBytes: null,
      egressBytes: 0,
    },
  };
}

interface Connected {
  readonly stdout: CappedStream;
  readonly stderr: CappedStream;
  readonly result: WholeText;
  readonly read: Promise<unknown>;
}

function connect(
  child: ChildProcess,
  limits: BoxLimits,
  { invocation, io, kill }: { invocation: Invocation; io: BoxIo; kill(end: BoxEnd): void },
): Connected {
  const over = (limit: number) => (observed: number) =>
    kill({ reason: "exceeded", resource: "output", limit, observed });
  const bytesKill = limits.outputBytes * floodFactor;
  const capped = { bytesMax: limits.outputBytes, bytesKill, onFlood: over(bytesKill) };
  const stdout = new CappedStream(capped, 0, (chunk) => io.stdout(chunk));
  const stderr = new CappedStream(capped, tailBytes, (chunk) => io.stderr(chunk));
  const result = new WholeText(limits.resultBytes, over(limits.resultBytes));
  let eventBytes = 0;
  const lines = new Lines(eventBytesMax, over(limits.outputBytes), (line) => {
    eventBytes += line.length;
    return eventBytes > bytesKill ? over(bytesKill)(eventBytes) : io.event(line);
  });
  const fromStdout = invocation.resultFrom === "stdout";
  const read = Promise.all([
    drain(child.stdio[1], (chunk) => (fromStdout ? result.push(chunk) : stdout.push(chunk))),
    drain(child.stdio[2], (chunk) => stderr.push(chunk)),
    drain(child.stdio[3], (chunk) => (fromStdout ? undefined : result.push(chunk))),
    drain(child.stdio[4], (chunk) => lines.push(chunk)),
  ]);
  return { stdout, stderr, result, read };
}

async function drain(pipe: unknown, take: (chunk: Buffer) => void | Promise<void>): Promise<void> {
  try {
    for await (const chunk of pipe as AsyncIterable<Buffer>) {
      const taken = take(chunk);
      if (taken !== undefined) await taken;
    }
  } catch {
    // Its other end was killed: what was read stays read.
  }
}

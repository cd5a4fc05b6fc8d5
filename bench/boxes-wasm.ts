// Measures guests: first byte of a parked one in its box, of a process that is used again, of a cold one, and many alive; says the times in one JSON line.
//
//   node bench/boxes-wasm.ts [runs each, default 200] [alive at once, default 200]
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type * as Native from "../packages/runtime/src/sandbox/backends/native/backend.ts";
import type * as Wasm from "../packages/runtime/src/sandbox/backends/wasm/backend.ts";
import type * as Folders from "../packages/runtime/src/sandbox/backends/wasm/guest-folder.ts";
import type * as Orders from "../packages/runtime/src/sandbox/guest/order.ts";
import type { BoxSpec, Sandbox, SandboxBackend } from "../packages/runtime/src/sandbox/types.ts";
import type { Alive, GuestTimings, Timed } from "./box-figures.ts";
import { built } from "./built.ts";

// Of the sources the guest program would be slower to start: they are compiled first.
const { NativeBackend } = (await built("sandbox/backends/native/backend.js")) as typeof Native;
const { WasmBackend } = (await built("sandbox/backends/wasm/backend.js")) as typeof Wasm;
const { makeGuestFolder, nodeArgs } = (await built("sandbox/backends/wasm/guest-folder.js")) as typeof Folders;
const { orderText, orderVariable } = (await built("sandbox/guest/order.js")) as typeof Orders;

const MiB = 1_048_576;
/** So that what is made in the background is made between two measurements, and not during one. */
const restMs = 400;
/** The first few find nothing in caches. */
const firstRuns = 5;
const never = new AbortController().signal;
const code = "console.log('hi'); input.n + 1";
const request = `${JSON.stringify({ args: { code, input: { n: 41 } }, context: {}, secrets: {} })}\n`;

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const spec: BoxSpec = {
  boxId: "bench",
  tenant: "bench",
  tool: "code.run",
  version: "1.0.0",
  runtime: "js",
  entry: "code",
  package: null,
  limits: {
    cpu: 1,
    cpuSeconds: 10,
    memoryBytes: 32 * MiB,
    diskBytes: 4 * MiB,
    pids: 1,
    fds: 16,
    timeoutMs: 60_000,
    graceMs: 0,
    outputBytes: MiB,
    resultBytes: MiB,
    egressBytes: 0,
  },
  env: {},
  egressSocket: null,
};

interface Sample {
  readonly firstByteMs: number;
  /** Until the process is dead and the result is known. */
  readonly wholeMs: number;
  readonly warm: boolean;
  readonly good: boolean;
}

async function once(backend: SandboxBackend, id: string): Promise<Sample> {
  const startedAt = performance.now();
  let firstByteAt = Number.NaN;
  const sandbox = await backend.provision({ ...spec, boxId: id }, never);
  const io = {
    stdout: () => void (firstByteAt ||= performance.now()),
    stderr: () => undefined,
    event: () => undefined,
  };
  const { resultText } = await sandbox.run({ requestJson: request, files: [], resultFrom: "fd3" }, io, never);
  const endedAt = performance.now();
  await sandbox.destroy();
  return {
    firstByteMs: firstByteAt - startedAt,
    wholeMs: endedAt - startedAt,
    warm: sandbox.warm,
    good: resultText === "42" && firstByteAt > 0,
  };
}

function gathered(samples: readonly Sample[], pick: (sample: Sample) => number): Timed {
  const good = samples.filter((sample) => sample.good);
  return { ms: good.map(pick), errors: samples.length - good.length };
}

/** The same Node as a guest's, with nothing to run but a word. */
function bareNode(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ["-e", "console.log('hi')"], { stdio: ["ignore", "pipe", "ignore"], env: {} });
  let firstByteMs = Number.NaN;
  child.stdout.once("data", () => (firstByteMs = performance.now() - startedAt));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(firstByteMs));
  });
}

async function withBackend<T>(folder: Folders.GuestFolder, use: (backend: SandboxBackend) => Promise<T>): Promise<T> {
  const outer = new NativeBackend({
    nodePath: process.execPath,
    guests: folder.guests,
    allowBestEffortLimits: true,
    parkedPerClass: 0,
  });
  const backend = new WasmBackend({ folder, nodePath: process.execPath, outer });
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new Error(`boxes for guests are not available here: ${probe.reason}; ${probe.remedy ?? ""}`);
    return await use(backend);
  } finally {
    await backend.close();
    await outer.close();
  }
}

/** @param between what is measured in turns with it */
function series(
  folder: Folders.GuestFolder,
  runs: number,
  parked: number,
  between: (run: number) => Promise<void>,
): Promise<readonly Sample[]> {
  return withBackend(folder, async (backend) => {
    const samples: Sample[] = [];
    if (parked > 0) backend.warm?.(spec, parked);
    for (let run = -firstRuns; run < runs; run += 1) {
      await between(run);
      await rest(restMs);
      const sample = await once(backend, `bench-${run + firstRuns}`);
      if (run >= 0) samples.push(sample);
    }
    return samples;
  });
}

/** One process for all requests, a fresh instance for each: what a guest itself costs, without a box. */
async function reused(folder: Folders.GuestFolder, runs: number): Promise<Timed> {
  const order = orderText({
    guest: "js",
    entry: "code",
    packageRoot: null,
    workspaceRoot: folder.path,
    nonce: "bench",
    env: {},
    memoryBytes: spec.limits.memoryBytes,
    timeoutMs: spec.limits.timeoutMs,
    resultBytes: spec.limits.resultBytes,
    runs: runs + firstRuns,
  });
  const child = spawn(process.execPath, [...nodeArgs([folder.path]), join(folder.path, folder.entry)], {
    env: { [orderVariable]: order },
    stdio: ["pipe", "ignore", "inherit", "pipe", "pipe", "ignore", "ignore", "ignore", "pipe"],
  });
  const pipes: readonly unknown[] = child.stdio;
  const [input, go] = [pipes[0], pipes[8]] as Writable[];
  const answers = createInterface({ input: pipes[3] as Readable })[Symbol.asyncIterator]();
  const samples: number[] = [];
  let errors = 0;
  try {
    await new Promise((resolve) => (pipes[4] as Readable).once("data", resolve));
    go?.end("\n");
    for (let run = 0; run < runs + firstRuns; run += 1) {
      await rest(restMs / 20);
      const startedAt = performance.now();
      input?.write(request);
      const { value } = (await answers.next()) as { value?: string };
      if (run >= firstRuns) samples.push(performance.now() - startedAt);
      if (value !== `{"reason":"done","resultText":"42"}`) errors += 1;
    }
  } finally {
    child.kill("SIGKILL");
  }
  return { ms: samples, errors };
}

/** Parked guests: each is a process with its engine compiled and its instance made, in a box of its own; then each answers. */
function alive(folder: Folders.GuestFolder, count: number): Promise<Alive> {
  return withBackend(folder, async (backend) => {
    const startedAt = performance.now();
    let [failed, next] = [0, 0];
    const boxes: Sandbox[] = [];
    const lane = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        const made = backend.provision({ ...spec, boxId: `alive-${next}` }, never);
        await made.then((box) => boxes.push(box)).catch(() => (failed += 1));
      }
    };
    await Promise.all(Array.from({ length: 4 }, lane));
    const tookMs = performance.now() - startedAt;
    const silent = { stdout: () => undefined, stderr: () => undefined, event: () => undefined };
    for (const box of boxes) {
      const { resultText } = await box.run({ requestJson: request, files: [], resultFrom: "fd3" }, silent, never);
      if (resultText !== "42") failed += 1;
    }
    await Promise.all(boxes.map((box) => box.destroy()));
    return { asked: count, together: boxes.length, failed, tookMs };
  });
}

export async function timeGuests(runs: number, count: number): Promise<GuestTimings> {
  const folder = makeGuestFolder();
  try {
    const fresh = await series(folder, runs, 4, async () => undefined);
    const nodeMs: number[] = [];
    const cold = await series(folder, runs, 0, async (run) => {
      const ms = await bareNode();
      if (run >= 0) nodeMs.push(ms);
    });
    const node = nodeMs.filter((ms) => !Number.isNaN(ms));
    return {
      fresh: {
        ...gathered(fresh, ({ firstByteMs }) => firstByteMs),
        missed: fresh.filter(({ warm }) => !warm).length,
      },
      reused: await reused(folder, runs),
      whole: gathered(fresh, ({ wholeMs }) => wholeMs),
      cold: gathered(cold, ({ firstByteMs }) => firstByteMs),
      node: { ms: node, errors: nodeMs.length - node.length },
      alive: await alive(folder, count),
    };
  } finally {
    folder.remove();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [runs = 200, count = 200] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify({ boxes: true, ...(await timeGuests(runs, count)) })}\n`);
}

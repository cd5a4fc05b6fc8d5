// Measures guests: first byte of a parked one in its box, of a process that is used again, of a cold one, and many alive; one JSON line per figure.
//
//   node bench/boxes-wasm.ts [runs each, default 200] [alive at once, default 200]
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { NativeBackend } from "../packages/runtime/src/sandbox/backends/native/backend.ts";
import { WasmBackend } from "../packages/runtime/src/sandbox/backends/wasm/backend.ts";
import {
  makeGuestFolder,
  nodeArgs,
  type GuestFolder,
} from "../packages/runtime/src/sandbox/backends/wasm/guest-folder.ts";
import { orderText, orderVariable } from "../packages/runtime/src/sandbox/guest/order.ts";
import type { BoxSpec, Sandbox } from "../packages/runtime/src/sandbox/types.ts";
import { cleanUp } from "./children.ts";
import type { Figure } from "./figures.ts";
import { dataParent, readMachine, readVersions, type MeasuredMachine, type Versions } from "./machine.ts";
import { jsonLine } from "./report.ts";
import { percentile } from "./statistics.ts";

const MiB = 1_048_576;
const targets = { fresh: 8, reused: 2 } as const;
/** So that what is made in the background is made between two measurements, and not during one. */
const restMs = 400;
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

async function once(backend: WasmBackend, id: string): Promise<Sample> {
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

function figure(name: string, values: readonly number[], target: number | null, errors: number): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number | null => percentile(sorted, share) ?? null;
  const p95 = at(0.95);
  return {
    figure: name,
    value: p95,
    unit: "ms p95",
    target: target === null ? null : `< ${target} ms`,
    ok: target === null ? null : p95 !== null && p95 < target && errors === 0,
    n: sorted.length,
    p50: at(0.5),
    p95,
    p99: at(0.99),
    max: sorted.at(-1) ?? null,
    errors,
  };
}

async function withBackend<T>(folder: GuestFolder, use: (backend: WasmBackend) => Promise<T>): Promise<T> {
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

function series(folder: GuestFolder, runs: number, parked: number): Promise<readonly Sample[]> {
  return withBackend(folder, async (backend) => {
    const samples: Sample[] = [];
    if (parked > 0) backend.warm(spec, parked);
    for (let run = 0; run < runs + firstRuns; run += 1) {
      await rest(restMs);
      const sample = await once(backend, `bench-${run}`);
      // The first few find nothing in caches.
      if (run >= firstRuns) samples.push(sample);
    }
    return samples;
  });
}

/** One process for all requests, a fresh instance for each: what a guest itself costs, without a box. */
async function reused(folder: GuestFolder, runs: number): Promise<Figure> {
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
  return figure("box.wasm.reused", samples, targets.reused, errors);
}

/** Parked guests: each is a process with its engine compiled and its instance made, in a box of its own; then each answers. */
function alive(folder: GuestFolder, count: number): Promise<Figure> {
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
    return {
      figure: "box.wasm.alive",
      value: boxes.length,
      unit: "guests at once",
      target: `${count}, none failing`,
      ok: boxes.length === count && failed === 0,
      n: count,
      p50: null,
      p95: null,
      p99: null,
      max: tookMs,
      errors: failed,
    };
  });
}

/** All figures of guests. */
export async function measureGuests(runs: number, count: number): Promise<readonly Figure[]> {
  const folder = makeGuestFolder();
  try {
    const fresh = await series(folder, runs, 4);
    const cold = await series(folder, Math.ceil(runs / 4), 0);
    const errors = (samples: readonly Sample[]): number => samples.filter(({ good }) => !good).length;
    const firstBytes = (samples: readonly Sample[]): readonly number[] => samples.map(({ firstByteMs }) => firstByteMs);
    const missed = fresh.filter(({ warm }) => !warm).length;
    return [
      {
        ...figure("box.wasm.fresh", firstBytes(fresh), targets.fresh, errors(fresh)),
        ...(missed === 0 ? {} : { reason: `${missed} of them found no guest ready` }),
      },
      await reused(folder, runs),
      figure(
        "box.wasm.whole",
        fresh.map(({ wholeMs }) => wholeMs),
        null,
        errors(fresh),
      ),
      figure("box.wasm.cold", firstBytes(cold), null, errors(cold)),
      await alive(folder, count),
    ];
  } finally {
    folder.remove();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [runs = 200, count = 200] = process.argv.slice(2).map(Number);
  const repo = fileURLToPath(new URL("..", import.meta.url));
  const machine: MeasuredMachine = { ...readMachine(dataParent(repo)), others_cpu_percent: null };
  const versions: Versions = readVersions(repo);
  for (const line of await measureGuests(runs, count)) process.stdout.write(`${jsonLine(line, machine, versions)}\n`);
  await cleanUp();
}

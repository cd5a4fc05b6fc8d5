// Measures native boxes: first byte of a cold and of a warm one, removal, and many alive at once; one JSON line per figure.
//
//   node bench/boxes.ts [runs each, default 200] [alive at once, default 200]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NativeBackend } from "../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { BoxSpec, Sandbox } from "../packages/runtime/src/sandbox/types.ts";
import { cleanUp } from "./children.ts";
import type { Figure } from "./figures.ts";
import { dataParent, readMachine, readVersions, type MeasuredMachine, type Versions } from "./machine.ts";
import { jsonLine } from "./report.ts";
import { percentile } from "./statistics.ts";

const MiB = 1_048_576;
const targets = { cold: 25, warm: 8, teardown: 30 } as const;
/** So that what is made in the background is made between two measurements, and not during one. */
const restMs = 60;
const never = new AbortController().signal;

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function specOf(folder: string, code: string): BoxSpec {
  const path = join(folder, Buffer.from(code).toString("hex").slice(0, 16));
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "main"), `#!/bin/sh\n${code}\n`, { mode: 0o755 });
  return {
    boxId: "bench",
    tenant: "bench",
    tool: "bench.box",
    version: "1.0.0",
    runtime: "exec",
    entry: "main",
    package: { path, digest: path },
    limits: {
      cpu: 1,
      cpuSeconds: 10,
      memoryBytes: 32 * MiB,
      diskBytes: 4 * MiB,
      pids: 16,
      fds: 64,
      timeoutMs: 60_000,
      graceMs: 0,
      outputBytes: MiB,
      resultBytes: MiB,
      egressBytes: 0,
    },
    env: {},
    egressSocket: null,
  };
}

interface Sample {
  readonly firstByteMs: number;
  readonly teardownMs: number;
  readonly warm: boolean;
  readonly good: boolean;
}

async function once(backend: NativeBackend, spec: BoxSpec, id: string): Promise<Sample> {
  const startedAt = performance.now();
  let firstByteAt = Number.NaN;
  const sandbox = await backend.provision({ ...spec, boxId: id }, never);
  const io = {
    stdout: () => void (firstByteAt ||= performance.now()),
    stderr: () => undefined,
    event: () => undefined,
  };
  const { end } = await sandbox.run({ requestJson: "{}", files: [], resultFrom: "fd3" }, io, never);
  const endedAt = performance.now();
  await sandbox.destroy();
  return {
    firstByteMs: firstByteAt - startedAt,
    teardownMs: performance.now() - endedAt,
    warm: sandbox.warm,
    good: end.reason === "exited" && end.code === 0 && firstByteAt > 0,
  };
}

function figure(name: string, values: readonly number[], target: number, errors: number): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number | null => percentile(sorted, share) ?? null;
  const p95 = at(0.95);
  return {
    figure: name,
    value: p95,
    unit: "ms p95",
    target: `< ${target} ms`,
    ok: p95 !== null && p95 < target && errors === 0,
    n: sorted.length,
    p50: at(0.5),
    p95,
    p99: at(0.99),
    max: sorted.at(-1) ?? null,
    errors,
  };
}

async function series(runs: number, folder: string, warm: boolean): Promise<readonly Sample[]> {
  const backend = new NativeBackend({ allowBestEffortLimits: true, parkedPerClass: 0 });
  const samples: Sample[] = [];
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new Error(`native boxes are not available here: ${probe.reason}; ${probe.remedy ?? ""}`);
    const spec = specOf(folder, "echo hi");
    if (warm) backend.warm(spec, 2);
    for (let run = 0; run < runs + 5; run += 1) {
      await rest(restMs);
      const sample = await once(backend, spec, `bench-${run}`);
      // The first few find nothing in caches.
      if (run >= 5) samples.push(sample);
    }
    return samples;
  } finally {
    await backend.close();
  }
}

async function alive(count: number, folder: string): Promise<Figure> {
  const backend = new NativeBackend({ allowBestEffortLimits: true, parkedPerClass: 0 });
  const startedAt = performance.now();
  let [up, failed] = [0, 0];
  const abort = new AbortController();
  try {
    const spec = { ...specOf(folder, "echo up; sleep 60") };
    const boxes: Sandbox[] = [];
    const one = async (index: number): Promise<void> => {
      const sandbox = await backend.provision({ ...spec, boxId: `alive-${index}` }, never);
      boxes.push(sandbox);
      const told = new Promise<void>((resolve) => {
        const io = { stdout: () => resolve(void (up += 1)), stderr: () => undefined, event: () => undefined };
        void sandbox.run({ requestJson: "{}", files: [], resultFrom: "fd3" }, io, abort.signal).then(({ end }) => {
          if (end.reason !== "cancelled") failed += 1;
          resolve();
        });
      });
      await told;
    };
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) await one((next += 1)).catch(() => (failed += 1));
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    const tookMs = performance.now() - startedAt;
    const together = up - failed;
    abort.abort();
    await Promise.all(boxes.map((box) => box.destroy()));
    const empty = { p50: null, p95: null, p99: null, max: tookMs };
    return {
      figure: "box.native.alive",
      value: together,
      unit: "boxes at once",
      target: `${count}, none failing`,
      ok: together === count && failed === 0,
      n: count,
      ...empty,
      errors: failed,
    };
  } finally {
    await backend.close();
  }
}

/** All figures of native boxes. */
export async function measureBoxes(runs: number, count: number): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-boxes-"));
  try {
    const cold = await series(runs, folder, false);
    const warm = await series(runs, folder, true);
    const errors = (samples: readonly Sample[]): number => samples.filter(({ good }) => !good).length;
    const firstBytes = (samples: readonly Sample[]): readonly number[] => samples.map(({ firstByteMs }) => firstByteMs);
    // One that found no box ready is a cold start, and counts: that is what its caller got.
    const missed = warm.filter((sample) => !sample.warm).length;
    return [
      figure("box.native.cold", firstBytes(cold), targets.cold, errors(cold)),
      {
        ...figure("box.native.warm", firstBytes(warm), targets.warm, errors(warm)),
        ...(missed === 0 ? {} : { reason: `${missed} of them found no box ready` }),
      },
      figure(
        "box.teardown",
        [...cold, ...warm].map(({ teardownMs }) => teardownMs),
        targets.teardown,
        0,
      ),
      await alive(count, folder),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [runs = 200, count = 200] = process.argv.slice(2).map(Number);
  const repo = fileURLToPath(new URL("..", import.meta.url));
  const machine: MeasuredMachine = { ...readMachine(dataParent(repo)), others_cpu_percent: null };
  const versions: Versions = readVersions(repo);
  for (const line of await measureBoxes(runs, count)) process.stdout.write(`${jsonLine(line, machine, versions)}\n`);
  await cleanUp();
}

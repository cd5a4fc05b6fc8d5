// Measures native boxes: first byte of a cold and of a warm one, removal, and many alive at once; says the times in one JSON line.
//
//   node bench/boxes.ts [runs each, default 200] [alive at once, default 200]
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as Native from "../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { BoxSpec, Sandbox, SandboxBackend } from "../packages/runtime/src/sandbox/types.ts";
import type { Alive, NativeTimings, Timed } from "./box-figures.ts";
import { built } from "./built.ts";

const { NativeBackend } = (await built("sandbox/backends/native/backend.js")) as typeof Native;

const MiB = 1_048_576;
/** So that what is made in the background is made between two measurements, and not during one. */
const restMs = 60;
/** The first few find nothing in caches. */
const firstRuns = 5;
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

async function once(backend: SandboxBackend, spec: BoxSpec, id: string): Promise<Sample> {
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

/** What anybody would type: a box with nothing held or counted, that says a word. */
const byHand = [
  "--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib",
  "--symlink usr/lib64 /lib64 --proc /proc --dev /dev /bin/sh -c",
].flatMap((line) => line.split(" "));

function bareBwrap(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn("bwrap", [...byHand, "echo hi"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"] ?? "" },
  });
  let firstByteMs = Number.NaN;
  child.stdout.once("data", () => (firstByteMs = performance.now() - startedAt));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(firstByteMs));
  });
}

function gathered(samples: readonly Sample[], pick: (sample: Sample) => number): Timed {
  const good = samples.filter((sample) => sample.good);
  return { ms: good.map(pick), errors: samples.length - good.length };
}

/** @param between what is measured in turns with it */
async function series(
  runs: number,
  folder: string,
  warm: boolean,
  between: (run: number) => Promise<void>,
): Promise<readonly Sample[]> {
  const backend = new NativeBackend({ allowBestEffortLimits: true, parkedPerClass: 0 });
  const samples: Sample[] = [];
  try {
    const probe = await backend.probe();
    if (!probe.ok) throw new Error(`native boxes are not available here: ${probe.reason}; ${probe.remedy ?? ""}`);
    const spec = specOf(folder, "echo hi");
    if (warm) backend.warm(spec, 2);
    for (let run = -firstRuns; run < runs; run += 1) {
      await between(run);
      await rest(restMs);
      const sample = await once(backend, spec, `bench-${run + firstRuns}`);
      if (run >= 0) samples.push(sample);
    }
    return samples;
  } finally {
    await backend.close();
  }
}

async function alive(count: number, folder: string): Promise<Alive> {
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
    return { asked: count, together, failed, tookMs };
  } finally {
    await backend.close();
  }
}

export async function timeBoxes(runs: number, count: number): Promise<NativeTimings> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-boxes-"));
  try {
    const bwrapMs: number[] = [];
    const cold = await series(runs, folder, false, async (run) => {
      await rest(restMs);
      const ms = await bareBwrap();
      if (run >= 0) bwrapMs.push(ms);
    });
    const warm = await series(runs, folder, true, async () => undefined);
    const bwrap = bwrapMs.filter((ms) => !Number.isNaN(ms));
    return {
      cold: gathered(cold, ({ firstByteMs }) => firstByteMs),
      warm: {
        ...gathered(warm, ({ firstByteMs }) => firstByteMs),
        missed: warm.filter((sample) => !sample.warm).length,
      },
      teardown: gathered([...cold, ...warm], ({ teardownMs }) => teardownMs),
      bwrap: { ms: bwrap, errors: bwrapMs.length - bwrap.length },
      alive: await alive(count, folder),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [runs = 200, count = 200] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify({ boxes: true, ...(await timeBoxes(runs, count)) })}\n`);
}

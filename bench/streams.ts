// Measures output on its way through Server-Sent Events: how soon the first byte comes, how fast a flood does, what the runtime
// holds of it in memory, and what it costs a call beside it.
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { startNode } from "./children.ts";
import { residentBytes } from "./procfs.ts";
import { startRuntime } from "./subjects.ts";

export interface StreamTimings {
  /** From the request to the first byte of output, ms, sorted. */
  readonly firstMs: readonly number[];
  readonly flood: Flood;
  /** Calls of the echo with nothing beside them, and while the flood ran, ms, sorted. */
  readonly aloneMs: readonly number[];
  readonly besideMs: readonly number[];
}

export interface Flood {
  readonly bytes: number;
  readonly seconds: number;
  /** Of the runtime: before the flood, when it has grown to what a flood takes; after it; and at most. */
  readonly residentBefore: number;
  readonly residentAfter: number;
  readonly residentPeak: number;
  /** Bytes that the handlers wrote and no reader got: each of them was told of as a gap. */
  readonly lost: number;
}

export interface StreamPlan {
  readonly firsts: number;
  /** Each is a call that writes 16 MiB, the most that one call may. */
  readonly floods: number;
  /** Before them: what a process grows to once is not what it grows by. */
  readonly warmUpFloods: number;
}

const bytesPerFlood = 16 * 1024 * 1024;
const chunkBytes = 64 * 1024;
/** At a time. */
const floodsAbreast = 2;
const here = import.meta.dirname;
const lookEveryMs = 50;

interface Runtime {
  readonly origin: string;
  readonly key: string;
  readonly pid: number;
}

export async function timeStreams(parent: string, plan: StreamPlan): Promise<StreamTimings> {
  const { child, ready } = await startRuntime(parent);
  const { key } = JSON.parse(readFileSync(String(ready["key_file"]), "utf8")) as { key: string };
  const env = { SIGNALBOX_BENCH_ADDRESS: String(ready["grpc"]), SIGNALBOX_BENCH_KEY: key };
  const workers = ["stream-worker.ts", "worker.ts"].map((file) =>
    startNode(`the worker ${file}`, [join(here, file)], env),
  );
  const runtime: Runtime = { origin: String(ready["url"]), key, pid: child.pid };
  try {
    // They wait in the queue until the workers are there.
    await Promise.all([readStream(runtime, "stream.say", {}), echo(runtime)]);
    const firstMs: number[] = [];
    for (let count = 0; count < plan.firsts; count++)
      firstMs.push((await readStream(runtime, "stream.say", {})).firstMs);
    const aloneMs: number[] = [];
    for (let count = 0; count < plan.firsts; count++) aloneMs.push(await echo(runtime));
    await floodOf(runtime, plan.warmUpFloods);
    const besideMs: number[] = [];
    let over = false;
    const beside = (async () => {
      while (!over) besideMs.push(await echo(runtime));
    })();
    const flood = await floodOf(runtime, plan.floods);
    over = true;
    await beside;
    for (const list of [firstMs, aloneMs, besideMs]) list.sort((one, other) => one - other);
    return { firstMs, aloneMs, besideMs, flood };
  } finally {
    await Promise.all([...workers, child].map((one) => one.stop()));
  }
}

async function floodOf(runtime: Runtime, floods: number): Promise<Flood> {
  const residentBefore = residentBytes(runtime.pid);
  let residentPeak = residentBefore;
  const looking = setInterval(() => (residentPeak = Math.max(residentPeak, residentBytes(runtime.pid))), lookEveryMs);
  const began = performance.now();
  let [bytes, begun] = [0, 0];
  const lane = async (): Promise<void> => {
    while (begun++ < floods) {
      const { outputBytes } = await readStream(runtime, "stream.flood", { chunks: bytesPerFlood / chunkBytes });
      bytes += outputBytes;
    }
  };
  try {
    await Promise.all(Array.from({ length: floodsAbreast }, lane));
  } finally {
    clearInterval(looking);
  }
  const seconds = (performance.now() - began) / 1_000;
  return {
    bytes,
    seconds,
    residentBefore,
    residentAfter: residentBytes(runtime.pid),
    residentPeak,
    lost: floods * bytesPerFlood - bytes,
  };
}

interface Read {
  readonly firstMs: number;
  readonly outputBytes: number;
}

/** Runs a tool and reads what it says, to its one end. Nothing is parsed: the client shares the cores with what is measured. */
function readStream({ origin, key }: Runtime, tool: string, input: object): Promise<Read> {
  const body = JSON.stringify({ tool, version: "1.0.0", input, stream: true });
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}`, "content-length": body.length };
  return new Promise((resolve, reject) => {
    const began = performance.now();
    let firstMs = Number.NaN;
    let outputBytes = 0;
    let tail = "";
    const asked = request(`${origin}/v1/executions`, { method: "POST", headers }, (answer) => {
      answer.setEncoding("latin1");
      answer.on("data", (text: string) => {
        if (Number.isNaN(firstMs) && (tail + text).includes("event: stdout")) firstMs = performance.now() - began;
        outputBytes += count(text);
        tail = (tail + text).slice(-8_192);
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode !== 200) return reject(new Error(`a stream was answered ${answer.statusCode}: ${tail}`));
        const ends = tail.split("event: done\n").length - 1;
        if (ends !== 1) return reject(new Error(`a stream ended with ${tail.slice(-500)}`));
        resolve({ firstMs, outputBytes });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** The flood writes nothing but this letter, and no frame has two of them together. */
function count(text: string): number {
  let bytes = 0;
  for (let at = text.indexOf("xx"); at !== -1;) {
    let end = at;
    while (text.charCodeAt(end) === 120) end++;
    bytes += end - at;
    at = text.indexOf("xx", end);
  }
  return bytes;
}

async function echo({ origin, key }: Runtime): Promise<number> {
  const began = performance.now();
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const body = JSON.stringify({ tool: "bench.echo", version: "1.0.0", input: { text: "beside" } });
  const answer = await fetch(`${origin}/v1/executions`, { method: "POST", headers, body });
  const said = await answer.text();
  if (answer.status !== 200) throw new Error(`the echo beside the flood was answered ${answer.status}: ${said}`);
  return performance.now() - began;
}

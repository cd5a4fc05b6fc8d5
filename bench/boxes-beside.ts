// Measures what calls that start boxes cost the calls beside them: echoes of a real `signalbox dev`, alone and while its boxes start.
//
//   node bench/boxes-beside.ts <data parent> [boxes at once, default 200]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BesideTimings, Timed } from "./box-figures.ts";
import { cleanUp, cleanUpOnExit, startNode } from "./children.ts";
import { startRuntime } from "./subjects.ts";

/** Echoes in flight all the time, as other callers would have them. */
const echoesAbreast = 4;
/** Before the boxes, and once more after them: what the machine does meanwhile is in both. */
const aloneMs = 3_000;
const firstCallMsMax = 30_000;
const retryMs = 100;
const here = import.meta.dirname;

interface Runtime {
  readonly origin: string;
  readonly key: string;
}

export async function timeBeside(parent: string, calls: number): Promise<BesideTimings> {
  const watched = process.getuid?.() === 0 ? [] : ["--accept-watched-limits"];
  const more = ["--boxes", String(calls), "--tools", join(here, "box-tools"), ...watched];
  const { child, ready } = await startRuntime(parent, more);
  const { key } = JSON.parse(readFileSync(String(ready["key_file"]), "utf8")) as { key: string };
  const env = { SIGNALBOX_BENCH_ADDRESS: String(ready["grpc"]), SIGNALBOX_BENCH_KEY: key };
  const worker = startNode("the echo worker", [join(here, "worker.ts")], env);
  const runtime: Runtime = { origin: String(ready["url"]), key };
  try {
    await Promise.all([firstCall(runtime, "bench.echo", echoInput), firstCall(runtime, "box.stand", {})]);
    const before = await echoes(runtime, wait(aloneMs));
    const failures: Record<string, number> = {};
    const startedAt = performance.now();
    const boxes = Promise.all(
      Array.from({ length: calls }, async () => {
        const code = await call(runtime, "box.stand", {});
        if (code !== undefined) failures[code] = (failures[code] ?? 0) + 1;
      }),
    );
    const beside = await echoes(runtime, boxes);
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = await echoes(runtime, wait(aloneMs));
    const alone = { ms: [...before.ms, ...after.ms], errors: before.errors + after.errors };
    return { alone, beside, calls, failures, seconds };
  } finally {
    await Promise.all([worker, child].map((one) => one.stop()));
  }
}

const echoInput = { text: "beside" };

/** Keeps echoes in flight until then. */
async function echoes(runtime: Runtime, until: Promise<unknown>): Promise<Timed> {
  const ms: number[] = [];
  let [errors, over] = [0, false];
  void until.finally(() => (over = true)).catch(() => undefined);
  const lane = async (): Promise<void> => {
    while (!over) {
      const startedAt = performance.now();
      const code = await call(runtime, "bench.echo", echoInput);
      if (code === undefined) ms.push(performance.now() - startedAt);
      else errors += 1;
    }
  };
  await Promise.all(Array.from({ length: echoesAbreast }, lane));
  return { ms, errors };
}

/** @returns undefined when it succeeded, else a code */
async function call({ origin, key }: Runtime, tool: string, input: object): Promise<string | undefined> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const body = JSON.stringify({ tool, version: "1.0.0", input });
  try {
    const answer = await fetch(`${origin}/v1/executions`, { method: "POST", headers, body });
    const said = await answer.text();
    if (answer.status === 200 && said.includes('"status":"succeeded"')) return undefined;
    return /"code"\s*:\s*"(\w+)"/.exec(said)?.[1] ?? `http_${answer.status}`;
  } catch (error) {
    return (error as Error).name;
  }
}

/** Workers come a moment after the runtime is ready; what proves its boxes first comes last. */
async function firstCall(runtime: Runtime, tool: string, input: object): Promise<void> {
  const deadline = performance.now() + firstCallMsMax;
  for (;;) {
    const code = await call(runtime, tool, input);
    if (code === undefined) return;
    if (performance.now() > deadline) throw new Error(`the first call of ${tool} ended with ${code}`);
    await wait(retryMs);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  cleanUpOnExit();
  const [parent = "", calls = "200"] = process.argv.slice(2);
  try {
    process.stdout.write(`${JSON.stringify({ boxes: true, ...(await timeBeside(parent, Number(calls))) })}\n`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  } finally {
    await cleanUp();
  }
}

// Measures what a long history costs: a runtime whose ledger holds it beside one whose ledger holds none, in the same rounds,
// and how long the long one's reads take.
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { makeFolder, startNode } from "./children.ts";
import type { Filled } from "./history-fill.ts";
import { rare } from "./history-calls.ts";
import { runRounds, type Rounds, type RoundsPlan } from "./rounds.ts";
import type { HttpDoor } from "./slice.ts";
import { serveEcho, startRuntime, type HttpSubject, type StartedRuntime } from "./subjects.ts";

export const readNames = ["get", "list", "list.status", "list.tool", "list.principal", "audit", "audit.principal"] as const;
export type ReadName = (typeof readNames)[number];

/** Times of one read, sorted, ms. */
export interface Reading {
  readonly ms: readonly number[];
  readonly errors: number;
  /** Echoes that ran while the same read was asked for again and again, one at a time: sorted, ms. */
  readonly besideMs: readonly number[];
}

export interface HistoryTimings extends Rounds {
  readonly filled: Filled;
  /** From the start of the process to its ready line, sorted, ms. */
  readonly starts: { readonly fresh: readonly number[]; readonly history: readonly number[] };
  readonly reads: Readonly<Record<ReadName, Reading>>;
}

export interface HistoryPlan {
  readonly calls: number;
  readonly rounds: Omit<RoundsPlan, "lanes">;
  readonly starts: number;
  readonly reads: number;
}

/** What people would let a call be forgotten by is off: the history shall be there to the end. */
const keepAll = ["--retention", "off"];
/** A slow disk writes a million calls in a quarter of an hour. */
const fillTimeoutMs = 3_600_000;
/** A read that takes long is asked for less often. */
const readMsMax = 15_000;
const readsMin = 5;
const warmUpReads = 3;
const here = import.meta.dirname;

export async function timeHistory(
  parent: string,
  plan: HistoryPlan,
  note: (text: string) => void,
): Promise<HistoryTimings> {
  const folder = makeFolder(parent, "history");
  const filled = await makeHistory(parent, folder, plan.calls, note);
  note(`a call takes ${Math.round(filled.bytesPerCall)} bytes of the ledger's file; starting with and without them`);
  const starts = await timeStarts(parent, folder, plan.starts);
  const started = [await startRuntime(parent, keepAll), await startRuntime(parent, keepAll, folder)] as const;
  const [fresh, history] = [await serveEcho("fresh", started[0]), await serveEcho("history", started[1])];
  try {
    const lanes = [fresh, history].map(({ subject }) => ({ subject, concurrencies: [1] }));
    const rounds = await runRounds({ ...plan.rounds, lanes }, note);
    const reads = await timeReads(history.subject, filled.sample, plan.reads, note);
    return { ...rounds, filled, starts, reads };
  } finally {
    await Promise.all([fresh.worker, history.worker, ...started.map(({ child }) => child)].map((one) => one.stop()));
  }
}

/** The runtime makes the folder and the call that all others are modelled on; then it stops, and the script has the ledger. */
async function makeHistory(parent: string, folder: string, calls: number, note: (text: string) => void): Promise<Filled> {
  const first = await startRuntime(parent, keepAll, folder);
  const { worker } = await serveEcho("history", first);
  await Promise.all([worker.stop(), first.child.stop()]);
  note(`filling a ledger with ${calls} calls`);
  const child = startNode("the history", [join(here, "history-fill.ts"), folder, String(calls)]);
  child.process.stderr?.on("data", (chunk: Buffer) => process.stderr.write(chunk));
  const said = await child.saying("filled", fillTimeoutMs);
  await child.stop();
  return said as unknown as Filled;
}

async function timeStarts(parent: string, history: string, count: number): Promise<HistoryTimings["starts"]> {
  const starts = { fresh: [] as number[], history: [] as number[] };
  // Not a fresh folder each time: making the ledger is no part of what is compared.
  const first = await startRuntime(parent, keepAll);
  const fresh = dirname(String(first.ready["key_file"]));
  await first.child.stop();
  for (let turn = 0; turn < count; turn++)
    for (const [name, folder] of Object.entries({ fresh, history }) as [keyof typeof starts, string][]) {
      const began = performance.now();
      const { child }: StartedRuntime = await startRuntime(parent, keepAll, folder);
      starts[name].push(performance.now() - began);
      await child.stop();
    }
  return { fresh: sorted(starts.fresh), history: sorted(starts.history) };
}

async function timeReads(
  { door }: HttpSubject,
  sample: readonly string[],
  count: number,
  note: (text: string) => void,
): Promise<HistoryTimings["reads"]> {
  const paths: Readonly<Record<ReadName, (turn: number) => string>> = {
    // A step that shares no factor with the sample's length jumps about in time.
    get: (turn) => `/v1/executions/${sample[(turn * 211) % sample.length]}`,
    list: () => "/v1/executions",
    "list.status": () => "/v1/executions?status=failed",
    "list.tool": () => `/v1/executions?tool=${rare.tool}`,
    "list.principal": () => `/v1/executions?principal=${rare.principal}`,
    audit: () => "/v1/audit",
    "audit.principal": () => `/v1/audit?principal=${rare.principal}`,
  };
  const reads: Partial<Record<ReadName, Reading>> = {};
  for (const name of readNames) {
    const read = await timeRead(door, paths[name], count);
    note(`${name}: ${read.ms.length} reads, slowest ${read.ms.at(-1)?.toFixed(1)} ms; an echo beside took up to ${read.besideMs.at(-1)?.toFixed(1)} ms`);
    reads[name] = read;
  }
  return reads as HistoryTimings["reads"];
}

async function timeRead(door: HttpDoor, path: (turn: number) => string, count: number): Promise<Reading> {
  for (let turn = 0; turn < warmUpReads; turn++) await timed(door, path(turn));
  const ms: number[] = [];
  let errors = 0;
  const until = performance.now() + readMsMax;
  for (let turn = 0; turn < count && (turn < readsMin || performance.now() < until); turn++) {
    const took = await timed(door, path(turn));
    if (took === undefined) errors++;
    else ms.push(took);
  }
  const besideMs: number[] = [];
  let over = false;
  const echoes = (async () => {
    while (!over) besideMs.push((await timed(door, door.path, door.body)) ?? Number.POSITIVE_INFINITY);
  })();
  for (let turn = 0; turn < ms.length && (turn < readsMin || performance.now() < until + readMsMax); turn++)
    await timed(door, path(turn));
  over = true;
  await echoes;
  return { ms: sorted(ms), errors, besideMs: sorted(besideMs) };
}

/** @returns ms; undefined for an answer that is not a 200 */
async function timed({ origin, headers }: HttpDoor, path: string, body?: string): Promise<number | undefined> {
  const began = performance.now();
  const answer = await fetch(`${origin}${path}`, body === undefined ? { headers } : { method: "POST", headers, body });
  await answer.text();
  return answer.status === 200 ? performance.now() - began : undefined;
}

function sorted(ms: readonly number[]): readonly number[] {
  return ms.toSorted((one, other) => one - other);
}

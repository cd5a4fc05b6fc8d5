// Fills the ledger of a runtime that has stopped with calls that have ended, spread over the week before now.
//
//   node bench/history-fill.ts <data folder> <calls>
import { statSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { auditKey, dataFolder } from "../packages/runtime/src/adapters/files/data-folder.ts";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Call } from "../packages/runtime/src/call/types.ts";
import { historyCall } from "./history-calls.ts";
import { percentile } from "./statistics.ts";

/** What the script says in one JSON line. */
export interface Filled {
  readonly filled: true;
  readonly calls: number;
  readonly seconds: number;
  /** That the ledger's file has grown by. */
  readonly bytesPerCall: number;
  /** Median time to write a call's units, µs, over the first tenth of the calls and over the last one. */
  readonly firstTenthUs: number;
  readonly lastTenthUs: number;
  /** Some of the calls that succeeded, evenly spread. */
  readonly sample: readonly string[];
}

const weekMs = 7 * 24 * 3_600_000;
/** The youngest is so old, and the oldest so far within the week: what retention lets go is not measured here. */
const marginMs = 10 * 60_000;
/** As many as one transaction takes, at two units each. */
const callsPerTransaction = 128;
const sampled = 500;
const tenant = "default";

async function templateOf(ledger: SqliteLedger): Promise<Call> {
  const { items } = await ledger.listCalls({ tenant, tool: "bench.echo", state: "succeeded" }, 1);
  const call = items[0] === undefined ? undefined : await ledger.getCall(tenant, items[0].callId);
  if (call === undefined)
    throw new Error("the ledger holds no call of bench.echo that succeeded; make one with signalbox dev, then stop it and fill");
  return call;
}

async function fill(ledger: SqliteLedger, calls: number, note: (done: number) => void) {
  const template = await templateOf(ledger);
  const from = Date.now() - weekMs + marginMs;
  const spacingMs = (weekMs - 2 * marginMs) / calls;
  const callUs: number[] = [];
  const sample: string[] = [];
  const sampleEvery = Math.ceil(calls / sampled);
  for (let done = 0; done < calls; done += callsPerTransaction) {
    const count = Math.min(callsPerTransaction, calls - done);
    const written: Promise<void>[] = [];
    const made = Array.from({ length: count }, (_, at) => {
      const index = done + at;
      return historyCall(template, { index, calls, admittedAt: Math.floor(from + index * spacingMs) });
    });
    const began = performance.now();
    for (const unit of made.flatMap(({ units }) => units))
      written.push(
        ledger.commit(unit).then((outcome) => {
          if (!outcome.applied) throw new Error(`a unit of the history was refused: ${JSON.stringify(outcome)}`);
        }),
      );
    await Promise.all(written);
    callUs.push(((performance.now() - began) * 1_000) / count);
    for (const [at, { callId, succeeded }] of made.entries())
      if (succeeded && done + at >= sample.length * sampleEvery) sample.push(callId);
    note(done + count);
  }
  const tenth = Math.max(1, Math.floor(callUs.length / 10));
  return { sample, firstTenthUs: middle(callUs.slice(0, tenth)), lastTenthUs: middle(callUs.slice(-tenth)) };
}

function middle(values: readonly number[]): number {
  return percentile(values.toSorted((a, b) => a - b), 0.5) ?? Number.NaN;
}

/** Says how far it is, about every twentieth part. */
function progress(calls: number): (done: number) => void {
  const began = performance.now();
  let told = 0;
  return (done) => {
    if (done < calls && done - told < calls / 20) return;
    told = done;
    const perSecond = Math.round((done * 1_000) / (performance.now() - began));
    process.stderr.write(`history: ${done} of ${calls} calls, ${perSecond}/s\n`);
  };
}

const [path, count] = process.argv.slice(2);
const calls = Number(count);
if (path === undefined || !Number.isInteger(calls) || calls < 1) throw new Error("usage: node bench/history-fill.ts <data folder> <calls>");
const folder = dataFolder(path);
const bytesBefore = statSync(folder.ledgerFile).size;
const ledger = new SqliteLedger({ path: folder.ledgerFile, auditKey: auditKey(folder), lane: "embedded", now: Date.now });
const began = performance.now();
let found: Awaited<ReturnType<typeof fill>>;
try {
  found = await fill(ledger, calls, progress(calls));
} finally {
  await ledger.close();
}
const said: Filled = {
  filled: true,
  calls,
  seconds: (performance.now() - began) / 1_000,
  bytesPerCall: (statSync(folder.ledgerFile).size - bytesBefore) / calls,
  ...found,
};
process.stdout.write(`${JSON.stringify(said)}\n`);

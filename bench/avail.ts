// Measures what a kill -9 of one of two replicas on PostgreSQL costs callers: requests that fail after one retry, and the longest gap.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { PostgresServer } from "../test/support/postgres.ts";
import { makeFolder, startNode, type Child } from "./children.ts";

export interface AvailTimings {
  readonly requests: number;
  /** No answer that says `succeeded` after one retry at the other replica. */
  readonly failed: number;
  readonly retried: number;
  /** With its retry, ms. */
  readonly slowestMs: number;
  /** The longest time without any answer that succeeded, around each kill, ms, sorted. */
  readonly gapsMs: readonly number[];
}

export interface AvailPlan {
  /** Kills, of one replica and the other in turn. */
  readonly kills: number;
}

interface Replica {
  readonly child: Child;
  readonly url: string;
  readonly grpc: string;
}

const callersAbreast = 16;
const startTimeoutMs = 60_000;
const requestMsMax = 10_000;
const aroundMs = { before: 2_000, after: 6_000 };
const tool = "bench.echo";
const here = import.meta.dirname;

/** @throws Error where there is no PostgreSQL server to start */
export async function timeKilledReplica(parent: string, plan: AvailPlan, note: (text: string) => void): Promise<AvailTimings> {
  const folder = makeFolder(parent, "avail");
  const server = await PostgresServer.start({ fsync: true });
  // A server that ends is waited for, and does not keep this process by itself.
  const staying = setInterval(() => undefined, 60_000);
  try {
    const auditKeyFile = join(folder, "audit.key");
    writeFileSync(auditKeyFile, `${"5a".repeat(32)}\n`, { mode: 0o600 });
    // Workers know its address, so the next one listens there again.
    const start = (number: number, before?: Replica): Promise<Replica> => startReplica(folder, server.url("postgres"), auditKeyFile, number, before);
    const replicas = [await start(0), await start(1)];
    const { key } = JSON.parse(readFileSync(join(folder, "replica-0", "client.json"), "utf8")) as { key: string };
    const workers = [0, 1].map((number) => startWorker(replicas, key, number));
    try {
      return await killInTurn({ replicas, key, start, kills: plan.kills, note });
    } finally {
      await Promise.all([...workers, ...replicas.map(({ child }) => child)].map((child) => child.stop()));
    }
  } finally {
    await server.remove();
    clearInterval(staying);
  }
}

async function startReplica(folder: string, ledger: string, auditKeyFile: string, number: number, before?: Replica): Promise<Replica> {
  const cli = join(here, "../packages/runtime/bin/signalbox.js");
  const own = ["--data", join(folder, `replica-${number}`), "--replica", `replica-${number}`, "--audit-key-file", auditKeyFile];
  const portOf = (address: string | undefined): string => address?.split(":").at(-1) ?? "0";
  const [http, grpc] = [portOf(before?.url), portOf(before?.grpc)];
  const args = ["serve", "--json", "--boxes", "0", "--port", http, "--grpc-port", grpc, "--tools", join(here, "tools"), ...own];
  const child = startNode(`replica ${number}`, [cli, ...args], { SIGNALBOX_LEDGER: ledger });
  const ready = await child.saying("ready", startTimeoutMs);
  return { child, url: String(ready["url"]), grpc: String(ready["grpc"]) };
}

function startWorker(replicas: readonly Replica[], key: string, number: number): Child {
  // Each begins with another one, so that both replicas have a worker to lose.
  const addresses = number === 0 ? replicas : replicas.toReversed();
  return startNode(`worker ${number}`, [join(here, "worker.ts")], {
    SIGNALBOX_BENCH_ADDRESS: addresses.map(({ grpc }) => grpc).join(","),
    SIGNALBOX_BENCH_KEY: key,
  });
}

interface Setting {
  readonly replicas: Replica[];
  readonly key: string;
  readonly start: (number: number, before: Replica) => Promise<Replica>;
  readonly kills: number;
  readonly note: (text: string) => void;
}

async function killInTurn({ replicas, key, start, kills, note }: Setting): Promise<AvailTimings> {
  const counts = { requests: 0, failed: 0, retried: 0, slowestMs: 0 };
  /** Instants of answers that succeeded. */
  let answered: number[] = [];
  let isOver = false;
  const ask = async (url: string, idempotencyKey: string): Promise<boolean> => {
    try {
      const answer = await fetch(`${url}/v1/executions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}`, "idempotency-key": idempotencyKey },
        body: JSON.stringify({ tool, input: { text: "is anybody there" } }),
        signal: AbortSignal.timeout(requestMsMax),
      });
      return answer.status === 200 && (await answer.text()).includes('"status":"succeeded"');
    } catch {
      return false;
    }
  };
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const [first, second] = turn % 2 === 0 ? [0, 1] : [1, 0];
      const name = `avail-${number}-${turn}`;
      const urlOf = (at: number): string => replicas[at]?.url ?? "";
      const began = performance.now();
      let isGood = await ask(urlOf(first), name);
      if (!isGood) {
        counts.retried++;
        isGood = await ask(urlOf(second), name);
      }
      counts.requests++;
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - began);
      if (isGood) answered.push(performance.now());
      else counts.failed++;
    }
  };
  await untilServed(() => ask(replicas[0]?.url ?? "", `first-${performance.now()}`));
  const callers = Promise.all(Array.from({ length: callersAbreast }, (_, number) => caller(number)));
  const gapsMs: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    await wait(aroundMs.before);
    answered = [];
    const target = kill % 2;
    const killed = replicas[target];
    if (killed === undefined) throw new Error(`there is no replica ${target}`);
    note(`kill -9 of replica ${target}`);
    process.kill(killed.child.pid, "SIGKILL");
    await wait(aroundMs.after);
    gapsMs.push(longestGap(answered));
    replicas[target] = await start(target, killed);
  }
  isOver = true;
  await callers;
  return { ...counts, gapsMs: gapsMs.toSorted((one, other) => one - other) };
}

async function untilServed(ask: () => Promise<boolean>): Promise<void> {
  const giveUp = AbortSignal.timeout(startTimeoutMs);
  while (!(await ask())) {
    if (giveUp.aborted) throw new Error("no worker served the echo");
    await wait(100);
  }
}

/** Infinity where there was no answer at all. */
export function longestGap(instants: readonly number[]): number {
  const sorted = instants.toSorted((one, other) => one - other);
  if (sorted.length < 2) return Number.POSITIVE_INFINITY;
  return Math.max(...sorted.slice(1).map((at, index) => at - (sorted[index] ?? at)));
}

// The things that are measured: the floor, the bare HTTP server, and Signalbox itself, each with the processes it takes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, startNode, type Child } from "./children.ts";
import type { GrpcDoor, HttpDoor } from "./slice.ts";

/** Something that takes calls, and how to make them. */
export interface Subject {
  readonly name: SubjectName;
  /** The process that does the work under test. */
  readonly pid: number;
  readonly door: HttpDoor | GrpcDoor;
  /** Prometheus text, where there is any. */
  readonly metrics?: () => Promise<string>;
}

/** One whose calls go over HTTP. */
export interface HttpSubject extends Subject {
  readonly door: HttpDoor;
}

/**
 * `grpc`, `many`: the process of `signalbox`, called by an rpc each and by all calls on one stream. `fresh`, `history`: two
 * more runtimes, whose ledgers hold nothing and a long history. `pgFloor`, `pg`, `pg2`: the floor, one replica, and two of
 * them, each on a database of one PostgreSQL server.
 */
export type SubjectName = "floor" | "http" | "signalbox" | "grpc" | "many" | "fresh" | "history" | "pgFloor" | "pg" | "pg2" | PeerName;

/** Of other makers, measured by `bench/peers`. */
export type PeerName = "restate" | "bullmq" | "graphile-worker" | "pg-boss" | "dbos";

const inputBytes = 500;
const startTimeoutMs = 30_000;
const here = import.meta.dirname;

const tool = "bench.echo";
const version = "1.0.0";
const fill = "The quick brown fox jumps over the lazy dog. ".repeat(12);
const frameBytes = JSON.stringify({ text: "" }).length;
const input = { text: fill.slice(0, inputBytes - frameBytes) };
const body = JSON.stringify({ tool, version, input });
const expected = '"status":"succeeded"';
const json = { "content-type": "application/json" };

export function startFloor(dataParent: string): Promise<HttpSubject> {
  return startFloorOn("floor", join(makeFolder(dataParent, "floor"), "floor.db"));
}

/** @param where a file of SQLite that is not there yet, or the address of a PostgreSQL database without tables */
export async function startFloorOn(name: SubjectName, where: string): Promise<HttpSubject> {
  const server = startNode("the floor's server", [join(here, "floor/server.ts"), where]);
  const ready = await server.saying("ready", startTimeoutMs);
  startNode("the floor's worker", [join(here, "floor/worker.ts"), text(ready, "grpc")]);
  await server.saying("worker", startTimeoutMs);
  return {
    name,
    pid: server.pid,
    door: echoDoor(text(ready, "url"), "/call"),
  };
}

/** The echo's call at a door without keys. */
export function echoDoor(origin: string, path: string): HttpDoor {
  return { via: "http", origin, path, headers: json, body, expect: expected };
}

export async function startHttp(): Promise<HttpSubject> {
  const server = startNode("the bare HTTP server", [join(here, "limit-http.ts")]);
  const ready = await server.saying("ready", startTimeoutMs);
  return {
    name: "http",
    pid: server.pid,
    door: echoDoor(text(ready, "url"), "/"),
  };
}

/** `signalbox dev`, with what it said when it was ready. */
export interface StartedRuntime {
  readonly child: Child;
  readonly ready: Readonly<Record<string, unknown>>;
}

/**
 * `signalbox dev` as a user starts it.
 * @param more arguments beside the usual ones
 * @param folder its data folder; a fresh one if none is given
 */
export async function startRuntime(
  dataParent: string,
  more: readonly string[] = [],
  folder: string = makeFolder(dataParent, "signalbox"),
): Promise<StartedRuntime> {
  const cli = join(here, "../packages/runtime/bin/signalbox.js");
  const documents = ["--tools", join(here, "tools"), "--policies", join(here, "policies")];
  const args = ["dev", "--port", "0", "--grpc-port", "0", "--data", folder, "--json", ...documents, ...more];
  const child = startNode("signalbox dev", [cli, ...args]);
  const ready = await child.saying("ready", startTimeoutMs);
  return { child, ready };
}

/** The runtime and one application worker that serves the echo, with its three doors. */
export async function startSignalbox(dataParent: string): Promise<readonly Subject[]> {
  const started = await startRuntime(dataParent);
  const { subject, key } = await serveEcho("signalbox", started);
  const grpc = { via: "grpc", address: text(started.ready, "grpc"), key, tool, version, inputJson: JSON.stringify(input) } as const;
  return [
    subject,
    { ...subject, name: "grpc", door: { ...grpc, rpc: "Invoke" } },
    { ...subject, name: "many", door: { ...grpc, rpc: "InvokeMany" } },
  ];
}

/** Gives a runtime the application worker that serves the echo, and waits for the first call. */
export async function serveEcho(
  name: SubjectName,
  { child, ready }: StartedRuntime,
): Promise<{ readonly subject: HttpSubject; readonly worker: Child; readonly key: string }> {
  const { key } = JSON.parse(readFileSync(text(ready, "key_file"), "utf8")) as { key: string };
  const worker = startNode("the echo worker", [join(here, "worker.ts")], {
    SIGNALBOX_BENCH_ADDRESS: text(ready, "grpc"),
    SIGNALBOX_BENCH_KEY: key,
  });
  const origin = text(ready, "url");
  const headers = { ...json, authorization: `Bearer ${key}` };
  const subject: HttpSubject = {
    name,
    pid: child.pid,
    door: { via: "http", origin, path: "/v1/executions", headers, body, expect: expected },
    metrics: async () => {
      const answer = await fetch(`${origin}/metrics`, { headers });
      if (!answer.ok) throw new Error(`GET /metrics answered ${answer.status}`);
      return answer.text();
    },
  };
  await firstCall(subject.door);
  return { subject, worker, key };
}

/** Waits in the runtime's queue until the worker has come, and shows that the way is open. */
async function firstCall(door: HttpDoor): Promise<void> {
  const said = await firstAnswer(door);
  const { policy } = JSON.parse(said) as { policy: { rules: readonly unknown[] } };
  if (policy.rules.length !== rulesMatching) throw new Error(`${policy.rules.length} rules matched the echo, not ${rulesMatching}`);
}

/** @throws Error when it is not a good one */
export async function firstAnswer({ origin, path, headers, body: request, expect }: HttpDoor): Promise<string> {
  const signal = AbortSignal.timeout(startTimeoutMs);
  const answer = await fetch(`${origin}${path}`, { method: "POST", headers, body: request, signal });
  const said = await answer.text();
  if (answer.status !== 200 || !said.includes(expect)) throw new Error(`the first call was answered ${answer.status}: ${said}`);
  return said;
}

/** Of the ten in the folder `policies`. */
const rulesMatching = 2;

function text(ready: Readonly<Record<string, unknown>>, field: string): string {
  const value = ready[field];
  if (typeof value !== "string") throw new Error(`the ready line has no text "${field}": ${JSON.stringify(ready)}`);
  return value;
}

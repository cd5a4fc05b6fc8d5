// Measures what one tenant's backlog costs another: echoes of b on a real runtime, alone and while a has thousands of calls in line.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { startNode } from "./children.ts";
import { startRuntime } from "./subjects.ts";

/** Echoes of b through its door, one at a time, ms, sorted. */
export interface NeighbourTimings {
  readonly aloneMs: readonly number[];
  readonly besideMs: readonly number[];
  /** Calls of a that were in line. */
  readonly queued: number;
}

export interface NeighbourPlan {
  readonly rounds: number;
  readonly queued: number;
}

const aloneMs = 2_000;
/** Letting thousands of calls go is a moment of its own; it is not what is measured. */
const thawMs = 300;
const submittersAbreast = 32;
const startTimeoutMs = 20_000;

type Ask = (path: string, body: object) => Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;

export async function timeNeighbour(parent: string, plan: NeighbourPlan): Promise<NeighbourTimings> {
  const { child, ready } = await startRuntime(parent, ["--boxes", "0"]);
  const keys = JSON.parse(readFileSync(join(dirname(String(ready["key_file"])), "client.json"), "utf8")) as { platform_key: string };
  const as = (key: string): Ask => asker(String(ready["url"]), key, "POST");
  const operator = as(keys.platform_key);
  const put = asker(String(ready["url"]), keys.platform_key, "PUT");
  for (const name of ["neighbour.echo", "neighbour.wait"]) await good(put("/v1/tools", manifest(name)));
  const worker = startNode("the neighbours' worker", [join(import.meta.dirname, "neighbour-worker.ts")], {
    SIGNALBOX_BENCH_ADDRESS: String(ready["grpc"]),
    SIGNALBOX_BENCH_KEY: keys.platform_key,
  });
  try {
    const [a, b] = [as(await newTenant(operator, "a")), as(await newTenant(operator, "b"))];
    await good(put("/v1/limits?tenant=a", { scope: "tenant", quotas: { queue_depth: plan.queued + 100 } }));
    await echo(b, startTimeoutMs);
    const found = { aloneMs: [] as number[], besideMs: [] as number[] };
    for (let round = 0; round < plan.rounds; round++) {
      await echoesUntil(b, found.aloneMs, wait(aloneMs));
      await good(a("/v1/freezes", { tool: "neighbour.wait", reason: "the line fills" }));
      await fill(a, plan.queued);
      await good(a("/v1/freezes:lift", { tool: "neighbour.wait" }));
      await wait(thawMs);
      await echoesUntil(b, found.besideMs, drained(a));
    }
    for (const list of [found.aloneMs, found.besideMs]) list.sort((one, other) => one - other);
    return { ...found, queued: plan.queued };
  } finally {
    await Promise.all([worker, child].map((one) => one.stop()));
  }
}

function manifest(name: string): object {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name, version: "1.0.0", owner: "bench", description: "Of the neighbour figure." },
    spec: { executor: { type: "worker" }, side_effect_class: "read_only", input: { type: "object" } },
  };
}

async function newTenant(operator: Ask, tenant: string): Promise<string> {
  const { body } = await good(operator("/v1/tenants", { tenant, admin: { principal: "user:admin" } }));
  return (body["admin_key"] as { readonly secret: string }).secret;
}

async function fill(a: Ask, count: number): Promise<void> {
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun++ < count) await good(a("/v1/executions", { tool: "neighbour.wait", input: {}, mode: "async" }));
  };
  await Promise.all(Array.from({ length: submittersAbreast }, lane));
}

/** The last in line is behind all others: when it is answered, nobody of a waits any more. */
async function drained(a: Ask): Promise<void> {
  await good(a("/v1/executions", { tool: "neighbour.wait", input: {} }));
}

async function echoesUntil(b: Ask, ms: number[], until: Promise<unknown>): Promise<void> {
  let over = false;
  const ended = until.finally(() => (over = true));
  while (!over) {
    const began = performance.now();
    await echo(b);
    ms.push(performance.now() - began);
  }
  await ended;
}

async function echo(b: Ask, timeoutMs?: number): Promise<void> {
  const deadline = timeoutMs === undefined ? {} : { deadline_ms: timeoutMs };
  const { body } = await good(b("/v1/executions", { tool: "neighbour.echo", input: { text: "beside" }, ...deadline }));
  if (body["status"] !== "succeeded") throw new Error(`an echo came to ${String(body["status"])}`);
}

async function good<T extends { readonly status: number; readonly body: object }>(answer: Promise<T>): Promise<T> {
  const said = await answer;
  if (said.status >= 300) throw new Error(`answered ${said.status}: ${JSON.stringify(said.body)}`);
  return said;
}

function asker(origin: string, key: string, method: "POST" | "PUT"): Ask {
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  return async (path, body) => {
    const answer = await fetch(`${origin}${path}`, { method, headers, body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
}

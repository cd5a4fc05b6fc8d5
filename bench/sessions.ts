// Measures steps of a session: a scripted model that answers at once, a tool in a worker process, and between them the runtime.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serveEcho, startRuntime } from "./subjects.ts";

export interface SessionTimings {
  /** From one `assistant` event to the next, ms, sorted: one completion, its call and its result. */
  readonly stepMs: readonly number[];
}

const stepsPerTurn = 200;
const turnMsMax = 60_000;
const json = { "content-type": "application/json" };

interface Door {
  readonly origin: string;
  readonly key: string;
}

export async function timeSessions(parent: string, turns: number): Promise<SessionTimings> {
  const folder = join(parent, "session-models");
  mkdirSync(folder, { recursive: true });
  const [models, script] = [join(folder, "models.yaml"), join(folder, "turns.yaml")];
  const step = { calls: [{ tool: "bench_echo", input: { text: "hello" } }] };
  const turn = [...Array.from({ length: stepsPerTurn }, () => step), { text: "done" }];
  writeFileSync(script, JSON.stringify({ scripts: { turns: { branches: [{ completions: turn }] } } }));
  writeFileSync(models, JSON.stringify({ providers: { scripted: { type: "scripted", file: script } } }));
  const started = await startRuntime(parent, ["--models", models]);
  const { worker, key } = await serveEcho("signalbox", started);
  const door: Door = { origin: String(started.ready["url"]), key };
  try {
    await deploy(door);
    // The first turn warms up.
    const all = await stepsOf(door, turns + 1);
    return { stepMs: all.slice(stepsPerTurn).toSorted((one, other) => one - other) };
  } finally {
    await Promise.all([worker, started.child].map((one) => one.stop()));
  }
}

async function deploy(door: Door): Promise<void> {
  const sample = JSON.parse(readFileSync(join(import.meta.dirname, "session-agent.json"), "utf8")) as unknown;
  await ask(door, "PUT", "/v1/agents", sample);
  await ask(door, "POST", "/v1/agents/bench/deploy", { version: "1.0.0" });
}

async function stepsOf(door: Door, turns: number): Promise<readonly number[]> {
  const { session_id: id } = (await ask(door, "POST", "/v1/sessions", { agent: "bench" })) as { readonly session_id: string };
  for (let turn = 0; turn < turns; turn++) await ask(door, "POST", `/v1/sessions/${id}/messages`, { text: "go", wait_ms: turnMsMax });
  const at: { readonly turn: number; readonly ms: number }[] = [];
  for (let after = 0, more = true; more; ) {
    const page = (await ask(door, "GET", `/v1/sessions/${id}/events?limit=200&after_seq=${after}`)) as { readonly items: readonly Told[]; readonly next_after_seq: number | null };
    for (const { type, turn, ts } of page.items) if (type === "assistant") at.push({ turn, ms: Date.parse(ts) });
    more = page.next_after_seq !== null;
    after = page.next_after_seq ?? after;
  }
  return at.flatMap(({ turn, ms }, index) => {
    const before = at[index - 1];
    return before?.turn === turn ? [ms - before.ms] : [];
  });
}

interface Told {
  readonly type: string;
  readonly turn: number;
  readonly ts: string;
}

async function ask({ origin, key }: Door, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${origin}${path}`, { method, headers: { ...json, authorization: `Bearer ${key}` }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

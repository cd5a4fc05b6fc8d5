// A runtime that stops or dies with calls in its hands: nothing fails because of it, nothing runs twice, nothing is lost.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let proxy: TcpProxy;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  proxy = await stack.startProxy();
  for (const tool of ["term", "kill"])
    await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "non_idempotent_write" }));
  // Through the proxy, so that it finds the runtime again, which gets new ports with every start.
  await stack.startWorker("w-term", [{ tool: "term", handler: gates.hold, maxConcurrency: 1 }], {
    address: proxy.address,
  });
  await stack.startWorker("w-kill", [{ tool: "kill", handler: gates.hold, maxConcurrency: 2 }], {
    address: proxy.address,
  });
});
afterAll(() => finish(stack, gates));

async function queued(tool: string, gate: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate }, mode: "async" })).body.execution_id ?? "";
}

test("worst thing 7: SIGTERM with a running and four queued calls fails none of them; they run in order afterwards", async () => {
  const runningCaller = admin.invoke({ tool: "term", input: { gate: "term-1" } });
  const { callId: running } = await gates.entered("term-1");
  const waiting = [await queued("term", "term-2"), await queued("term", "term-3"), await queued("term", "term-4")];
  const queuedCaller = admin.invoke({ tool: "term", input: { gate: "term-5" } });
  await expect.poll(async () => (await admin.get("/v1/executions?status=queued")).body.items?.length, slowly).toBe(4);

  const { runtime } = stack;
  runtime.signal("SIGTERM");
  // Who waits gets the id; the calls go on.
  for (const answer of await Promise.all([runningCaller, queuedCaller])) {
    expect(answer.status).toBe(202);
    expect(answer.body.execution_id).toBeDefined();
  }
  const refused = await admin.invoke({ tool: "term", input: { gate: "never" } });
  expect([refused.status, refused.body.error?.code, refused.body.error?.retryable]).toEqual([503, "draining", true]);
  expect((await admin.get("/readyz")).status).toBe(503);
  expect((await admin.get("/healthz")).status).toBe(200);
  gates.open("term-1", { finished: "in the drain" });
  expect(await runtime.ended).toEqual({ code: 0, signal: null });

  await stack.start();
  expect(await admin.call(running)).toMatchObject({ status: "succeeded", output: { finished: "in the drain" } });
  const last = (await queuedCaller).body.execution_id ?? "";
  for (const gate of ["term-2", "term-3", "term-4", "term-5"]) {
    await gates.entered(gate);
    gates.open(gate);
  }
  for (const id of [...waiting, last]) {
    const record = await admin.until(id, ["succeeded"]);
    expect(record.attempts).toHaveLength(1);
  }
  const order = gates.entries.filter(({ tool }) => tool === "term").map(({ callId }) => callId);
  expect(order).toEqual([running, ...waiting, last]);
});

test("SCH-13: kill -9 with two running and five queued calls: all seven end well, in order, each entered once", async () => {
  const names = ["kill-1", "kill-2", "kill-3", "kill-4", "kill-5", "kill-6", "kill-7"];
  const ids: string[] = [];
  for (const gate of names) ids.push(await queued("kill", gate));
  await gates.entered("kill-1");
  await gates.entered("kill-2");
  await stack.kill();
  // One finishes while there is no runtime; its worker keeps the result until somebody takes it.
  gates.open("kill-1", { while: "away" });
  await stack.start();
  expect(await admin.until(ids[0], ["succeeded"])).toMatchObject({ output: { while: "away" } });
  for (const gate of names.slice(1)) {
    await gates.entered(gate);
    gates.open(gate);
  }
  for (const id of ids) {
    const record = await admin.until(id, ["succeeded"]);
    expect(record.attempts?.map(({ end_reason }) => end_reason)).toEqual(["succeeded"]);
  }
  const order = gates.entries.filter(({ tool }) => tool === "kill").map(({ callId }) => callId);
  expect(order.slice(0, 2).toSorted()).toEqual(ids.slice(0, 2).toSorted());
  expect(order.slice(2)).toEqual(ids.slice(2));
});

test("a second start finds its data: the key, the tools, the calls and the audit of the first", async () => {
  expect(await stack.stop()).toEqual({ code: 0, signal: null });
  await stack.start();
  const [line] = stack.runtime.stdout().split("\n");
  expect(JSON.parse(line ?? "")).toMatchObject({ ready: true, first_start: false });
  expect((await admin.get("/v1/tools/term")).status).toBe(200);
  expect((await admin.get("/v1/executions?limit=100")).body.items?.length).toBeGreaterThanOrEqual(12);
  expect((await admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
});

// The result cache with real processes: one run for many askers, over restarts too, and never beyond a tenant.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const gates = createGates();
const pure = { side_effect_class: "read_only", pure: true, cache: { ttl: "10m" } };
let stack: Stack;
let admin: Rest;
let beta: Rest;
const runs: unknown[] = [];

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  beta = stack.as(await addTenant(stack.operator, "beta", "user:bob"));
  for (const name of ["look", "look.slow"]) await stack.register(workerTool(name, "1.0.0", pure));
  await beta.put("/v1/tools", workerTool("look", "1.0.0", pure));
  await stack.startWorker(
    "w-cache",
    [
      {
        tool: "look",
        handler: (args: unknown) => {
          runs.push(args);
          return { of: "default", run: runs.length };
        },
      },
      { tool: "look.slow", handler: gates.hold },
    ],
    { capacity: 128 },
  );
});
afterAll(() => finish(stack, gates));

test("CCH-01: a hit has the output, no worker and no time, and the audit says that it was one", async () => {
  const first = await admin.invoke({ tool: "look", input: { q: 1 } });
  const second = await admin.invoke({ tool: "look", input: { q: 1 } });
  expect(first.body.output).toEqual(second.body.output);
  expect(first.body.execution).toMatchObject({ cache: "miss", cached_from: null, worker: "w-cache" });
  expect(second.body.execution).toMatchObject({
    cache: "hit",
    cached_from: first.body.execution_id,
    worker: null,
    sandbox: null,
  });
  expect(second.body.execution_id).not.toBe(first.body.execution_id);
  const [record] = await admin.audit({ execution_id: second.body.execution_id ?? "" });
  expect(record).toMatchObject({ action: "call.settled", status: "succeeded", cache: "hit" });
  expect((await admin.get("/metrics")).text).toMatch(/^result_cache_total\{result="hit"\} 1/m);
  const events = await admin.events(second.body.execution_id);
  expect(events.map(({ type }) => type)).toEqual(["requested", "succeeded"]);
});

test("CCH-07: a hundred at once, one run, a hundred equal answers under ids of their own", async () => {
  const asked = Array.from({ length: 100 }, () => admin.invoke({ tool: "look.slow", input: { gate: "many" } }));
  const { callId } = await gates.entered("many");
  gates.open("many");
  const answers = await Promise.all(asked);
  expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body.status, body.output]))).size).toBe(1);
  expect(new Set(answers.map(({ body }) => body.execution_id)).size).toBe(100);
  expect(
    answers.filter(({ body }) => body.execution?.["cache"] === "miss").map(({ body }) => body.execution_id),
  ).toEqual([callId]);
  expect(gates.entries.map(({ callId: ran }) => ran)).toEqual([callId]);
});

test("another tenant's equal question is not answered from it", async () => {
  await admin.invoke({ tool: "look", input: { q: "secret" } });
  const foreign = await beta.invoke({ tool: "look", input: { q: "secret" }, mode: "async" });
  expect([foreign.status, foreign.body.status, foreign.body.execution?.["cache"]]).toEqual([202, "queued", "miss"]);
  await beta.post(`/v1/executions/${foreign.body.execution_id}/cancel`);
});

test("it is in the ledger: after a restart the same question runs nothing", async () => {
  const first = await admin.invoke({ tool: "look", input: { q: "kept" } });
  const before = runs.length;
  await stack.kill();
  await stack.start();
  const again = await admin.invoke({ tool: "look", input: { q: "kept" } });
  expect(again.body).toMatchObject({
    status: "succeeded",
    output: first.body.output,
    execution: { cache: "hit", cached_from: first.body.execution_id },
  });
  expect(runs).toHaveLength(before);
});

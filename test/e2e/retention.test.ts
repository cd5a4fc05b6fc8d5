// Retention with a real runtime that keeps ended calls for four seconds: what goes with a call, and that its key is free then.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

let stack: Stack;
let admin: Rest;
beforeAll(async () => {
  stack = await startStack({ args: ["--retention", "4s"] });
  admin = stack.admin;
});
afterAll(() => stack.close());

/** Asks until the call is gone; the sweep runs every second. */
async function gone(id: string | undefined): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if ((await admin.get(`/v1/executions/${id}`)).status === 404) return;
    await new Promise((resolve) => void setTimeout(resolve, 25));
  }
  throw new Error(`${id} is still there`);
}

test("IDM-07: a key lives as long as its call: afterwards the same key and body are a new run, and another body is no conflict", async () => {
  const body = { tool: "echo", input: { n: 1 }, idempotency_key: "idm-07" };
  const first = await admin.invoke(body);
  expect((await admin.invoke(body)).body.execution_id).toBe(first.body.execution_id);
  await gone(first.body.execution_id);
  const second = await admin.invoke({ ...body, input: { n: 2 } });
  expect([second.status, second.body.output]).toEqual([200, { n: 2 }]);
  expect(second.body.execution_id).not.toBe(first.body.execution_id);
});

test("what the audit says of a call outlives it, and the chain holds", async () => {
  const { body } = await admin.invoke({ tool: "echo", input: { n: 3 } });
  await gone(body.execution_id);
  expect((await admin.get(`/v1/executions/${body.execution_id}/events`)).status).toBe(404);
  expect(await admin.audit({ execution_id: body.execution_id ?? "" })).toMatchObject([{ action: "call.settled", status: "succeeded" }]);
  expect((await admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
  expect((await admin.get("/metrics")).text).toMatch(/^retention_removed_total\{what="call"\} \d/m);
});

// The rule for a team that is on call: its cases hold, and it takes two people who say that they understood.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examples, startExample, workerKey } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import type { Child } from "../../test/support/processes.ts";
import { startStack, type Stack } from "../../test/support/stack.ts";

const here = join(examples, "on-call");
let stack: Stack;
let worker: Child;

beforeAll(async () => {
  stack = await startStack({ args: ["--tools", `${examples}/tools`, "--policies", join(here, "policies")] });
  worker = startExample(stack, "first-worker/worker.js", { key: await workerKey(stack, "service:payments") });
});
afterAll(async () => {
  await worker.kill();
  await finish(stack);
});

test("every case comes to what it should", async () => {
  const ran = await stack.cli(["policies", "test", join(here, "cases.yaml")]);
  expect(ran).toMatchObject({ code: 0, err: expect.stringMatching(/^2 passed$/m) });
});

test("a large payment goes when two people have understood it, and not before", async () => {
  const input = { amount: 1500, currency: "EUR", payee: "Harbour Print" };
  const { body } = await stack.admin.invoke({ tool: "payments.charge", input });
  const [call, approval] = [String(body.execution_id), String(body["approval_id"])];
  const { body: asked } = await stack.admin.get(`/v1/approvals/${approval}`);
  const people = [await stack.person("fay", "finance"), await stack.person("gus", "finance")];
  const vote = (index: number, more: object = {}) =>
    people[index]?.rest.post(`/v1/approvals/${approval}/votes`, {
      decision: "approve",
      args_hash: asked["args_hash"],
      ...more,
    });
  expect((await vote(0))?.status).toBe(400);
  expect((await vote(0, { comprehended: true }))?.status).toBe(200);
  expect((await stack.admin.get(`/v1/executions/${call}`)).body.status).toBe("awaiting_approval");
  expect((await vote(1, { comprehended: true }))?.status).toBe(200);
  await stack.admin.until(call, ["succeeded"]);
});

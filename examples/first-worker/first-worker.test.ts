// The first worker, against a real runtime: one payment for one key, its own no, and a key that can do nothing but work.
import { afterAll, beforeAll, expect, test } from "vitest";
import { connected, examples, startExample, workerKey } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import type { Child } from "../../test/support/processes.ts";
import { startStack, type Stack } from "../../test/support/stack.ts";

let stack: Stack;
let worker: Child;
let key: string;

beforeAll(async () => {
  stack = await startStack({ args: ["--tools", `${examples}/tools`] });
  key = await workerKey(stack, "service:payments");
  worker = startExample(stack, "first-worker/worker.js", { key });
  await connected(stack, "payments-1");
});
afterAll(async () => {
  await worker.kill();
  await finish(stack);
});

const pay = (amount: number, idempotencyKey?: string) =>
  stack.admin.invoke({
    tool: "payments.charge",
    input: { amount, currency: "EUR", payee: "Lantern Books" },
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
  });

test("twenty requests with one key are one payment, and another key is another", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => pay(49.9, "invoice-77")));
  const payments = new Set(answers.map(({ body }) => JSON.stringify(body.output)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(payments.size).toBe(1);
  const other = await pay(49.9, "invoice-78");
  expect(payments.has(JSON.stringify(other.body.output))).toBe(false);
});

test("an amount that makes no sense is the tool's own no", async () => {
  const { status, body } = await pay(-5);
  expect([status, body.error]).toMatchObject([422, { code: "tool_error", details: { tool_code: "invalid_args" } }]);
});

test("its key lets it work, and do nothing else", async () => {
  const asWorker = stack.as(key);
  expect((await asWorker.invoke({ tool: "echo", input: 1 })).status).toBe(403);
  expect((await asWorker.get("/v1/executions")).status).toBe(403);
});

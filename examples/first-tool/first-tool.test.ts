// The first tool, against a real runtime: right to the cent, and what does not fit its schema never reaches the worker.
import { afterAll, beforeAll, expect, test } from "vitest";
import { examples, startExample } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import type { Child } from "../../test/support/processes.ts";
import { slowly, startStack, type Stack } from "../../test/support/stack.ts";

let stack: Stack;
let worker: Child;

beforeAll(async () => {
  stack = await startStack({ args: ["--tools", `${examples}/first-tool`] });
  worker = startExample(stack, "first-tool/worker.js", { key: "" });
});
afterAll(async () => {
  await worker.kill();
  await finish(stack);
});

const total = (lines: readonly object[]) => stack.admin.invoke({ tool: "invoices.total", input: { lines } });

test("it adds up, also beyond what a thousand lines of small change make", async () => {
  const lines = [
    { quantity: 3, unit_price_cents: 1999 },
    { quantity: 1, unit_price_cents: 5 },
  ];
  expect((await total(lines)).body).toMatchObject({ status: "succeeded", output: { total_cents: 6002 } });
  const dear = Array.from({ length: 1000 }, () => ({ quantity: 1_000_000, unit_price_cents: 1_000_000 }));
  expect((await total(dear)).body).toMatchObject({ output: { total_cents: 1_000_000_000_000_000 } });
});

test.each([
  ["no lines", []],
  ["a quantity of nothing", [{ quantity: 0, unit_price_cents: 1 }]],
  ["half a cent", [{ quantity: 1, unit_price_cents: 0.5 }]],
  ["a field that nobody knows", [{ quantity: 1, unit_price_cents: 1, discount: 1 }]],
])("%s is refused", async (_, lines) => {
  const { status, body } = await total(lines);
  expect([status, body.error?.code]).toEqual([400, "invalid_input"]);
});

test("a second worker with the same program shares the work", async () => {
  const second = startExample(stack, "first-tool/worker.js", { key: "" });
  await expect
    .poll(async () => (await stack.admin.get("/v1/workers")).text.match(/invoices\.total/g)?.length, slowly)
    .toBe(2);
  await second.kill();
});

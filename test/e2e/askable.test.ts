// A runtime that starts tells its log of unsafe tools that nobody can be asked about, until somebody can.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => finish(stack, gates));

const warning = "pay is unsafe, and the policy asks@1.0.0 asks 1 of the role treasury, and nobody who may decide approvals holds it";
const restart = async (): Promise<void> => {
  await stack.stop();
  await stack.start();
};
const told = (): number => stack.logs().split(warning).length - 1;

test("where a rule is published, where a tool is, and at every start, while nobody holds the role", async () => {
  await stack.publish({ name: "asks", match: { tools: ["pay"] }, then: ask("treasury") });
  const { body } = await stack.register(workerTool("pay", "1.0.0", { side_effect_class: "irreversible_action" }));
  expect(body["warnings"]).toEqual([warning.slice("pay ".length)]);
  expect(told()).toBe(0);
  await restart();
  await expect.poll(told).toBe(1);
  await stack.person("tess", "treasury");
  await restart();
  // Behind the first call of the new runtime it has long been said, or is not.
  const { body: call } = await stack.admin.invoke({ tool: "pay", input: {}, mode: "async" });
  expect(told()).toBe(1);
  await stack.admin.post(`/v1/executions/${call.execution_id}/cancel`);
});

// A worker that dies 100 ms after it has accepted, at the real lease time, for each side-effect class: who is asked, and who is not.
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => finish(stack, gates));

/** The id of a call whose only worker has died with it. */
async function lost(name: string, sideEffectClass: string): Promise<string> {
  const tool = `lost.${name}`;
  await stack.register(workerTool(tool, "1.0.0", { side_effect_class: sideEffectClass }));
  const worker = await stack.startChildWorker({ workerId: `w-${name}`, tools: [{ tool }] });
  const { body } = await stack.admin.invoke({ tool, input: { gate: name }, mode: "async" });
  await worker.said((message) => message.said === "entered" && message.gate === name);
  await wait(100);
  await worker.child.kill();
  return body.execution_id ?? "";
}

describe.concurrent("the worker dies 100 ms after it has accepted", () => {
  test.each([
    ["F6a", "read_only"],
    ["F6b", "idempotent_write"],
  ])("%s, %s: nobody is asked; it is queued again, and ends with a typed error when nobody comes", { timeout: 90_000 }, async (name, sideEffectClass) => {
    const id = await lost(name.toLowerCase(), sideEffectClass);
    const end = await stack.admin.until(id, ["failed", "indeterminate", "awaiting_approval"], 75_000);
    const { items = [] } = (await stack.admin.get(`/v1/approvals?execution_id=${id}`)).body;
    const told = [end.status, end.error?.code, end.error?.retryable, end.error?.details["may_have_executed"], items.length];
    expect(told).toEqual(["failed", "no_handler", true, undefined, 0]);
    expect(end.attempts?.map(({ end_reason }) => end_reason)).toEqual(["indeterminate"]);
  });

  test.each([
    ["F7a", "non_idempotent_write"],
    ["F7b", "irreversible_action"],
  ])("%s, %s: it is parked for a person, and nothing happens to it by itself", { timeout: 90_000 }, async (name, sideEffectClass) => {
    const id = await lost(name.toLowerCase(), sideEffectClass);
    const parked = await stack.admin.until(id, ["failed", "indeterminate", "queued", "succeeded"], 30_000);
    const told = [parked.status, parked.error?.code, parked.error?.retryable, parked.error?.details["may_have_executed"]];
    expect(told).toEqual(["indeterminate", "indeterminate", false, true]);
    const again = await stack.startChildWorker({ workerId: `w-${name.toLowerCase()}-2`, tools: [{ tool: `lost.${name.toLowerCase()}` }] });
    const answer = await stack.admin.post(`/v1/executions/${id}/resolve`, { verdict: "fail", comment: "given up" });
    expect([answer.status, answer.body.status]).toEqual([200, "failed"]);
    expect((await stack.admin.call(id)).attempts).toHaveLength(1);
    await again.child.kill();
  });
});

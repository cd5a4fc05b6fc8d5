// The programs of this folder, against a real runtime: what the worker says reaches who follows, in order.
import { afterAll, beforeAll, expect, test } from "vitest";
import { connected, examples, startExample, workerKey } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import type { Child } from "../../test/support/processes.ts";
import { startStack, type Stack } from "../../test/support/stack.ts";

let stack: Stack;
let worker: Child;

beforeAll(async () => {
  stack = await startStack({ args: ["--tools", `${examples}/follow`] });
  worker = startExample(stack, "follow/worker.js", { key: await workerKey(stack, "service:reports") });
  await connected(stack, "reports-1");
});
afterAll(async () => {
  await worker.kill();
  await finish(stack);
});

test("who follows sees what is written to stdout, and the result", async () => {
  const follower = startExample(stack, "follow/follow.js", { key: stack.adminKey, args: ["2026-10"] });
  expect(await follower.ended).toMatchObject({ code: 0 });
  expect(follower.stdout()).toBe("reading 2026-10\n{ rows: 1204 }\n");
  expect(follower.stderr()).toBe("");
});

test("a month that is none is refused before the worker hears of it", async () => {
  const answer = await stack.admin.invoke({ tool: "report.build", input: { month: "October" } });
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
});

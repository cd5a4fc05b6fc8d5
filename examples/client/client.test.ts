// The programs of this folder, against a real runtime.
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

test("typed calls: an output, a wait, an error, a list", async () => {
  const program = startExample(stack, "client/typed.ts", { key: stack.adminKey });
  expect(await program.ended).toMatchObject({ code: 0 });
  expect(program.stdout()).toBe(
    "hi\nit goes on\n1204\ninvalid_input 400 false\nreport.build succeeded\necho succeeded\n",
  );
});

test("a model's calls: the tool's output, and a refusal that a model can read", async () => {
  const program = startExample(stack, "client/agent.ts", { key: stack.adminKey });
  expect(await program.ended).toMatchObject({ code: 0 });
  expect(program.stdout()).toBe(
    'call_0 {"message":"hi"}\n' +
      'call_1 {"error":{"code":"tool_not_found","message":"there is no tool \\"send_money\\""}}\n',
  );
});

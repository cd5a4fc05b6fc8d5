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

test("a call, a refusal, a stream, and many calls", async () => {
  const program = startExample(stack, "grpc/calls.ts", { key: stack.adminKey, env: { SIGNALBOX_GRPC: stack.grpc() } });
  expect(await program.ended).toMatchObject({ code: 0 });
  expect(program.stdout().split("\n")).toEqual([
    'succeeded {"id":9007199254740993}',
    "1 true",
    "3 invalid_input false the input does not match the input schema of report.build@1.0.0",
    "/month",
    "2n stdout reading 2026-10",
    "",
    "6n done ",
    'a: {"ref":"a"}',
    'b: {"ref":"b"}',
    'c: {"ref":"c"}',
    "d: tool_not_found",
    "",
  ]);
  expect(program.stderr()).toBe("");
});

test("without a key nothing is called, and the program says so", async () => {
  const program = startExample(stack, "grpc/calls.ts", { key: "", env: { SIGNALBOX_GRPC: stack.grpc() } });
  expect(await program.ended).toMatchObject({ code: 1 });
  expect(program.stderr()).toContain("UNAUTHENTICATED");
});

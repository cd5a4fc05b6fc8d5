// The API cases against the real runtime: what is refused and in which words, and what a call's record says.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGates } from "../support/gates.ts";
import { finish } from "../support/finish.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { addTenant } from "../support/tenants.ts";
import { startStack, type Stack } from "../support/stack.ts";

const callId = /^exec_[0-9A-HJKMNP-TV-Z]{26}$/;
const gates = createGates();
let stack: Stack;
let admin: Rest;
let alice: Rest;
let vic: Rest;
let bob: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  const operator = ["tools:read", "tools:invoke", "calls:read", "calls:cancel"];
  ({ rest: alice } = await stack.makeKey({ principal: "user:alice", scopes: operator, grants: ["*"] }));
  ({ rest: vic } = await stack.makeKey({ principal: "user:vic", scopes: ["tools:read", "calls:read"], grants: ["*"] }));
  bob = stack.as(addTenant(stack.dataDir, { tenant: "beta", principal: "user:bob", scopes: ["*"], grants: ["*"] }));
  const request = {
    input: { type: "object", required: ["url"], properties: { url: { type: "string" } } },
    side_effect_class: "idempotent_write",
    timeout: "2s",
    permissions: ["net:egress:api.example.com"],
  };
  await stack.register(workerTool("http.request", "1.2.0", request));
  await stack.register(workerTool("http.request", "1.3.0", request));
  await stack.register(workerTool("bad", "1.0.0", { output: { type: "object", required: ["answer"] } }));
  await stack.startWorker("w-api", [
    { tool: "http.request", version: "1.2.0", handler: gates.note.bind(undefined) as never },
    { tool: "http.request", version: "1.3.0", handler: () => ({ status: 200 }) },
    { tool: "bad", handler: () => ({ secret: "raw-output-of-bad" }) },
  ]);
});
afterAll(() => finish(stack));

test("API-01 echo: the record, its id and its execution block", async () => {
  const { status, body } = await alice.invoke({ tool: "echo", input: { message: "hi" } });
  expect({ status, state: body.status, output: body.output }).toEqual({
    status: 200,
    state: "succeeded",
    output: { message: "hi" },
  });
  expect(body.execution_id).toMatch(callId);
  expect(body.execution).toMatchObject({
    sandbox: "application",
    worker: expect.stringMatching(/-builtin$/),
    attempt: 1,
    queued_ms: expect.any(Number),
    start_ms: expect.any(Number),
    duration_ms: expect.any(Number),
  });
  expect(Object.keys(body.execution?.["resources"] as object)).toEqual(
    expect.arrayContaining(["cpu_ms", "peak_memory_bytes"]),
  );
});

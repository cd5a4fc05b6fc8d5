// Cases on what is kept of calls: who was refused and why, every attempt that failed, arguments without a hash, and a chain without its key.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { startNode } from "../support/processes.ts";
import type { Rest } from "../support/rest.ts";
import { startScriptedWorker } from "../support/scripted-worker.ts";
import { signalboxBin, startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
const MiB = 1_048_576;
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  await stack.register(workerTool("delete.all", "1.0.0", { input: {}, side_effect_class: "irreversible_action" }));
  await stack.register(workerTool("report"));
  await stack.startWorker("w-reports", [
    { tool: "delete.all", handler: gates.note },
    { tool: "report", handler: ({ rows }: { readonly rows: number }) => ({ rows: "x".repeat(rows) }) },
  ]);
});
afterAll(() => finish(stack, gates));

const facts = (records: readonly Readonly<Record<string, unknown>>[]) =>
  records.map(({ action, status, error_code }) => ({ action, status, error_code }));

test("report 223: a denial is audited as one, with its code, and as nothing else", async () => {
  const { rest } = await stack.makeKey({ principal: "user:mallory", scopes: ["tools:invoke", "calls:read"] });
  const { status, body } = await rest.invoke({ tool: "delete.all", input: {} });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  const ofCall = await admin.audit({ execution_id: body.execution_id ?? "" });
  expect(facts(ofCall)).toEqual([{ action: "call.denied", status: "denied", error_code: "forbidden" }]);
  const settled = await admin.audit({ principal: "user:mallory", action: "call.settled" });
  expect(settled).toEqual([]);
  expect(gates.entriesOf(body.execution_id)).toEqual([]);
});

test("report 227: every attempt that failed has a record of its own beside that of the end", async () => {
  await stack.register(workerTool("read.twice"));
  const options = { address: stack.grpc(), key: stack.adminKey, tools: ["read.twice"] };
  const worker = await startScriptedWorker({ ...options, workerId: "w-forgetful" });
  const waiting = admin.invoke({ tool: "read.twice", input: {} });
  const { callId, fence } = await worker.next("invoke");
  worker.send({ type: "accepted", callId, fence });
  worker.send({ type: "started", callId, fence });
  // It lives on without naming the call: the second heartbeat decides.
  for (let beat = 0; beat < 2; beat++) {
    worker.send({ type: "heartbeat", load: 0, inFlight: [] });
    await worker.next("heartbeat_ack");
  }
  const again = await worker.begin(callId);
  worker.succeed(again, '{"read":true}');
  const end = await waiting;
  worker.hangUp();
  expect([end.status, end.body.output]).toEqual([200, { read: true }]);
  const records = await admin.audit({ execution_id: callId });
  expect(records.map(({ action, attempt, error_code }) => ({ action, attempt, error_code }))).toEqual([
    { action: "call.settled", attempt: 2, error_code: undefined },
    { action: "call.attempt_failed", attempt: 1, error_code: "lease_expired" },
  ]);
  expect((await admin.call(callId)).attempts?.map(({ end_reason }) => end_reason)).toEqual([
    "lease_expired",
    "succeeded",
  ]);
});

test.each([
  ["a number beyond every double", '{"n":1e400}'],
  ["half a character", '{"text":"\\ud800"}'],
  ["one key twice", '{"a":1,"a":2}'],
  ["more levels than anybody walks", `${"[".repeat(500)}${"]".repeat(500)}`],
])("report 225: arguments that have no hash of their own (%s) run nothing, and are refused by their name", async (_what, input) => {
  const [entries, calls] = [gates.entries.length, (await admin.get("/v1/executions?limit=100")).body.items?.length];
  const { status, body } = await admin.ask("POST", "/v1/executions", { body: `{"tool":"delete.all","input":${input}}` });
  expect([status, body.error?.code, body.execution_id]).toEqual([400, "invalid_input", undefined]);
  expect(body.error?.details["reason"]).toMatch(/^(number_range|lone_surrogate|duplicate_key|too_deep)$/);
  expect(gates.entries).toHaveLength(entries);
  expect((await admin.get("/v1/executions?limit=100")).body.items).toHaveLength(calls ?? -1);
});

test("report 120: a result over its limit is no half of a JSON text: the call fails, and says the limit and the size", async () => {
  const whole = await admin.invoke({ tool: "report", input: { rows: 1_000 }, limits: { max_output_bytes: 1_011 } });
  expect([whole.status, whole.body.output]).toEqual([200, { rows: "x".repeat(1_000) }]);
  const over = await admin.invoke({ tool: "report", input: { rows: 1_001 }, limits: { max_output_bytes: 1_011 } });
  expect([over.status, over.body.error?.code]).toEqual([422, "resource_exceeded"]);
  expect(over.body.error?.details).toEqual({ resource: "output", limit: 1_011, observed: 1_012 });
  const huge = await admin.invoke({ tool: "report", input: { rows: MiB } });
  expect(huge.body.error?.details).toMatchObject({ resource: "output", limit: MiB });
  for (const { text, body } of [over, huge]) {
    expect(text).not.toContain("xxxx");
    expect((await admin.call(body.execution_id)).output).toBeUndefined();
  }
});

test("AUD-06: without the key of its audit a runtime does not start, and says what to do; no other key is made in its place", async () => {
  expect((await stack.stop()).code).toBe(0);
  const key = join(stack.dataDir, "audit.key");
  const aside = join(stack.folder, "audit.key.aside");
  const refused = async (): Promise<string> => {
    const child = startNode([signalboxBin, "dev", "--port", "0", "--grpc-port", "0", "--data", stack.dataDir, "--boxes", "0"]);
    const { code } = await child.ended;
    expect(code).not.toBe(0);
    return child.stderr() + child.stdout();
  };
  renameSync(key, aside);
  expect(await refused()).toMatch(/audit\.key is missing.*restore the key from your backup/s);
  // One that is not it is not taken either.
  writeFileSync(key, "not a key\n");
  expect(await refused()).toMatch(/audit\.key is damaged.*restore it from your backup/s);
  renameSync(aside, key);
  await stack.start();
  expect((await admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
});

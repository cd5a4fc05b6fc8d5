// A worker that breaks the Work protocol: every bad message costs at most its own call, and never a stream that works.
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { encodeWorker, type Lease, type Result } from "@signalbox/protocol";
import { finish } from "../support/finish.ts";
import { workerTool } from "../support/manifests.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { openStream, startScriptedWorker, type ScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, type Stack } from "../support/stack.ts";

let stack: Stack;
let admin: Rest;
let worker: ScriptedWorker;
let bystander: { readonly answer: Promise<Reply>; readonly id: string };

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  await stack.register(workerTool("raw", "1.0.0", { side_effect_class: "idempotent_write", timeout: "5m" }));
  await stack.register(workerTool("raw.unsafe", "1.0.0", { side_effect_class: "non_idempotent_write" }));
  worker = await startScriptedWorker({
    address: stack.grpc(),
    key: stack.adminKey,
    workerId: "w-raw",
    tools: ["raw", "raw.unsafe"],
  });
  const answer = admin.invoke({ tool: "raw", input: { by: "stander" }, wait_ms: 300_000 });
  const invoke = await worker.next("invoke");
  worker.send({ type: "accepted", callId: invoke.callId, fence: invoke.fence });
  worker.send({ type: "started", callId: invoke.callId, fence: invoke.fence });
  bystander = { answer, id: invoke.callId };
});
afterEach(streamLives);
afterAll(async () => {
  await bystanderEnds();
  worker.hangUp();
  await finish(stack);
});

/** The stream is open and takes calls, and the call beside still runs. */
async function streamLives(): Promise<void> {
  expect(worker.isOpen).toBe(true);
  worker.send({ type: "heartbeat", load: 0, inFlight: [{ callId: bystander.id, fence: 1, state: "running" }] });
  await worker.next("heartbeat_ack");
  const [answer] = await Promise.all([
    admin.invoke({ tool: "raw", input: { still: "here" } }),
    worker.next("invoke").then(async (invoke) => {
      worker.send({ type: "accepted", callId: invoke.callId, fence: invoke.fence });
      worker.send({ type: "started", callId: invoke.callId, fence: invoke.fence });
      worker.succeed(invoke, invoke.argsJson);
    }),
  ]);
  expect([answer.status, answer.body.output]).toEqual([200, { still: "here" }]);
}

async function bystanderEnds(): Promise<void> {
  worker.succeed({ callId: bystander.id, fence: 1 }, '{"undisturbed":true}');
  expect((await bystander.answer).body).toMatchObject({ status: "succeeded", output: { undisturbed: true } });
}

/** Starts a call and lets `end` send its end, as bytes or as a message. */
async function callEndedBy(tool: string, end: (lease: Lease) => void): Promise<Reply> {
  const { execution_id: id } = (await admin.invoke({ tool, input: {}, mode: "async" })).body;
  const invoke = await worker.begin(id);
  end(invoke);
  await worker.next("result_ack", (ack) => ack.callId === id && ack.verdict === "stored");
  return admin.get(`/v1/executions/${id ?? ""}`);
}

function result(lease: Lease, more: Partial<Result>): Result {
  const { callId, fence } = lease;
  return { type: "result", callId, fence, status: "succeeded", usage: { durationMs: 1 }, ...more };
}

test("frames of chance, empty frames and cut ones are passed over", async () => {
  worker.sendBytes(new Uint8Array(0));
  for (let length = 1; length < 400; length += 7) worker.sendBytes(randomBytes(length));
  const whole = encodeWorker(
    result({ callId: "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", fence: 1 }, { outputJson: '{"a":1}' }),
  );
  for (let length = 0; length < whole.length; length++) worker.sendBytes(whole.subarray(0, length));
});

test("words about calls that are not this worker's change nothing", async () => {
  const stranger = { callId: "exec_01BX5ZZKBKACTAV9WEVGEMMVRZ", fence: 1 };
  worker.send({ type: "accepted", ...stranger });
  worker.send({ type: "started", ...stranger });
  worker.send({ type: "nack", ...stranger, reason: "reject", code: "x", message: "y" });
  worker.send({ type: "progress", ...stranger, percent: 50, message: "half" });
  worker.send(result(stranger, { outputJson: "{}" }));
  const ack = await worker.next("result_ack", ({ callId }) => callId === stranger.callId);
  expect(ack.verdict).toBe("lease_lost");
  expect((await admin.call(stranger.callId)).error?.code).toBe("execution_not_found");
});

test.each([
  ["not json", "this is no JSON", "invalid_output"],
  ["empty", "", "invalid_output"],
  ["cut off", '{"a":', "invalid_output"],
  ["two values", "{}{}", "invalid_output"],
  ["20 000 levels", "[".repeat(20_000) + "]".repeat(20_000), "invalid_output"],
  ["50 MB", `"${"x".repeat(50 * 1024 * 1024)}"`, "resource_exceeded"],
])("worst thing 10: a result that is %s fails its call with a typed error", async (_name, outputJson, code) => {
  const { body } = await callEndedBy("raw", (lease) => worker.send(result(lease, { outputJson })));
  expect([body.status, body.error?.code, body.error?.retryable]).toEqual(["failed", code, false]);
});

test("a success without a result is invalid_output; of an unsafe tool it says that it may have run", async () => {
  const safe = await callEndedBy("raw", (lease) => worker.send(result(lease, {})));
  expect([safe.body.status, safe.body.error?.code]).toEqual(["failed", "invalid_output"]);
  const unsafe = await callEndedBy("raw.unsafe", (lease) => worker.send(result(lease, {})));
  expect(unsafe.body.error).toMatchObject({ code: "invalid_output", details: { may_have_executed: true } });
});

test("report 117: the bytes ED A0 80 in a result become U+FFFD, and that is said", async () => {
  const { text, body } = await callEndedBy("raw", (lease) => {
    const bytes = Buffer.from(encodeWorker(result(lease, { outputJson: '{"text":"<???>"}' })));
    Buffer.from([0xed, 0xa0, 0x80]).copy(bytes, bytes.indexOf("???"));
    worker.sendBytes(bytes);
  });
  expect(body.status).toBe("succeeded");
  expect((body.output as { text: string }).text).toMatch(/^<\ufffd+>$/);
  expect(body.execution?.["ill_formed_text_replaced"]).toBe(true);
  expect(text).not.toMatch(/\\ud800/i);
});

test("report 117: half of a surrogate pair in an escape is replaced too", async () => {
  const outputJson = String.raw`{"text":"left \ud800 right","\udc00":1}`;
  const { body } = await callEndedBy("raw", (lease) => worker.send(result(lease, { outputJson })));
  expect([body.status, body.output]).toEqual(["succeeded", { text: "left \ufffd right", "\ufffd": 1 }]);
  expect(body.execution?.["ill_formed_text_replaced"]).toBe(true);
});

test("a broken frame that names a call of this worker fails that call", async () => {
  const { body } = await callEndedBy("raw", (lease) => {
    const bytes = Buffer.from(encodeWorker(result(lease, { outputJson: '"a text that is long enough to be cut"' })));
    // The frame promises more than comes, behind the two fields that name the call.
    worker.sendBytes(bytes.subarray(0, bytes.length - 12));
  });
  expect([body.status, body.error?.code]).toEqual(["failed", "invalid_output"]);
});

test("figures that cannot be do not harm the record", async () => {
  const usage = { durationMs: Number.NaN, cpuMs: -5, peakMemoryBytes: -1 };
  const { body } = await callEndedBy("raw", (lease) => worker.send(result(lease, { outputJson: "{}", usage })));
  expect([body.status, body.error?.code]).toEqual(["failed", "invalid_output"]);
  const stranger = { callId: bystander.id, fence: 99 };
  worker.send({ type: "started", ...stranger });
  worker.send({ type: "heartbeat", load: Number.NaN, inFlight: [] });
});

test("a second register, or another word before the first, ends that stream and no other", async () => {
  const twice = await startScriptedWorker({
    address: stack.grpc(),
    key: stack.adminKey,
    workerId: "w-twice",
    tools: ["raw"],
  });
  twice.sendBytes(encodeWorker({ ...registerOf("w-twice") }));
  expect((await twice.next("go_away")).reason).toContain("twice");
  await twice.closed;

  const early = openStream(stack.grpc(), stack.adminKey);
  early.send({ type: "heartbeat", load: 0, inFlight: [] });
  expect((await early.next("go_away")).reason).toContain("register");
  await early.closed;
});

test("a stream with no key, an unknown one, or one that may not connect workers is refused with the reason", async () => {
  const { secret } = await stack.makeKey({ principal: "user:no-worker", scopes: ["tools:invoke"] });
  // 16 is UNAUTHENTICATED, 7 is PERMISSION_DENIED.
  expect(await openStream(stack.grpc(), "").closed).toMatch(/^16 /);
  expect(await openStream(stack.grpc(), "sbk_unknown").closed).toMatch(/^16 /);
  expect(await openStream(stack.grpc(), secret).closed).toMatch(/^7 .*workers:connect/);
});

function registerOf(workerId: string): Parameters<typeof encodeWorker>[0] {
  return {
    type: "register",
    workerId,
    incarnation: `inc-${workerId}`,
    imageDigest: "",
    pool: "",
    labels: {},
    handlers: [],
    backends: [],
    capacity: 1,
    inFlight: [],
  };
}

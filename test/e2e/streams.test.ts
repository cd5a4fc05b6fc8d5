// Leases over the Work stream: who holds what, whose word counts, and connections that break and come back.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startScriptedWorker, type ScriptedWorker, type ScriptedWorkerOptions } from "../support/scripted-worker.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
const hangUps: (() => void)[] = [];

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
});
afterAll(async () => {
  for (const hangUp of hangUps) hangUp();
  await finish(stack, gates);
});

const safe = { side_effect_class: "idempotent_write" };
const unsafe = { side_effect_class: "non_idempotent_write" };

async function scripted(
  options: Pick<ScriptedWorkerOptions, "workerId" | "tools"> & Partial<ScriptedWorkerOptions>,
): Promise<ScriptedWorker> {
  const worker = await startScriptedWorker({ address: stack.grpc(), key: stack.adminKey, ...options });
  hangUps.push(worker.hangUp);
  return worker;
}

async function queued(tool: string, input: unknown = {}): Promise<string> {
  const { status, body } = await admin.invoke({ tool, input, mode: "async" });
  expect(status).toBe(202);
  return body.execution_id ?? "";
}

test("an unsafe call starts on Go, and Go comes after Accepted only", async () => {
  await stack.register(workerTool("two.words", "1.0.0", unsafe));
  const worker = await scripted({ workerId: "w-words", tools: ["two.words"] });
  const id = await queued("two.words");
  const invoke = await worker.next("invoke");
  expect(invoke).toMatchObject({
    callId: id,
    fence: 1,
    attempt: 1,
    idempotencyKey: id,
    needsGo: true,
    sideEffectClass: "non_idempotent_write",
  });
  // An answer to a heartbeat shows that everything before it has been said.
  worker.send({ type: "heartbeat", load: 0, inFlight: [] });
  await worker.next("heartbeat_ack");
  expect(worker.heard.map(({ type }) => type)).not.toContain("go");
  worker.send({ type: "accepted", callId: id, fence: 1 });
  expect(await worker.next("go")).toEqual({ type: "go", callId: id, fence: 1 });
  worker.send({ type: "started", callId: id, fence: 1 });
  worker.succeed(invoke, "{}");
  expect((await worker.next("result_ack")).verdict).toBe("stored");
  expect((await admin.call(id)).status).toBe("succeeded");
});

test("report 050: a worker never holds more than it advertised, over all its tools", async () => {
  await stack.register(workerTool("narrow.a", "1.0.0", safe));
  await stack.register(workerTool("narrow.b", "1.0.0", safe));
  const worker = await scripted({ workerId: "w-narrow", tools: ["narrow.a", "narrow.b"], capacity: 2 });
  const ids: string[] = [];
  for (const tool of ["narrow.a", "narrow.b", "narrow.a", "narrow.b", "narrow.a"]) ids.push(await queued(tool));
  const order: string[] = [];
  for (const id of ids) {
    const { fence } = await worker.begin(id);
    const offered = worker.heard.filter(({ type }) => type === "invoke").length;
    expect(offered - order.length).toBeLessThanOrEqual(2);
    worker.succeed({ callId: id, fence }, "{}");
    await worker.next("result_ack");
    order.push(id);
  }
  expect(worker.heard.flatMap((one) => (one.type === "invoke" ? one.callId : []))).toEqual(ids);
});

test("reports 047 and 053: a worker whose lease is gone is told so, and only the live attempt counts", async () => {
  await stack.register(workerTool("stale", "1.0.0", safe));
  const worker = await scripted({ workerId: "w-stale", tools: ["stale"] });
  const waiting = admin.invoke({ tool: "stale", input: {} });
  const first = await worker.next("invoke");
  worker.send({
    type: "nack",
    callId: first.callId,
    fence: first.fence,
    reason: "retry_elsewhere",
    code: "busy",
    message: "",
  });
  // It is the only worker, so it gets the call again, under another token.
  const second = await worker.begin(first.callId);
  expect([first.fence, second.fence, second.attempt]).toEqual([1, 2, 1]);

  worker.succeed(first, '{"from":"the lost lease"}');
  expect(await worker.next("result_ack")).toMatchObject({ fence: 1, verdict: "lease_lost" });
  worker.send({ type: "started", callId: first.callId, fence: 1 });
  expect(await worker.next("cancel")).toMatchObject({ fence: 1, reason: "lost" });

  worker.succeed(second, '{"from":"the live lease"}');
  expect(await worker.next("result_ack")).toMatchObject({ fence: 2, verdict: "stored" });
  const { body } = await waiting;
  expect([body.status, body.output]).toEqual(["succeeded", { from: "the live lease" }]);
  const record = await admin.call(first.callId);
  expect(record.attempts?.map(({ fence, end_reason }) => [fence, end_reason])).toEqual([
    [1, "nack:busy"],
    [2, "succeeded"],
  ]);
  expect(record.late_results).toMatchObject([{ fence: 1, status: "succeeded", output: { from: "the lost lease" } }]);
});

test("a result that is told again, since its acknowledgement was lost, is stored once and acknowledged again", async () => {
  await stack.register(workerTool("again", "1.0.0", unsafe));
  const worker = await scripted({ workerId: "w-again", tools: ["again"] });
  const id = await queued("again");
  const invoke = await worker.begin(id);
  worker.succeed(invoke, '{"n":1}');
  expect(await worker.next("result_ack")).toMatchObject({ callId: id, fence: 1, verdict: "stored" });
  worker.succeed(invoke, '{"n":2}');
  expect(await worker.next("result_ack")).toMatchObject({ callId: id, fence: 1, verdict: "stored" });
  // Twice before the first can be stored: nobody hears of it before it is, and then the first word counts.
  const second = await queued("again");
  const other = await worker.begin(second);
  worker.succeed(other, '{"n":3}');
  worker.succeed(other, '{"n":4}');
  expect(await worker.next("result_ack")).toMatchObject({ callId: second, verdict: "stored" });
  for (const [one, n] of [
    [id, 1],
    [second, 3],
  ] as const)
    expect(await admin.call(one)).toMatchObject({ status: "succeeded", output: { n }, late_results: [] });
});

test("a worker that rejects a call ends it; one that is busy does not", async () => {
  await stack.register(workerTool("picky", "1.0.0", unsafe));
  const worker = await scripted({ workerId: "w-picky", tools: ["picky"] });
  const waiting = admin.invoke({ tool: "picky", input: {} });
  const { callId, fence } = await worker.next("invoke");
  worker.send({
    type: "nack",
    callId,
    fence,
    reason: "reject",
    code: "no_account",
    message: "there is no such account",
  });
  const { status, body } = await waiting;
  expect([status, body.error?.code, body.error?.retryable]).toEqual([502, "worker_rejected", false]);
  expect(body.error?.details).toMatchObject({ worker_code: "no_account" });
  // It was never entered.
  expect(body.error?.details["may_have_executed"]).toBeUndefined();
});

test("report 020: a worker that comes back and does not know the call never had it: it is queued again, for every class", async () => {
  await stack.register(workerTool("unheard", "1.0.0", unsafe));
  const before = await scripted({ workerId: "w-unheard", tools: ["unheard"] });
  const id = await queued("unheard");
  await before.next("invoke");
  before.hangUp();
  await before.closed;
  const after = await scripted({ workerId: "w-unheard", tools: ["unheard"] });
  const invoke = await after.begin(id);
  expect([invoke.fence, invoke.attempt]).toEqual([2, 1]);
  after.succeed(invoke, "{}");
  await after.next("result_ack");
  expect(await admin.call(id)).toMatchObject({ status: "succeeded", execution: { attempt: 1 } });
});

test("a stream that breaks and comes back within the lease keeps its calls, and brings held results", async () => {
  await stack.register(workerTool("keeps", "1.0.0", unsafe));
  const before = await scripted({ workerId: "w-keeps", tools: ["keeps"] });
  const [running, done] = [await queued("keeps"), await queued("keeps")];
  const first = await before.begin(running);
  const second = await before.begin(done);
  before.hangUp();
  await before.closed;
  const after = await scripted({
    workerId: "w-keeps",
    tools: ["keeps"],
    inFlight: [
      { callId: running, fence: 1, state: "running" },
      { callId: done, fence: 1, state: "done" },
      { callId: "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", fence: 1, state: "running" },
    ],
  });
  const registered = after.heard.find(({ type }) => type === "registered");
  expect(registered).toMatchObject({
    resync: [
      { callId: running, fence: 1, verdict: "keep" },
      { callId: done, fence: 1, verdict: "keep" },
      { callId: "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", fence: 1, verdict: "drop" },
    ],
  });
  after.succeed(second, '{"held":true}');
  after.succeed(first, '{"ran":"on"}');
  await after.next("result_ack");
  await after.next("result_ack");
  expect(await admin.call(done)).toMatchObject({ status: "succeeded", output: { held: true } });
  const record = await admin.call(running);
  expect([record.status, record.output, record.attempts?.length]).toEqual(["succeeded", { ran: "on" }, 1]);
});

test("report 058, worst thing 6: TCP is cut for 2 s in mid-call; the worker keeps its calls, each runs once", async () => {
  await stack.register(workerTool("cut.safe", "1.0.0", safe));
  await stack.register(workerTool("cut.unsafe", "1.0.0", unsafe));
  const proxy = await stack.startProxy();
  const tools = ["cut.safe", "cut.unsafe"].map((tool) => ({ tool, handler: gates.hold }));
  await stack.startWorker("w-cut", tools, { address: proxy.address });
  const names = ["cut.safe", "cut.unsafe", "cut.ends.meanwhile"];
  const waiting = names.map((gate) =>
    admin.invoke({ tool: gate === "cut.safe" ? "cut.safe" : "cut.unsafe", input: { gate } }),
  );
  const entries = await Promise.all(names.map((gate) => gates.entered(gate)));
  proxy.cut();
  await expect.poll(() => stack.ready("w-cut"), slowly).toEqual([]);
  // One of them finishes while there is no connection: its result is kept.
  gates.open("cut.ends.meanwhile");
  // The cut is what the case is about; nothing happens in it that could be waited for.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(entries.map(({ ctx }) => ctx.signal.aborted)).toEqual([false, false, false]);
  for (const { callId } of entries) expect(["dispatched", "running"]).toContain((await admin.call(callId)).status);
  proxy.mend();
  await expect.poll(() => stack.ready("w-cut"), slowly).toHaveLength(1);
  expect(entries.map(({ ctx }) => ctx.signal.aborted)).toEqual([false, false, false]);
  gates.open("cut.safe");
  gates.open("cut.unsafe");
  for (const [at, answer] of (await Promise.all(waiting)).entries()) {
    expect([answer.status, answer.body.status, answer.body.output]).toEqual([
      200,
      "succeeded",
      { gate: names[at], call_id: entries[at]?.callId, fence: 1 },
    ]);
    expect((await admin.call(answer.body.execution_id)).attempts).toHaveLength(1);
    expect(gates.entriesOf(answer.body.execution_id)).toHaveLength(1);
  }
  expect(await stack.ready("w-cut")).toHaveLength(1);
});

test("WRK-07: a worker that leaves takes nothing new, finishes what it has, and is gone", async () => {
  await stack.register(workerTool("leaving", "1.0.0", unsafe));
  const { close } = await stack.startWorker("w-leaving", [{ tool: "leaving", handler: gates.hold }], {
    drainMs: 30_000,
  });
  const running = ["leave-1", "leave-2", "leave-3"].map((gate) => admin.invoke({ tool: "leaving", input: { gate } }));
  for (const gate of ["leave-1", "leave-2", "leave-3"]) await gates.entered(gate);
  const left = close();
  await expect
    .poll(async () => (await admin.get("/v1/workers?limit=100")).body.items, slowly)
    .toContainEqual(expect.objectContaining({ worker_id: "w-leaving", state: "draining", holding: 3 }));
  const late = await queued("leaving", { gate: "leave-4" });
  for (const gate of ["leave-1", "leave-2", "leave-3"]) gates.open(gate);
  for (const { body } of await Promise.all(running)) expect(body.status).toBe("succeeded");
  await left;
  expect((await admin.call(late)).status).toBe("queued");
  expect(gates.entriesOf(late)).toEqual([]);
  await admin.post(`/v1/executions/${late}/cancel`);
});

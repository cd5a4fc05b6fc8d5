// Stopping calls: by a cancel in every state, by a caller that leaves, by the clock, and in a race with the result.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ToolContext } from "@signalbox/worker";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let sleeper: ChildProcess | undefined;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  const short = { timeout: "200ms", grace: "100ms" };
  const tools = [
    workerTool("hold.safe", "1.0.0", { side_effect_class: "idempotent_write" }),
    workerTool("hold.unsafe", "1.0.0", { side_effect_class: "non_idempotent_write", grace: "100ms" }),
    workerTool("short.safe", "1.0.0", { ...short, side_effect_class: "idempotent_write" }),
    workerTool("short.unsafe", "1.0.0", { ...short, side_effect_class: "irreversible_action" }),
    workerTool("short.single", "1.0.0", { ...short, side_effect_class: "idempotent_write" }),
    workerTool("spawning", "1.0.0", { side_effect_class: "idempotent_write" }),
    workerTool("unserved"),
  ];
  for (const tool of tools) await stack.register(tool);
  await stack.startWorker(
    "w-stop",
    [
      ...["hold.safe", "hold.unsafe", "short.safe", "short.unsafe"].map((tool) => ({ tool, handler: gates.hold })),
      { tool: "short.single", handler: gates.hold, maxConcurrency: 1 },
      {
        tool: "spawning",
        async handler({ gate }: { readonly gate: string }, ctx: ToolContext): Promise<never> {
          // A process that would outlive the call by far; the signal is all that ends it.
          sleeper = spawn("sleep", ["600"], { signal: ctx.signal });
          sleeper.on("error", () => undefined);
          await once(sleeper, "spawn");
          return gates.hold({ gate }, ctx) as Promise<never>;
        },
      },
    ],
    { capacity: 256 },
  );
});
afterAll(() => finish(stack, gates));

test("CAN-03: a second cancel, and one after the end, change nothing and answer the same", async () => {
  const { execution_id: id = "" } = (
    await admin.invoke({ tool: "hold.safe", input: { gate: "can-03" }, mode: "async" })
  ).body;
  await gates.entered("can-03");
  expect((await admin.post(`/v1/executions/${id}/cancel`)).status).toBe(202);
  await admin.until(id, ["cancelled"]);
  const [second, third] = [
    await admin.post(`/v1/executions/${id}/cancel`),
    await admin.post(`/v1/executions/${id}/cancel`),
  ];
  expect([second.status, second.body.status, second.body.error?.code]).toEqual([200, "cancelled", "cancelled"]);
  expect([third.status, third.text]).toEqual([200, second.text]);

  const done = await admin.invoke({ tool: "echo", input: { n: 1 } });
  const late = await admin.post(`/v1/executions/${done.body.execution_id ?? ""}/cancel`);
  expect([late.status, late.text]).toEqual([200, done.text]);
  expect((await admin.events(done.body.execution_id)).map(({ type }) => type)).not.toContain("cancel_requested");
});

test("CAN-04: a queued call that is cancelled ends at once, and no worker ever gets it", async () => {
  const { execution_id: id = "" } = (await admin.invoke({ tool: "unserved", input: { gate: "can-04" }, mode: "async" }))
    .body;
  const { status, body } = await admin.post(`/v1/executions/${id}/cancel`);
  expect([status, body.status]).toEqual([200, "cancelled"]);
  await stack.startWorker("w-late", [{ tool: "unserved", handler: gates.note }]);
  // The worker is there and takes calls, and this one is not among them.
  await admin.invoke({ tool: "unserved", input: {} });
  expect(gates.entriesOf(id)).toEqual([]);
  const record = await admin.call(id);
  expect([record.status, record.attempts]).toEqual(["cancelled", []]);
  expect((await admin.events(id)).map(({ type }) => type)).toEqual(["requested", "queued", "cancelled"]);
});

test("a sync caller of a call that somebody cancels gets 200 with the status in the body", async () => {
  const waiting = admin.invoke({ tool: "hold.unsafe", input: { gate: "told" }, idempotency_key: "told" });
  const { callId } = await gates.entered("told");
  await admin.post(`/v1/executions/${callId}/cancel`);
  const { status, body } = await waiting;
  expect([status, body.status, body.error?.details]).toMatchObject([
    200,
    "cancelled",
    { stop_confirmed: true, may_have_executed: true },
  ]);
});

test("CAN-05, worst thing 9: 1 000 cancels race 1 000 results; each call has one end, and everybody is told the same", async () => {
  const total = 1_000;
  const ends = new Map<string, string>();
  let next = 0;
  /** How many turns of the event loop the cancel is ahead of the result; behind it, when negative. */
  let start = 0;
  const wait = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const racer = async (): Promise<void> => {
    for (let at = next++; at < total; at = next++) {
      const gate = `race-${at}`;
      const tool = at % 2 === 0 ? "hold.safe" : "hold.unsafe";
      const waiting = admin.invoke({ tool, input: { gate } });
      const { callId } = await gates.entered(gate);
      // Whoever lost the last race gets a longer start in the next one, so that the two stay neck and neck.
      const cancelling = wait(Math.max(0, -start)).then(() => admin.post(`/v1/executions/${callId}/cancel`));
      await wait(Math.max(0, start));
      gates.open(gate, { won: at });
      const [told, cancelled] = await Promise.all([waiting, cancelling]);
      expect([200, 202]).toContain(cancelled.status);
      if (cancelled.status === 200) expect(cancelled.body.status).toBe(told.body.status);
      expect(told.body.execution_id).toBe(callId);
      if (told.body.status === "succeeded") expect(told.body.output).toEqual({ won: at });
      ends.set(callId, told.body.status ?? "none");
      start += told.body.status === "succeeded" ? 16 : -16;
    }
  };
  await Promise.all(Array.from({ length: 32 }, racer));
  const count = (status: string): number => [...ends.values()].filter((one) => one === status).length;
  expect(count("succeeded") + count("cancelled")).toBe(total);
  expect(Math.min(count("succeeded"), count("cancelled"))).toBeGreaterThan(100);

  const audited = new Map<string, unknown[]>();
  for (const record of await admin.audit({ action: "call.settled" })) {
    const id = String(record["execution_id"]);
    audited.set(id, [...(audited.get(id) ?? []), record["status"]]);
  }
  for (const [id, status] of ends) expect([id, audited.get(id)]).toEqual([id, [status]]);
}, 60_000);

test("CAN-07: a sync caller that goes away does not stop the call", async () => {
  const leaving = new AbortController();
  const body = { tool: "hold.safe", input: { gate: "can-07" } };
  const waiting = admin.ask("POST", "/v1/executions", { body, signal: leaving.signal });
  const { callId, ctx } = await gates.entered("can-07");
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  // The runtime has noticed once it has written its line about the request without an answer.
  await expect.poll(() => stack.logs(), slowly).toContain('"caller_gone":true');
  await admin.until(callId, ["running"]);
  expect(ctx.signal.aborted).toBe(false);
  gates.open("can-07", { kept: true });
  expect(await admin.until(callId, ["succeeded"])).toMatchObject({ output: { kept: true } });
});

test("CAN-07: unless it asked for that", async () => {
  const leaving = new AbortController();
  const body = { tool: "hold.safe", input: { gate: "leave" }, cancel_on_disconnect: true };
  const waiting = admin.ask("POST", "/v1/executions", { body, signal: leaving.signal });
  const { callId } = await gates.entered("leave");
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  expect(await admin.until(callId, ["cancelled"])).toMatchObject({ status: "cancelled" });
});

test("TMO-01: a safe call over its time is timed out, and may be repeated", async () => {
  const { status, body } = await admin.invoke({ tool: "short.safe", input: { gate: "never" } });
  expect([status, body.status, body.error?.code, body.error?.retryable]).toEqual([504, "timed_out", "timeout", true]);
  expect(body.error?.details).toMatchObject({ stop_confirmed: true });
});

test("TMO-01: an unsafe one that stopped when told is timed out too, but may not be repeated", async () => {
  const { status, body } = await admin.invoke({ tool: "short.unsafe", input: { gate: "never" } });
  expect([status, body.status, body.error?.retryable]).toEqual([504, "timed_out", false]);
  expect(body.error?.details).toMatchObject({ stop_confirmed: true, may_have_executed: true });
});

test("TMO-01: a handler that does not stop: the safe call is timed out, the unsafe one is indeterminate", async () => {
  const [safe, unsafe] = await Promise.all([
    admin.invoke({ tool: "short.safe", input: { gate: "stubborn", stubborn: true } }),
    admin.invoke({ tool: "short.unsafe", input: { gate: "stubborn", stubborn: true } }),
  ]);
  expect([safe.status, safe.body.status, safe.body.error?.details]).toEqual([
    504,
    "timed_out",
    { stop_confirmed: false },
  ]);
  expect([unsafe.status, unsafe.body.status, unsafe.body.error?.code]).toEqual([202, "indeterminate", "indeterminate"]);
  // Nobody knows whether it happened; a person who does says so, and with which result.
  const resolve = (answer: Readonly<Record<string, unknown>>) =>
    admin.post(`/v1/executions/${unsafe.body.execution_id ?? ""}/resolve`, answer);
  const empty = await resolve({ verdict: "confirm" });
  expect([empty.status, empty.body.error?.code]).toEqual([400, "invalid_input"]);
  const resolved = await resolve({ verdict: "confirm", output: { paid: true }, comment: "it is on the statement" });
  expect([resolved.status, resolved.body.status, resolved.body.output]).toEqual([200, "succeeded", { paid: true }]);
  gates.open("stubborn");
});

test("TMO-02: time in the queue is not time that the tool took", async () => {
  const first = admin.invoke({ tool: "short.single", input: { gate: "slot-1" } });
  await gates.entered("slot-1");
  const second = admin.invoke({ tool: "short.single", input: { gate: "slot-2" } });
  // The first holds the only slot until its 200 ms are over, and the second is queued for longer than it may run.
  expect((await first).body.status).toBe("timed_out");
  await gates.entered("slot-2");
  gates.open("slot-2");
  const { status, body } = await second;
  expect([status, body.status]).toEqual([200, "succeeded"]);
  expect(body.execution?.["queued_ms"]).toBeGreaterThanOrEqual(150);
});

test("a total deadline ends a call that still waits in the queue", async () => {
  await stack.register(workerTool("nobody.serves"));
  const { status, body } = await admin.invoke({ tool: "nobody.serves", input: {}, deadline_ms: 50 });
  expect([status, body.status, body.error?.code, body.error?.retryable]).toEqual([504, "timed_out", "timeout", true]);
});

test("report 064: a cancel reaches a worker whose handler waits for a child process, and the child is killed", async () => {
  const waiting = admin.invoke({ tool: "spawning", input: { gate: "spawned" } });
  const { callId } = await gates.entered("spawned");
  const killedBy = new Promise((resolve) => sleeper?.once("exit", (_code, signal) => resolve(signal)));
  await admin.post(`/v1/executions/${callId}/cancel`);
  expect(await killedBy).toBe("SIGTERM");
  expect((await waiting).body.status).toBe("cancelled");
});

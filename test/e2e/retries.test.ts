// Retries and breakers against real processes: delays are stored instants, every attempt is told, and nobody is asked too often.
import { setTimeout as wait } from "node:timers/promises";
import { ToolError, type ToolContext } from "@signalbox/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let proxy: TcpProxy;
/** When each handler was entered, wall clock, by call. */
const entries = new Map<string, number[]>();

interface Fails {
  readonly times: number;
  readonly details?: Record<string, unknown>;
}

/** Fails as often as its input says, each time for a reason that a repeat helps against. */
function flaky({ times, details }: Fails, { callId, attempt }: ToolContext): unknown {
  entries.set(callId, [...(entries.get(callId) ?? []), Date.now()]);
  if (attempt <= times) throw new ToolError("busy", "not now", { retryable: true, ...(details === undefined ? {} : { details }) });
  return { attempt };
}

const twoSeconds = { attempts: 3, strategy: "exponential", initial: "2s", max: "2m" };
const safe = { side_effect_class: "idempotent_write" };

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  proxy = await stack.startProxy();
  await stack.register(workerTool("flaky", "1.0.0", { ...safe, retry: twoSeconds }));
  await stack.register(workerTool("patient", "1.0.0", { ...safe, retry: { attempts: 2, strategy: "fixed", initial: "8s", max: "8s" } }));
  await stack.register(workerTool("pay", "1.0.0", { side_effect_class: "non_idempotent_write", retry: twoSeconds }));
  await stack.register(workerTool("down", "1.0.0", { ...safe, breaker: { failures: 2, cool_down: "2s" } }));
  const served = ["flaky", "patient", "pay", "down"].map((tool) => ({ tool, handler: flaky as never }));
  await stack.startWorker("w-flaky", served, { address: proxy.address });
});
afterAll(() => finish(stack, gates));

interface Retried {
  readonly delay_ms: number;
  readonly not_before: number;
}

async function retries(id: string | undefined): Promise<readonly Retried[]> {
  const { items = [] } = (await admin.get(`/v1/executions/${id}/events`)).body;
  return items.filter(({ type }) => type === "retried").map(({ data }) => data as Retried);
}

describe("a tool that fails for a while", () => {
  test("RTY-01: two failures, then a success: attempt 3, waits of 2 s and 4 s, all attempts listed and each failure audited", { timeout: 30_000 }, async () => {
    const { status, body } = await admin.invoke({ tool: "flaky", input: { times: 2 }, wait_ms: 20_000 });
    expect([status, body.status, body.output, body.execution?.attempt]).toEqual([200, "succeeded", { attempt: 3 }, 3]);
    const record = await admin.call(body.execution_id);
    expect(record.attempts?.map(({ end_reason }) => end_reason)).toEqual(["failed", "failed", "succeeded"]);
    const [first, second] = await retries(body.execution_id);
    expect(first?.delay_ms).toBeGreaterThanOrEqual(1_800);
    expect(first?.delay_ms).toBeLessThanOrEqual(2_200);
    expect(second?.delay_ms).toBeGreaterThanOrEqual(3_600);
    expect(second?.delay_ms).toBeLessThanOrEqual(4_400);
    const [, at2 = 0, at3 = 0] = entries.get(body.execution_id ?? "") ?? [];
    expect(at2).toBeGreaterThanOrEqual(first?.not_before ?? Infinity);
    expect(at3).toBeGreaterThanOrEqual(second?.not_before ?? Infinity);
    const { items = [] } = (await admin.get("/v1/audit?action=call.attempt_failed")).body;
    expect(items.filter(({ execution_id }) => execution_id === body.execution_id).map(({ error_code }) => error_code)).toEqual(["tool_error", "tool_error"]);
  });

  test("its attempts used up, the last error is the answer", { timeout: 30_000 }, async () => {
    const { status, body } = await admin.invoke({ tool: "flaky", input: { times: 9, details: { retry_after_ms: 20 } }, wait_ms: 20_000 });
    expect([status, body.error?.code, body.error?.details["tool_code"]]).toEqual([422, "tool_error", "busy"]);
    expect((await admin.call(body.execution_id)).attempts).toHaveLength(3);
  });

  test("report 213: Retry-After in seconds and as a date wins over the curve", { timeout: 30_000 }, async () => {
    const seconds = await admin.invoke({ tool: "patient", input: { times: 1, details: { retry_after: 1 } }, wait_ms: 20_000 });
    expect([seconds.body.status, (await retries(seconds.body.execution_id)).map(({ delay_ms }) => delay_ms)]).toEqual(["succeeded", [1_000]]);
    const date = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000);
    const dated = await admin.invoke({ tool: "patient", input: { times: 1, details: { retry_after: date.toUTCString() } }, wait_ms: 20_000 });
    expect([dated.body.status, (await retries(dated.body.execution_id)).map(({ not_before }) => not_before)]).toEqual(["succeeded", [date.getTime()]]);
  });

  test("RTY-04: a payment that fails so surfaces at once, after one attempt", async () => {
    const { status, body } = await admin.invoke({ tool: "pay", input: { times: 1 } });
    expect([status, body.error?.code, body.error?.retryable]).toEqual([422, "tool_error", false]);
    expect((await admin.call(body.execution_id)).attempts).toHaveLength(1);
  });

  test("RTY-06: 5 s in all, the next attempt 8 s away: it stops now, with the last error", async () => {
    const began = Date.now();
    const { status, body } = await admin.invoke({ tool: "patient", input: { times: 1 }, deadline_ms: 5_000 });
    expect([status, body.error?.code]).toEqual([422, "tool_error"]);
    expect(Date.now() - began).toBeLessThan(4_000);
    expect((await admin.call(body.execution_id)).attempts).toHaveLength(1);
  });
});

test("RTY-08: a runtime that is killed during the wait tries again at the stored instant, neither sooner nor a whole wait later", { timeout: 60_000 }, async () => {
  const { body } = await admin.invoke({ tool: "patient", input: { times: 1 }, mode: "async" });
  const id = body.execution_id ?? "";
  await expect.poll(async () => (await retries(id)).length, { timeout: 10_000 }).toBe(1);
  const [{ not_before: instant } = { not_before: 0 }] = await retries(id);
  await stack.kill();
  await stack.start();
  await admin.until(id, ["succeeded"], 20_000);
  const [, again = 0] = entries.get(id) ?? [];
  expect(again).toBeGreaterThanOrEqual(instant);
  // A start anew would make it 8 s from the restart on.
  expect(again).toBeLessThan(instant + 4_000);
  expect((await retries(id)).map(({ not_before }) => not_before)).toEqual([instant]);
});

test("RTY-07: after two failures the tool is left alone; one call tries it after the cool-down, and its success is everybody's", { timeout: 30_000 }, async () => {
  const ask = (times: number) => admin.invoke({ tool: "down", input: { times } });
  const state = async () => (await admin.get("/v1/tools/down")).body["breaker"] as { readonly state: string };
  for (let n = 0; n < 2; n++) expect((await ask(1)).status).toBe(422);
  const began = entries.size;
  const refused = await ask(0);
  expect([refused.status, refused.body.error?.code, refused.body.error?.retryable, refused.headers["retry-after"]]).toEqual([503, "breaker_open", true, "2"]);
  expect([entries.size, (await state()).state]).toEqual([began, "open"]);
  await expect.poll(async () => (await state()).state, { timeout: 10_000 }).toBe("half_open");
  expect((await ask(1)).status).toBe(422);
  expect((await ask(0)).body.error?.code).toBe("breaker_open");
  await wait(2_000);
  expect((await ask(0)).status).toBe(200);
  expect((await state()).state).toBe("closed");
  expect((await ask(0)).status).toBe(200);
  const metrics = (await admin.get("/metrics")).text;
  expect(metrics).toMatch(/breaker_transitions_total\{[^}]*tool="down"[^}]*to="open"[^}]*\} 2/);
  expect(metrics).toMatch(/breaker_refusals_total\{[^}]*tool="down"[^}]*\} 2/);
});

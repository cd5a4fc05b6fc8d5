// One key, one call: replays, conflicts, races, other projects and tenants, and a runtime that dies in between.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ToolError } from "@signalbox/worker";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  const unsafe = { side_effect_class: "non_idempotent_write" };
  for (const name of ["count", "pay", "flaky.pay"]) await stack.register(workerTool(name, "1.0.0", unsafe));
  await stack.register(workerTool("later", "1.0.0", unsafe));
  const proxy = await stack.startProxy();
  let runs = 0;
  await stack.startWorker(
    "w-idem",
    [
      {
        tool: "count",
        handler: (args: unknown, ctx: Parameters<typeof gates.note>[1]) => {
          gates.note(args, ctx);
          return { run: ++runs };
        },
      },
      { tool: "pay", handler: gates.hold },
      {
        tool: "flaky.pay",
        handler: (args: unknown, ctx: Parameters<typeof gates.note>[1]) => {
          gates.note(args, ctx);
          throw new ToolError("bank_busy", "the bank is busy", { retryable: true });
        },
      },
    ],
    { address: proxy.address, capacity: 128 },
  );
});
afterAll(() => finish(stack, gates));

test("IDM-01: the same key and body twice is one call that ran once", async () => {
  const body = { tool: "count", input: { n: 1 }, idempotency_key: "idm-01" };
  const first = await admin.invoke(body);
  const second = await admin.invoke(body);
  expect([first.status, first.body.status, first.headers["idempotency-replayed"]]).toEqual([
    200,
    "succeeded",
    undefined,
  ]);
  expect([second.status, second.text, second.headers["idempotency-replayed"]]).toEqual([200, first.text, "true"]);
  expect(gates.entriesOf(first.body.execution_id)).toHaveLength(1);
  // The order of keys and the spelling of numbers are no difference.
  const spelled = '{"idempotency_key":"idm-01","input":{"n":1.0},"tool":"count"}';
  expect((await admin.ask("POST", "/v1/executions", { body: spelled })).body.execution_id).toBe(
    first.body.execution_id,
  );
});

test("IDM-02: of 50 at once one runs, and all 50 get the same bytes", async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => admin.invoke({ tool: "count", input: { n: 2 } }, { "idempotency-key": "idm-02" })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers["idempotency-replayed"] === undefined)).toHaveLength(1);
  expect(gates.entriesOf(answers[0]?.body.execution_id)).toHaveLength(1);
});

test("IDM-05: the same key in another project and in another tenant is another call", async () => {
  const other = await stack.makeKey({
    principal: "user:other",
    scopes: ["tools:invoke", "calls:read"],
    grants: ["*"],
    project: "other",
  });
  const beta = stack.as(await addTenant(stack.operator, "beta", "user:bob"));
  const ids = new Set<string | undefined>();
  for (const rest of [admin, other.rest, beta]) {
    const { status, body } = await rest.invoke({ tool: "echo", input: { n: 5 }, idempotency_key: "idm-05" });
    expect([status, body.status]).toEqual([200, "succeeded"]);
    ids.add(body.execution_id);
  }
  expect(ids.size).toBe(3);
});

test("IDM-08: a header and a body that disagree are refused; agreeing, or one alone, is fine", async () => {
  const ask = (inBody: string, inHeader: string) =>
    admin.invoke({ tool: "count", input: { n: 8 }, idempotency_key: inBody }, { "idempotency-key": inHeader });
  const disagree = await ask("idm-08", "idm-08-other");
  expect([disagree.status, disagree.body.error?.code]).toEqual([400, "invalid_input"]);
  expect(disagree.text).toContain("Idempotency-Key");
  const agree = await ask("idm-08", "idm-08");
  expect([agree.status, agree.body.status]).toEqual([200, "succeeded"]);
  const header = await admin.invoke({ tool: "count", input: { n: 8 } }, { "idempotency-key": "idm-08" });
  expect(header.body.execution_id).toBe(agree.body.execution_id);
});

test("IDM-11: a key while its call runs answers with its id and where it is", async () => {
  const body = { tool: "pay", input: { gate: "idm-11" }, mode: "async", idempotency_key: "idm-11" };
  const first = await admin.invoke(body);
  expect(first.status).toBe(202);
  await gates.entered("idm-11");
  await admin.until(first.body.execution_id, ["running"]);
  const again = await admin.invoke(body);
  expect([again.status, again.body.execution_id, again.body.status]).toEqual([202, first.body.execution_id, "running"]);
  // Who asks to wait gets the end of that same call.
  const waiting = admin.invoke({ ...body, mode: "sync" });
  gates.open("idm-11", { paid: true });
  const end = await waiting;
  expect([end.status, end.body.execution_id, end.body.output]).toEqual([200, first.body.execution_id, { paid: true }]);
  expect(gates.entriesOf(first.body.execution_id)).toHaveLength(1);
});

test("report 019: the same key with another body is a conflict that names the call, and changes nothing", async () => {
  const body = { tool: "count", input: { a: 1 }, idempotency_key: "report-019" };
  const first = await admin.invoke(body);
  const entries = gates.entries.length;
  for (const other of [{ input: { a: 2 } }, { tool: "echo" }, { version: "1.0.0" }]) {
    const { status, body: told } = await admin.invoke({ ...body, ...other });
    expect([status, told.error?.code, told.execution_id]).toEqual([
      409,
      "idempotency_conflict",
      first.body.execution_id,
    ]);
  }
  expect(gates.entries).toHaveLength(entries);
  expect((await admin.invoke(body)).text).toBe(first.text);
});

test("a call that is denied or refused does not take its key", async () => {
  const { rest } = await stack.makeKey({ principal: "user:soon", scopes: ["tools:invoke"] });
  const body = { tool: "count", input: { n: 7 }, idempotency_key: "denied-first" };
  expect((await rest.invoke(body)).status).toBe(403);
  expect((await rest.invoke({ ...body, tool: "nope" })).status).toBe(404);
  await admin.post("/v1/grants", { subject: "user:soon", permissions: ["tool:invoke:count"] });
  const { status, body: told } = await rest.invoke(body);
  expect([status, told.status]).toEqual([200, "succeeded"]);
});

test("RTY-04: an unsafe tool that fails retryably fails at once, after one attempt, and is not called retryable", async () => {
  const { status, body } = await admin.invoke({ tool: "flaky.pay", input: {} });
  expect([status, body.error?.code, body.error?.retryable]).toEqual([422, "tool_error", false]);
  expect(body.error?.details).toMatchObject({ tool_code: "bank_busy", may_have_executed: true });
  const record = await admin.call(body.execution_id);
  expect(record.attempts).toHaveLength(1);
  expect(gates.entriesOf(body.execution_id)).toHaveLength(1);
});

test("IDM-09: after a kill -9 between reserve and run, the same key resumes the same call", async () => {
  const body = { tool: "later", input: { gate: "idm-09" }, idempotency_key: "idm-09" };
  // Nobody serves it yet, so it is reserved and queued.
  const reserved = await admin.invoke({ ...body, mode: "async" });
  expect([reserved.status, reserved.body.status]).toEqual([202, "queued"]);
  await stack.kill();
  await stack.start();
  const again = await admin.invoke({ ...body, mode: "async" });
  expect([again.status, again.body.execution_id, again.body.status]).toEqual([
    202,
    reserved.body.execution_id,
    "queued",
  ]);
  await stack.startWorker("w-later", [{ tool: "later", handler: gates.hold }]);
  const waiting = admin.invoke(body);
  await gates.entered("idm-09");
  gates.open("idm-09", { done: 1 });
  const end = await waiting;
  expect([end.status, end.body.execution_id, end.body.output]).toEqual([200, reserved.body.execution_id, { done: 1 }]);
  expect(gates.entriesOf(reserved.body.execution_id)).toHaveLength(1);
});

test("report 189: a hundred calls at once are all in the ledger, each once, and so is what it says of them", async () => {
  const entries = gates.entries.length;
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => admin.invoke({ tool: "count", input: { n } })));
  expect(answers.map(({ status, body }) => [status, body.status])).toEqual(Array.from({ length: 100 }, () => [200, "succeeded"]));
  const ids = answers.map(({ body }) => body.execution_id ?? "");
  expect([new Set(ids).size, gates.entries.length - entries]).toEqual([100, 100]);
  const records = await Promise.all(ids.map((id) => admin.call(id)));
  expect(records.map(({ status, attempts }) => [status, attempts?.length])).toEqual(Array.from({ length: 100 }, () => ["succeeded", 1]));
  const { code, out } = await stack.cli(["audit", "verify", "--json"]);
  expect([code, JSON.parse(out)]).toMatchObject([0, { ok: true }]);
});

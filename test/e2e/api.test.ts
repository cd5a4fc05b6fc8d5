// The API cases against the real runtime: what is refused and in which words, and what a call's record says.
import { afterAll, beforeAll, expect, test } from "vitest";
import { door } from "../support/door.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const callId = /^exec_[0-9A-HJKMNP-TV-Z]{26}$/;
const operator = ["tools:read", "tools:invoke", "calls:read", "calls:cancel"];
const gates = createGates();
let stack: Stack;
let admin: Rest;
let alice: Rest;
let vic: Rest;
let bob: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  ({ rest: alice } = await stack.makeKey({ principal: "user:alice", scopes: operator, grants: ["*"] }));
  ({ rest: vic } = await stack.makeKey({ principal: "user:vic", scopes: ["tools:read", "calls:read"], grants: ["*"] }));
  bob = stack.as(await addTenant(stack.operator, "beta", "user:bob"));
  const request = {
    input: { type: "object", required: ["url"], properties: { url: { type: "string" } } },
    side_effect_class: "idempotent_write",
    timeout: "2s",
    permissions: ["net:egress:api.example.com"],
  };
  await stack.register(workerTool("http.request", "1.2.0", request));
  await stack.register(workerTool("http.request", "1.3.0", request));
  await stack.register(workerTool("bad", "1.0.0", { output: { type: "object", required: ["answer"] } }));
  const asked = (version: string) => (args: unknown, ctx: Parameters<typeof gates.note>[1]) => {
    gates.note(args, ctx);
    return { version };
  };
  await stack.startWorker("w-api", [
    { tool: "http.request", version: "1.2.0", handler: asked("1.2.0") },
    { tool: "http.request", version: "1.3.0", handler: asked("1.3.0") },
    { tool: "bad", handler: () => ({ secret: "raw-output-of-bad" }) },
  ]);
});
afterAll(() => finish(stack, gates));

async function newestRefusal(principal: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const records = await admin.audit({ principal });
  return records.find(({ action }) => action === "call.refused" || action === "request.refused");
}

test("API-01: echo answers with its input, its id and its execution block", async () => {
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
  // An application worker does not measure itself, so the two stand there and are null.
  expect(body.execution?.["resources"]).toMatchObject({ cpu_ms: null, peak_memory_bytes: null });
});

test("API-04: an expired key and a revoked key are told apart", async () => {
  const expired = await stack.makeKey({
    principal: "user:late",
    scopes: operator,
    grants: ["*"],
    expires_at: new Date(Date.now() - 1_000).toISOString(),
  });
  const asLate = await expired.rest.invoke({ tool: "echo", input: {} });
  expect([asLate.status, asLate.body.error?.code]).toEqual([401, "token_expired"]);

  const revoked = await stack.makeKey({ principal: "user:gone", scopes: operator, grants: ["*"] });
  expect((await revoked.rest.invoke({ tool: "echo", input: {} })).status).toBe(200);
  expect((await admin.delete(`/v1/keys/${revoked.keyId}`)).status).toBe(200);
  const asGone = await revoked.rest.invoke({ tool: "echo", input: {} });
  expect([asGone.status, asGone.body.error?.code]).toEqual([401, "key_revoked"]);
});

test("API-04: no key and an unknown key are refused, and say what to send", async () => {
  const none = await admin.ask("GET", "/v1/executions", { headers: { authorization: "" } });
  expect([none.status, none.body.error?.code, none.headers["www-authenticate"]]).toEqual([
    401,
    "unauthenticated",
    door.name === "REST" ? 'Bearer realm="signalbox"' : undefined,
  ]);
  const unknown = await stack.as("sbk_nobody").get("/v1/executions");
  expect([unknown.status, unknown.body.error?.code]).toEqual([401, "unauthenticated"]);
});

test("API-05: a viewer cannot invoke; the missing scope is named and audited", async () => {
  const { status, body } = await vic.invoke({ tool: "echo", input: {} });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect(body.error?.details).toMatchObject({ missing_scope: "tools:invoke" });
  expect(body.execution_id).toBeUndefined();
  expect(await newestRefusal("user:vic")).toMatchObject({ error_code: "forbidden", tenant: "default" });
});

test("API-06: another tenant in the body is refused; nothing is made there, the refusal is audited here", async () => {
  const { status, body } = await alice.invoke({ tool: "echo", tenant: "beta", input: {} });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect((await bob.get("/v1/executions")).body.items).toEqual([]);
  expect(await newestRefusal("user:alice")).toMatchObject({
    tenant: "default",
    tool: "echo",
    error_code: "forbidden",
    details: { field: "tenant" },
  });
  expect(await bob.audit()).toMatchObject([{ action: "tenant.created" }]);
  expect((await alice.invoke({ tool: "echo", tenant: "default", input: {} })).status).toBe(200);
});

test("API-07: an unknown tool and an unknown version have the same code", async () => {
  const tool = await alice.invoke({ tool: "nope", input: {} });
  expect([tool.status, tool.body.error?.code]).toEqual([404, "tool_not_found"]);
  const version = await alice.invoke({ tool: "http.request", version: "9.9.9", input: { url: "x" } });
  expect([version.status, version.body.error?.code]).toEqual([404, "tool_not_found"]);
});

test("API-08: without a version the active one runs, with a range the newest that fits", async () => {
  const active = await alice.invoke({ tool: "http.request", input: { url: "x" } });
  expect([active.body.version, active.body.output]).toEqual(["1.2.0", { version: "1.2.0" }]);
  const range = await alice.invoke({ tool: "http.request", version: "^1.2.0", input: { url: "x" } });
  expect([range.body.version, range.body.output]).toEqual(["1.3.0", { version: "1.3.0" }]);
});

test("API-09: an input that lacks a field names it by pointer and keyword, and no worker hears of it", async () => {
  const before = { entries: gates.entries.length, calls: (await alice.get("/v1/executions?limit=100")).body.items };
  const { status, body } = await alice.invoke({ tool: "http.request", input: {} });
  expect([status, body.error?.code, body.execution_id]).toEqual([400, "invalid_input", undefined]);
  expect(body.error?.details["errors"]).toEqual([expect.objectContaining({ pointer: "/url", keyword: "required" })]);
  expect(gates.entries).toHaveLength(before.entries);
  expect((await alice.get("/v1/executions?limit=100")).body.items).toEqual(before.calls);
});

test("API-10: denied and invalid at once is denied: nobody learns a schema that way", async () => {
  const { rest } = await stack.makeKey({ principal: "user:ungranted", scopes: operator });
  const { status, body } = await rest.invoke({ tool: "http.request", input: {} });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect(body.execution_id).toMatch(callId);
});

test("API-11: a limit above the tool's is the tool's; one of zero or less is refused", async () => {
  const { body } = await alice.invoke({ tool: "http.request", input: { url: "x" }, limits: { timeout_ms: 20_000 } });
  expect(body.execution?.limits.timeout_ms).toBe(2_000);
  expect((await alice.call(body.execution_id)).execution?.limits.timeout_ms).toBe(2_000);
  const lower = await alice.invoke({ tool: "http.request", input: { url: "x" }, limits: { timeout_ms: 1_500 } });
  expect(lower.body.execution?.limits.timeout_ms).toBe(1_500);
  for (const timeout_ms of [-1, 0, 1.5, "5s"]) {
    const refused = await alice.invoke({ tool: "http.request", input: { url: "x" }, limits: { timeout_ms } });
    expect([timeout_ms, refused.status, refused.body.error?.code]).toEqual([timeout_ms, 400, "invalid_input"]);
    expect(refused.text).toContain("/limits/timeout_ms");
  }
});

test("API-12: a body of 1 MiB and one byte is too large; what is no JSON is invalid", async () => {
  const body = (bytes: number): string => `{"tool":"echo","input":{"text":"${"a".repeat(bytes - door.echoBytes)}"}}`;
  const over = await alice.ask("POST", "/v1/executions", { body: body(1_048_577) });
  expect([over.status, over.body.error?.code]).toEqual([413, "payload_too_large"]);
  const full = await alice.ask("POST", "/v1/executions", { body: body(1_048_576) });
  expect([full.status, full.body.status]).toEqual([200, "succeeded"]);
  const malformed = await alice.ask("POST", "/v1/executions", { body: '{"tool":"echo","input":{' });
  expect([malformed.status, malformed.body.error?.code]).toEqual([400, "invalid_input"]);
});

test("API-13: an unknown field is refused by its name", async () => {
  const { status, body, text } = await alice.invoke({ tool: "echo", input: {}, toolz: 1 });
  expect([status, body.error?.code]).toEqual([400, "invalid_input"]);
  expect(text).toContain(door.unknownName("toolz"));
});

test("API-14: another tenant's id, an unknown id and no id at all are byte-identical", async () => {
  const { execution_id: id = "" } = (await alice.invoke({ tool: "echo", input: {} })).body;
  const same = ({ status, headers, text }: Reply): unknown => {
    const { "x-request-id": requestId, date: _date, ...others } = headers;
    return { status, headers: others, text: text.replaceAll(String(requestId), "REQUEST") };
  };
  for (const [method, tail] of [
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
  ] as const) {
    const ask = async (who: Rest, one: string) => same(await who.ask(method, `/v1/executions/${one}${tail}`));
    const unknown = await ask(bob, "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    expect(unknown).toMatchObject({ status: 404, text: expect.stringContaining('"execution_not_found"') });
    expect(await ask(bob, id)).toEqual(unknown);
    expect(await ask(bob, "what-is-no-id")).toEqual(unknown);
  }
  expect((await alice.call(id)).status).toBe("succeeded");
});

test("API-14: a foreign id cannot be resolved either, nor found by a list or in the audit", async () => {
  const { execution_id: id = "" } = (await alice.invoke({ tool: "echo", input: {} })).body;
  const answer = await bob.post(`/v1/executions/${id}/resolve`, { verdict: "fail" });
  expect([answer.status, answer.body.error?.code]).toEqual([404, "execution_not_found"]);
  expect((await bob.get("/v1/executions")).body.items).toEqual([]);
  expect(await bob.audit({ execution_id: id })).toEqual([]);
});

test("API-14: within a tenant, a key sees the calls of its own project", async () => {
  const { rest: ops } = await stack.makeKey({
    principal: "user:ops",
    scopes: operator,
    grants: ["*"],
    project: "ops",
  });
  const { execution_id: id = "" } = (await alice.invoke({ tool: "echo", input: {} })).body;
  for (const [method, tail] of [
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
  ] as const) {
    const answer = await ops.ask(method, `/v1/executions/${id}${tail}`);
    expect([answer.status, answer.body.error?.code]).toEqual([404, "execution_not_found"]);
  }
  expect((await ops.get("/v1/executions")).body.items).toEqual([]);
  const { status, body } = await ops.invoke({ tool: "echo", project: "default", input: {} });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  // Who may administer the tenant sees all of it.
  expect((await admin.call(id)).status).toBe("succeeded");
});

test("API-17: an output that breaks its schema is the tool's fault, and the caller never sees it", async () => {
  const answer = await alice.invoke({ tool: "bad", input: {} });
  expect([answer.status, answer.body.error?.code, answer.body.error?.retryable]).toEqual([
    502,
    "invalid_output",
    false,
  ]);
  const { execution_id: id = "" } = answer.body;
  const record = await alice.get(`/v1/executions/${id}`);
  expect(record.body.status).toBe("failed");
  for (const { text } of [answer, record]) expect(text).not.toContain("raw-output-of-bad");
});

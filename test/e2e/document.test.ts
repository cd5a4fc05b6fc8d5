// Every operation of the API's document is there and answers as the document says: each is asked until it has met every
// status that is no error.
import { createHash } from "node:crypto";
import type { ToolContext } from "@signalbox/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { documentFile, readDocument } from "../support/document.ts";
import { finish } from "../support/finish.ts";
import { createGates, type GateArgs } from "../support/gates.ts";
import { agentDocument, ask, policyDocument, workerTool } from "../support/manifests.ts";
import { apiDocument, type Rest } from "../support/rest.ts";
import { startScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
const folder = mkdtempSync(join(tmpdir(), "document-"));
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  const scripts = { greeter: { loop: true, completions: [{ text: "Hello." }] }, holder: [{ calls: [{ tool: "hold", input: { gate: "{{last_user}}" } }] }] };
  writeFileSync(join(folder, "turns.yaml"), JSON.stringify({ scripts }));
  writeFileSync(join(folder, "models.yaml"), JSON.stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  stack = await startStack({ args: ["--models", join(folder, "models.yaml")] });
  ({ admin } = stack);
  const unsafe = { side_effect_class: "non_idempotent_write" };
  for (const name of ["talk", "hold", "asked", "lost", "versioned"])
    await stack.register(workerTool(name, "1.0.0", { ...unsafe, ...(name === "talk" ? { events: ["seen"] } : {}) }));
  await stack.publish({ name: "asks", match: { tools: ["asked"] }, then: ask("finance") });
  await stack.startWorker("w-document", [
    {
      tool: "talk",
      handler(_: unknown, ctx: ToolContext) {
        ctx.output("stdout", "out");
        ctx.output("stderr", "err");
        ctx.output("partial", "half");
        ctx.log("a line");
        ctx.progress(50, "half");
        ctx.emit("seen", { order: 9007199254740993n });
        return { done: true };
      },
    },
    { tool: "hold", handler: (args: GateArgs, ctx: ToolContext) => gates.hold(args, ctx) },
    { tool: "asked", handler: gates.note },
  ]);
});
afterAll(async () => {
  await finish(stack, gates);
  rmSync(folder, { recursive: true, force: true });
});

const idOf = (told: { readonly [name: string]: unknown }, name: string): string => String(told[name]);

async function executions(): Promise<void> {
  await admin.invoke({ tool: "echo", input: { order: 9007199254740993n } });
  const events = (await admin.invoke({ tool: "talk", input: {}, stream: true })).text.match(/^event: \w+$/gm);
  expect(events?.map((line) => line.slice(7))).toEqual([
    "start",
    "stdout",
    "stderr",
    "partial",
    "log",
    "progress",
    "emit",
    "done",
  ]);
  const { items = [] } = (await admin.get("/v1/executions?tool=talk&status=succeeded&limit=5")).body;
  const id = idOf(items[0] ?? {}, "execution_id");
  await admin.call(id);
  await admin.events(id);
  await admin.get(`/v1/executions/${id}/stream?after_seq=1`);
  await admin.get(`/v1/executions/${id}/stream?after_seq=8`);
  await admin.post(`/v1/executions/${id}/cancel`);

  const held = (await admin.invoke({ tool: "hold", input: { gate: "g", stubborn: true }, mode: "async" })).body
    .execution_id;
  await gates.entered("g");
  await admin.post(`/v1/executions/${held}/cancel`, {});
  gates.open("g");
  await admin.until(held, ["cancelled", "succeeded"]);

  const unknown = await lostCall();
  const all = { filter: { tool: "pay", project: "default", routing_outcome: "lease_expired", worker: "w-lost", older_than_ms: 1 }, verdict: "fail" };
  await admin.post("/v1/executions:resolve", { ...all, comment: "seen", dry_run: true, limit: 5 });
  await admin.post("/v1/executions:resolve", { ...all, filter: { tool: "nobody" } });
  await admin.post(`/v1/executions/${id}/replay`, { mode: "sync", wait_ms: 5_000, acknowledge_may_have_executed: true, idempotency_key: "again" });
  const slow = (await admin.invoke({ tool: "hold", input: { gate: "h" }, mode: "async" })).body.execution_id;
  await gates.entered("h");
  gates.open("h");
  await admin.until(slow, ["succeeded"]);
  await admin.post(`/v1/executions/${slow}/replay`, { mode: "async", acknowledge_may_have_executed: true });
  await admin.post(`/v1/executions/${unknown}/resolve`, { verdict: "confirm", output: { paid: 1 }, comment: "seen" });
  await admin.call(unknown);
}

/** A call whose worker lives on without naming it: nobody knows how it ended. */
async function lostCall(): Promise<string | undefined> {
  const worker = await startScriptedWorker({
    address: stack.grpc(),
    key: stack.adminKey,
    workerId: "w-lost",
    tools: ["lost"],
  });
  const id = (await admin.invoke({ tool: "lost", input: {}, mode: "async" })).body.execution_id;
  await worker.begin(id);
  for (let beat = 0; beat < 2; beat++) {
    worker.send({ type: "heartbeat", load: 0, inFlight: [] });
    await worker.next("heartbeat_ack");
  }
  await admin.until(id, ["indeterminate"]);
  worker.hangUp();
  return id;
}

async function people(): Promise<void> {
  const { approvalId } = await admin.park("asked", { amount: 1500 });
  const { rest } = await stack.person("fay", "finance");
  await admin.get("/v1/approvals?status=pending&mine=false&limit=3");
  await admin.approval(approvalId);
  await rest.decide(approvalId, "approve", { comment: "fine", args: { amount: 5 } });
  await admin.approval(approvalId);
  await admin.post("/v1/webhooks", { url: "https://example.com/hooks" });
  const { items = [] } = (await admin.get("/v1/webhooks")).body;
  await admin.get("/v1/webhooks:deliveries?state=pending");
  await admin.delete(`/v1/webhooks/${idOf(items[0] ?? {}, "webhook_id")}`);
}

async function registry(): Promise<void> {
  const second = workerTool("versioned", "1.1.0");
  await admin.put("/v1/tools?activate=true", second);
  await admin.put("/v1/tools", second);
  const at = (action: string): string => `/v1/tools/versioned/${action}`;
  await admin.get("/v1/tools?search=versioned&limit=2");
  await admin.get("/v1/tools/versioned?version=1.0.0");
  await admin.get("/v1/tools/echo");
  await admin.post(at("activate"), { version: "1.0.0" });
  await admin.get(at("activations"));
  await admin.post(at("rollback"));
  await admin.post(at("pin"), { version: "^1.0.0" });
  await admin.get("/v1/tools:pins");
  await admin.delete(at("pin"));
  await admin.post(at("deprecate"), { version: "1.0.0" });
  await admin.post(at("quarantine"), { version: "1.0.0", reason: "it lies" });
  await admin.post(at("release"), {});
  await admin.post(at("disable"));
  await admin.get("/v1/tools:projects");
  await admin.post(at("enable"), { project: "default" });
  const content = Buffer.from("print(1)\n");
  await admin.ask("PUT", "/v1/files", { body: content, headers: { "content-type": "text/x-python" } });
  const ref = `sha256:${createHash("sha256").update(content).digest("hex")}`;
  for (let count = 0; count < 2; count++)
    await admin.put("/v1/packages", { files: [{ path: "main.py", mode: "0644", ref }] });
}

async function agents(): Promise<void> {
  const tools = [{ tool: "echo@1.0.0", as: "say", input: { type: "object" }, scheduling: "exclusive", side_effect_class: "irreversible_action" }, { tool: "gone@9.9.9" }];
  const second = agentDocument("desk", "1.1.0", { tools, model: { provider: "scripted", name: "turns", temperature: 0.5 }, secrets: { KEY: "env:KEY" } });
  const at = (action: string): string => `/v1/agents/desk/${action}`;
  await admin.put("/v1/agents?comment=first", agentDocument("desk"));
  await admin.put("/v1/agents?dry_run=true", second);
  await admin.put("/v1/agents", second);
  for (const version of ["1.0.0", "1.1.0"]) await admin.post(at("deploy"), { version, comment: "better" });
  await admin.get("/v1/agents?limit=2");
  await admin.get("/v1/agents/desk");
  await admin.get("/v1/agents/desk?version=1.0.0");
  await admin.get(at("versions"));
  await admin.get(at("diff?from=1.0.0&to=1.1.0"));
  await admin.post(at("rollback"));
  await admin.post(at("deprecate"), { version: "1.1.0" });
  await admin.post(at("deprecate"), { version: "1.1.0", deprecated: false });
  await admin.post(at("retire"), { version: "1.1.0" });
  await admin.post(at("archive"), { comment: "done" });
  await admin.get("/v1/agents/desk");
  await admin.post(at("unarchive"));
  await admin.get(at("history"));
}

async function sessions(): Promise<void> {
  const deployed = async (name: string, tools: readonly object[]): Promise<void> => {
    await admin.put("/v1/agents", agentDocument(name, "1.0.0", { model: { provider: "scripted", name }, tools }));
    await admin.post(`/v1/agents/${name}/deploy`, { version: "1.0.0" });
  };
  await deployed("greeter", []);
  await deployed("holder", [{ tool: "hold@1.0.0" }]);
  const greeted = { agent: "greeter", message: "hi", wait_ms: 30_000, idempotency_key: "greeted", context: { ticket: 7 } };
  const { body } = await admin.post("/v1/sessions", greeted);
  await admin.post("/v1/sessions", greeted);
  const at = (told: object, path: string): string => `/v1/sessions/${idOf(told as Readonly<Record<string, unknown>>, "session_id")}${path}`;
  await admin.get("/v1/sessions?agent=greeter&limit=2");
  await admin.get(at(body, ""));
  await admin.post(at(body, "/messages"), { text: "again", wait_ms: 30_000 });
  await admin.post(at(body, "/complete"));
  await admin.get(at(body, "/events?limit=3"));
  await admin.get(at(body, "/timeline"));
  expect((await admin.get(at(body, "/stream"))).text).toContain("event: session.ended");
  await admin.get(at(body, "/stream?after_seq=999"));
  const working = (await admin.post("/v1/sessions", { agent: "holder", message: "held-1" })).body;
  await gates.entered("held-1");
  await admin.post(at(working, "/messages"), { text: "and this" });
  await admin.post(at(working, "/complete"));
  await admin.get(at(working, "/timeline"));
  await admin.post(at(working, "/cancel"), { scope: "session", reason: "done" });
  await expect.poll(async () => (await admin.get(at(working, ""))).body.status).toBe("cancelled");
  await admin.post(at(working, "/cancel"));
}

async function policies(): Promise<void> {
  const rule = policyDocument({
    name: "nothing",
    match: { tools: ["none.*"] },
    when: "args.n > 1.0",
    missing: "skip",
    then: { decision: "deny", reason: "no" },
  });
  await admin.put("/v1/policies?dry_run=true", rule);
  await admin.put("/v1/policies", rule);
  await admin.get("/v1/policies?level=tenant&limit=3");
  await admin.get("/v1/policies?platform=true");
  await admin.get("/v1/policies/nothing");
  await admin.post("/v1/policies/nothing/withdraw", { version: "1.0.0" });
  await admin.post("/v1/policies/nothing/activate", { version: "1.0.0" });
  await admin.put("/v1/policies:defaults", { decision: "allow" });
  await admin.get("/v1/policies:defaults");
  await admin.post("/v1/policies:explain", { tool: "asked", input: { amount: 3 }, counts: { windows: { "10m": 2 } } });
  await admin.post("/v1/policies:explain", { tool: "asked", trigger: "dispatch.no_handler" });
  const call = { tool: "asked", args: {} };
  const cases = {
    cases: [
      { name: "asks", call, expect: { decision: "deny" } },
      { name: "is", call, expect: { decision: "require_approval" } },
    ],
  };
  await admin.post("/v1/policies:test", { cases, policies: [rule] });
  await admin.post("/v1/freezes", { tool: "hold", reason: "look" });
  await admin.get("/v1/freezes");
  await admin.post("/v1/freezes:lift", { tool: "hold" });
}

async function access(): Promise<void> {
  const expires_at = "2099-01-02T03:04:05+01:00";
  const key = (
    await admin.post("/v1/keys", { label: "k", principal: "service:k", scopes: ["tools:invoke"], expires_at })
  ).body;
  await admin.get("/v1/keys?limit=2");
  await admin.delete(`/v1/keys/${idOf(key, "key_id")}`);
  const grant = (
    await admin.post("/v1/grants", { subject: "service:k", permissions: ["tool:invoke:*"], roles: ["finance"] })
  ).body;
  await admin.get("/v1/grants");
  await admin.delete(`/v1/grants/${idOf(grant, "grant_id")}`);
  await admin.put("/v1/projects/shop", { environment: "production" });
  await admin.get("/v1/projects");

  const { operator } = stack;
  await operator.post("/v1/tenants", { tenant: "acme", admin: { principal: "user:ann" } });
  await operator.get("/v1/tenants");
  await operator.get("/v1/tenants/acme");
  await operator.put("/v1/tenants/acme", { suspended: true, reason: "a look" });
  const more = (await operator.post("/v1/tenants/acme/keys", { label: "l", principal: "user:bo", scopes: ["*"] })).body;
  await operator.get("/v1/tenants/acme/keys");
  await operator.delete(`/v1/tenants/acme/keys/${idOf(more, "key_id")}`);
}

async function limits(): Promise<void> {
  await admin.put("/v1/limits", { scope: "tool", subject: "echo", rate: { per_minute: 100_000, burst: 1_000 } });
  await admin.get("/v1/limits?limit=3");
  await admin.delete("/v1/limits?scope=tool&subject=echo");
  await admin.get("/v1/usage");
}

async function operations(): Promise<void> {
  await admin.get("/v1/audit?limit=100");
  await admin.get("/v1/audit?action=call.settled&from=2020-01-01T00:00:00Z");
  await admin.post("/v1/audit:verify");
  for (const path of ["/v1/workers", "/v1/status", "/healthz", "/readyz", "/metrics"]) await admin.get(path);
  const { text, headers } = await admin.get("/openapi.json");
  expect(text).toBe(readFileSync(documentFile, "utf8"));
  await admin.ask("GET", "/openapi.json", { headers: { "if-none-match": String(headers["etag"]) } });
}

test("every operation, with every status that is no error", { timeout: 120_000 }, async () => {
  for (const part of [executions, people, registry, agents, sessions, policies, access, limits, operations]) await part();
  const wanted = Object.values(readDocument().paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([, response]) => !("$ref" in response) && response["x-error-codes"] === undefined)
        .map(([status]) => `${operationId} ${status}`),
    ),
  );
  const { met } = apiDocument();
  // A runtime that is not ready is met where disks are full.
  expect(wanted.filter((one) => !met.has(one))).toEqual(["getReadiness 503"]);
});

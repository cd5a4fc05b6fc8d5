// Registering tools while calls run, lists that grow while they are walked, and grants that come and go.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
});
afterAll(() => finish(stack, gates));

/** The value of one line of `/metrics`; 0 when it is not there yet. */
async function metric(line: string): Promise<number> {
  const { text } = await admin.get("/metrics");
  const found = text.split("\n").find((one) => one.startsWith(`${line} `));
  return found === undefined ? 0 : Number(found.slice(line.length + 1).split(" ", 1)[0]);
}

test("REG-01: a manifest without an owner is refused, and the field is named", async () => {
  const { owner: _owner, ...metadata } = workerTool("nobodys").metadata;
  const answer = await admin.put("/v1/tools", { ...workerTool("nobodys"), metadata });
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
  expect(answer.body.error?.details["problems"]).toEqual([expect.objectContaining({ path: "metadata.owner" })]);
  expect((await admin.get("/v1/tools/nobodys")).status).toBe(404);
});

test("REG-06: a manifest cannot ask for trust; unknown keys are refused with their path", async () => {
  const answer = await admin.put("/v1/tools", workerTool("trusting", "1.0.0", { trust: "first_party", timeuot: "1s" }));
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
  const problems = answer.body.error?.details["problems"] as { path: string }[];
  expect(problems.map(({ path }) => path).toSorted()).toEqual(["spec.timeuot", "spec.trust"]);
});

test("REG-03: a version that is registered while another runs changes nothing there and is callable at once", async () => {
  const spec = { side_effect_class: "idempotent_write" };
  await stack.register(workerTool("steady", "1.2.0", spec));
  await stack.startWorker("w-steady", [
    { tool: "steady", version: "1.2.0", handler: gates.hold },
    { tool: "steady", version: "1.4.0", handler: () => ({ version: "1.4.0" }) },
  ]);
  const running = admin.invoke({ tool: "steady", input: { gate: "steady" } });
  await gates.entered("steady");
  await stack.register(workerTool("steady", "1.4.0", spec), "?activate=true");
  const next = await admin.invoke({ tool: "steady", input: {} });
  expect([next.body.version, next.body.output]).toEqual(["1.4.0", { version: "1.4.0" }]);
  gates.open("steady", { version: "1.2.0" });
  const { body } = await running;
  expect([body.status, body.version, body.output]).toEqual(["succeeded", "1.2.0", { version: "1.2.0" }]);
});

test("REG-04: the active version rolls back for the next call, not for the one that runs", async () => {
  await stack.register(workerTool("rolling", "1.2.0"));
  await stack.register(workerTool("rolling", "1.3.0"), "?activate=true");
  await stack.startWorker("w-rolling", [
    { tool: "rolling", version: "1.2.0", handler: () => ({ version: "1.2.0" }) },
    { tool: "rolling", version: "1.3.0", handler: gates.hold },
  ]);
  const running = admin.invoke({ tool: "rolling", input: { gate: "rolling" } });
  await gates.entered("rolling");
  const rolled = await admin.post("/v1/tools/rolling/activate", { version: "1.2.0" });
  expect([rolled.status, rolled.body["active_version"]]).toEqual([200, "1.2.0"]);
  expect((await admin.invoke({ tool: "rolling", input: {} })).body.version).toBe("1.2.0");
  gates.open("rolling");
  expect((await running).body).toMatchObject({ status: "succeeded", version: "1.3.0" });
});

test("a version never changes: the same content again is fine, other content is a conflict", async () => {
  await stack.register(workerTool("fixed"));
  const again = await admin.put("/v1/tools", workerTool("fixed"));
  expect([again.status, again.body["already_there"]]).toEqual([200, true]);
  const other = await admin.put("/v1/tools", workerTool("fixed", "1.0.0", { timeout: "1s" }));
  expect([other.status, other.body.error?.code]).toEqual([409, "conflict"]);
});

test("API-20: a walk over 260 tools meets each once, while 5 are inserted", async () => {
  const before = (await admin.get("/v1/tools?limit=100")).body.items?.length ?? 0;
  const names = Array.from({ length: 260 - before }, (_, at) => `walk.t${String(at).padStart(3, "0")}`);
  await Promise.all(names.map((name) => stack.register(workerTool(name))));

  const first = (await admin.get("/v1/tools")).body;
  expect(first.items).toHaveLength(25);
  expect((await admin.get("/v1/tools?limit=101")).body.items).toHaveLength(100);

  const seen: string[] = [];
  let inserted = 0;
  for (let cursor: string | null | undefined = ""; typeof cursor === "string";) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await admin.get(`/v1/tools?limit=30${query}`)).body;
    expect(page.items?.length).toBeLessThanOrEqual(30);
    seen.push(...(page.items ?? []).map((item) => String(item["tool"])));
    cursor = page.next_cursor;
    // Before, between and behind what has been walked already.
    if (inserted < 5) await stack.register(workerTool(`walk.t${String(inserted++ * 60).padStart(3, "0")}.inserted`));
  }
  expect(inserted).toBe(5);
  expect(new Set(seen).size).toBe(seen.length);
  const old = seen.filter((name) => !name.endsWith(".inserted"));
  expect(old).toHaveLength(260);
  expect(old).toEqual(expect.arrayContaining(names));
});

const permissions = ["net:egress:api.example.com", "fs:read:/workspace"];

async function needy(name: string): Promise<void> {
  await stack.register(workerTool(name, "1.0.0", { permissions }));
  await stack.startWorker(`w-${name}`, [{ tool: name, handler: gates.hold }]);
}

test("PERM-17: what is missing is named, counted, kept as a denied call and audited; no worker hears of it", async () => {
  await needy("needy.a");
  const { rest } = await stack.makeKey({
    principal: "user:half",
    scopes: ["tools:invoke", "calls:read"],
    grants: ["tool:invoke:needy.a", "net:egress:api.example.com"],
  });
  const line = 'authorization_denied_total{reason="missing_grant"}';
  const before = await metric(line);
  const { status, body } = await rest.invoke({ tool: "needy.a", input: { gate: "never", text: "canary-of-perm-17" } });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect(body.error?.details["missing"]).toEqual(["fs:read:/workspace"]);
  expect(await metric(line)).toBe(before + 1);
  const { execution_id: id = "" } = body;
  const record = await rest.get(`/v1/executions/${id}`);
  expect(record.body).toMatchObject({ status: "denied", attempts: [], execution: { worker: null } });
  expect(record.text).not.toContain("canary-of-perm-17");
  expect(await admin.audit({ execution_id: id })).toEqual([
    expect.objectContaining({
      action: "call.denied",
      status: "denied",
      error_code: "forbidden",
      principal: "user:half",
    }),
  ]);
  expect(gates.entriesOf(id)).toEqual([]);
});

test("PERM-18: a grant that expired a second ago grants nothing", async () => {
  await needy("needy.b");
  const { rest } = await stack.makeKey({ principal: "user:ago", scopes: ["tools:invoke"] });
  const grant = await admin.post("/v1/grants", {
    subject: "user:ago",
    permissions: ["tool:invoke:needy.b", ...permissions],
    expires_at: new Date(Date.now() - 1_000).toISOString(),
  });
  expect(grant.status).toBe(201);
  const { status, body } = await rest.invoke({ tool: "needy.b", input: { gate: "never" } });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect(body.error?.details["missing"]).toEqual(["tool:invoke:needy.b", ...permissions]);
});

test("PERM-19: a revoked grant lets the running call finish and stops the next, without a restart", async () => {
  await needy("needy.c");
  const { rest, grantId = "" } = await stack.makeKey({
    principal: "user:brief",
    scopes: ["tools:invoke"],
    grants: ["tool:invoke:needy.c", ...permissions],
  });
  const running = rest.invoke({ tool: "needy.c", input: { gate: "brief" } });
  await gates.entered("brief");
  expect((await admin.delete(`/v1/grants/${grantId}`)).status).toBe(200);
  const next = await rest.invoke({ tool: "needy.c", input: { gate: "never" } });
  expect([next.status, next.body.error?.code]).toEqual([403, "forbidden"]);
  gates.open("brief");
  const { status, body } = await running;
  expect([status, body.status]).toEqual([200, "succeeded"]);
});

test("a caller sees the tools that its grants reach, and no others", async () => {
  await stack.register(workerTool("seen.one"));
  await stack.register(workerTool("unseen.one"));
  const { rest } = await stack.makeKey({
    principal: "user:narrow",
    scopes: ["tools:read", "tools:invoke"],
    grants: ["tool:invoke:seen.*"],
  });
  expect((await rest.get("/v1/tools?limit=100")).body.items?.map((item) => item["tool"])).toEqual(["seen.one"]);
  expect((await rest.get("/v1/tools/seen.one")).status).toBe(200);
  expect((await rest.get("/v1/tools/unseen.one")).body.error?.code).toBe("tool_not_found");
});

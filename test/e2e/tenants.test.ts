// Tenants through the public door: the operator makes them, each lives beside the others, one is stopped and goes on where it was.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
let proxy: TcpProxy;

beforeAll(async () => {
  stack = await startStack();
  proxy = await stack.startProxy();
});
afterAll(() => finish(stack, gates));

interface Owner {
  readonly rest: Rest;
  readonly secret: string;
}

async function made(tenant: string, ...more: readonly string[]): Promise<Owner> {
  const ended = await stack.cli(["tenants", "create", tenant, "--platform", "--json", ...more]);
  if (ended.code !== 0) throw new Error(`no tenant was made: ${ended.err}`);
  const { admin_key: key } = JSON.parse(ended.out) as { readonly admin_key: { readonly secret: string } };
  return { secret: key.secret, rest: stack.as(key.secret) };
}

/** A tool of this tenant, and a worker of its own that serves it. */
async function serves({ rest, secret }: Owner, tenant: string, tool: string): Promise<void> {
  const { status, text } = await rest.put("/v1/tools", workerTool(tool));
  if (status !== 201) throw new Error(text);
  await stack.startWorker(
    `w-${tenant}`,
    [{ tool, handler: gates.hold }],
    { key: secret, address: proxy.address },
    rest,
  );
}

const invokeHeld = (by: Rest, gate: string) => by.invoke({ tool: "held", input: { gate }, mode: "async" });

test("made, weighed, listed and shown; the last is for its own administrators, too", async () => {
  const acme = await made("acme", "--weight", "2", "--admin", "user:ann");
  const listed = await stack.cli(["tenants", "list", "--platform"]);
  expect(listed.out).toMatch(
    /^TENANT +WEIGHT +STATE +CREATED +BECAUSE\nacme +2 +running .*\ndefault +1 +running .*\nplatform +1 +running/,
  );
  expect((await stack.operator.put("/v1/tenants/acme", { weight: 5 })).body).toMatchObject({
    tenant: "acme",
    weight: 5,
  });
  expect((await acme.rest.get("/v1/tenants")).body.items).toMatchObject([{ tenant: "acme", weight: 5 }]);
  expect((await acme.rest.get("/v1/projects")).body.items).toMatchObject([
    { project: "default", environment: "development" },
  ]);
  expect((await acme.rest.put("/v1/tenants/acme", { weight: 9 })).body.error).toMatchObject({
    code: "forbidden",
    details: { reason: "operator_only" },
  });
  expect((await stack.cli(["tenants", "create", "gamma"])).err).toContain(
    "next:  speak as the platform's operator: add --platform",
  );
  expect((await stack.cli(["tenants", "create", "Platform", "--platform"])).err).toContain(
    "is the operator's own tenant",
  );
  expect((await stack.operator.post("/v1/tenants", { tenant: "acme" })).status).toBe(409);
});

test("keys of a tenant: the operator brings one back that was lost, its owner replaces one without a gap, and each refusal has its own name", async () => {
  const beta = await made("beta");
  await beta.rest.put("/v1/tools", workerTool("echo"));
  const lost = await stack.operator.post("/v1/tenants/beta/keys", {
    label: "rescue",
    principal: "user:rescue",
    scopes: ["*"],
  });
  expect(lost.body).toMatchObject({ principal: "user:rescue", project: "default", last_used_at: null });
  const rescue = stack.as(String(lost.body["secret"]));
  const wanted = { label: "app", principal: "service:app", scopes: ["calls:read"] };
  const make = async (more: object = {}) => (await rescue.post("/v1/keys", { ...wanted, ...more })).body;
  const first = await make();
  const second = await make();
  const [old, next] = [stack.as(String(first["secret"])), stack.as(String(second["secret"]))];
  expect([(await old.get("/v1/executions")).status, (await next.get("/v1/executions")).status]).toEqual([200, 200]);
  await rescue.delete(`/v1/keys/${String(first["key_id"])}`);
  expect((await old.get("/v1/executions")).body.error?.code).toBe("key_revoked");
  expect((await next.get("/v1/executions")).status).toBe(200);
  const soon = await make({ expires_at: new Date(Date.now() - 1_000).toISOString() });
  expect((await stack.as(String(soon["secret"])).get("/v1/executions")).body.error?.code).toBe("token_expired");
  const unknown = `${String(first["secret"]).slice(0, -4)}AAAA`;
  for (const secret of [unknown, "sbk_nothing"])
    expect((await stack.as(secret).get("/v1/executions")).body.error?.code).toBe("unauthenticated");
  const keys = async (query: string) => (await rescue.get(`/v1/keys?${query}`)).body.items?.map((key) => key["key_id"]);
  expect(await keys("principal=service:app&status=active")).toEqual([second["key_id"]]);
  expect(await keys("status=revoked")).toEqual([first["key_id"]]);
  expect(await keys("status=expired")).toEqual([soon["key_id"]]);
  await expect
    .poll(
      async () => (await rescue.get("/v1/keys?principal=service:app&status=active")).body.items?.[0]?.["last_used_at"],
      slowly,
    )
    .toMatch(/^20\d\d-.*Z$/);
});

test("suspended: its keys are refused, what runs ends, nothing else starts, also after a restart; resumed, it goes on where it was, and others never noticed", async () => {
  const [red, blue] = [await made("red"), await made("blue")];
  await serves(red, "red", "held");
  await serves(blue, "blue", "held");
  const running = (await invokeHeld(red.rest, "red-1")).body.execution_id ?? "";
  await gates.entered("red-1");

  const stopped = await stack.cli(["tenants", "suspend", "red", "--reason", "unpaid", "--platform"]);
  expect([stopped.code, stopped.out]).toMatchObject([0, expect.stringContaining("because  unpaid")]);
  const refused = await red.rest.get("/v1/executions");
  expect([refused.status, refused.body.error]).toMatchObject([
    403,
    { code: "forbidden", details: { reason: "tenant_suspended" } },
  ]);
  expect((await invokeHeld(red.rest, "never")).status).toBe(403);
  expect((await stack.cli(["calls", "list", "--key", red.secret])).err).toContain(
    "signalbox tenants resume <tenant> --platform",
  );

  // What its worker holds is taken from it as ever, over a stream that broke meanwhile.
  proxy.cut();
  proxy.mend();
  gates.open("red-1");
  gates.open("blue-1");
  const other = await blue.rest.invoke({ tool: "held", input: { gate: "blue-1" } });
  expect(other.body.status).toBe("succeeded");
  await stack.stop();
  await stack.start();
  expect((await red.rest.get("/v1/executions")).status).toBe(403);
  expect((await stack.operator.get("/v1/tenants/red")).body).toMatchObject({
    suspended: true,
    suspended_by: "user:operator",
  });

  expect((await stack.cli(["tenants", "resume", "red", "--platform"])).code).toBe(0);
  expect((await red.rest.until(running, ["succeeded"])).attempts).toHaveLength(1);
  gates.open("red-2");
  const later = await invokeHeld(red.rest, "red-2");
  expect(await red.rest.until(later.body.execution_id, ["succeeded"])).toMatchObject({ status: "succeeded" });
  const acts = (await red.rest.audit()).map((record) => record["action"]);
  expect(acts.filter((action) => String(action).startsWith("tenant."))).toEqual([
    "tenant.resumed",
    "tenant.suspended",
    "tenant.created",
  ]);
  expect(acts).toContain("request.refused");
  for (const by of [stack.operator, red.rest])
    expect((await by.post("/v1/audit:verify", {})).body).toMatchObject({ ok: true });
});

// The brakes: freeze stops dispatch at once and nothing else, whoever pulls it, and a restart does not let go of it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type MadeKey, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;
let proxy: TcpProxy;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  proxy = await stack.startProxy();
  fay = await stack.person("fay", "finance");
});
afterAll(() => finish(stack, gates));

async function serve(tool: string, maxConcurrency: number): Promise<void> {
  await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "non_idempotent_write" }));
  await stack.startWorker(`w-${tool}`, [{ tool, handler: gates.hold, maxConcurrency }], { address: proxy.address });
}

async function queued(tool: string, gate: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate }, mode: "async" })).body.execution_id ?? "";
}

const gatesOf = (tool: string): string[] =>
  gates.entries.filter((entry) => entry.tool === tool).map(({ args }) => (args as { gate: string }).gate);

test("freeze with calls in flight: what runs ends, nothing else starts; reads, votes, cancels and admission go on; unfreeze lets the rest run in order", async () => {
  await serve("held", 2);
  await stack.publish({
    name: "ask",
    match: { tools: ["held"] },
    when: 'has(args.gate) && args.gate == "asked"',
    then: ask("finance"),
  });
  const names = ["h1", "h2", "h3", "h4", "h5", "h6"];
  const ids: string[] = [];
  for (const gate of names) ids.push(await queued("held", gate));
  const parked = await admin.park("held", { gate: "asked" });
  await gates.entered("h1");
  await gates.entered("h2");

  const frozen = await stack.cli(["freeze", "--reason", "incident 7"]);
  expect([frozen.code, frozen.out]).toEqual([0, "dispatch of all tools is frozen\n"]);
  for (const gate of names) gates.open(gate);
  for (const id of ids.slice(0, 2)) expect((await admin.until(id, ["succeeded"])).attempts).toHaveLength(1);
  const later = await queued("held", "later");
  expect((await fay.rest.decide(parked.approvalId, "approve")).body.status).toBe("approved");
  const cancelled = await admin.post(`/v1/executions/${ids[5] ?? ""}/cancel`);
  expect([cancelled.status, cancelled.body.status]).toEqual([200, "cancelled"]);
  const list = await stack.cli(["freeze", "--list", "--json"]);
  expect((JSON.parse(list.out) as { items: unknown }).items).toMatchObject([
    { tenant: "default", tool: "", reason: "incident 7", by: "user:admin" },
  ]);
  // Two slots have been free all this time.
  expect(gatesOf("held")).toEqual(["h1", "h2"]);
  for (const id of [...ids.slice(2, 5), later, parked.id])
    expect(await admin.call(id)).toMatchObject({ status: "queued", attempts: [] });

  for (const gate of ["later", "asked"]) gates.open(gate);
  const lifted = await stack.cli(["unfreeze"]);
  expect([lifted.code, lifted.out]).toEqual([0, "dispatch of all tools goes on\n"]);
  for (const id of [...ids.slice(2, 5), later, parked.id]) await admin.until(id, ["succeeded"]);
  expect(gatesOf("held").toSorted()).toEqual(["asked", "h1", "h2", "h3", "h4", "h5", "later"]);
  expect(gatesOf("held").slice(2, 5)).toEqual(["h3", "h4", "h5"]);
  const audit = (await admin.audit()).filter(({ action }) => String(action).startsWith("dispatch."));
  expect(audit).toMatchObject([
    { action: "dispatch.unfrozen" },
    { action: "dispatch.frozen", principal: "user:admin", details: { tool: "*", reason: "incident 7" } },
  ]);
  expect((await stack.cli(["unfreeze"])).out).toBe("all tools: nothing was frozen here\n");
});

test("one tool alone, over kill -9: it stays frozen, the others run", async () => {
  await serve("stopped", 4);
  await serve("going", 4);
  expect((await stack.cli(["freeze", "--tool", "stopped"])).out).toBe("dispatch of stopped is frozen\n");
  const unknown = await stack.cli(["freeze", "--tool", "stoped"]);
  expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining("there is no tool stoped")]);
  const waits = await queued("stopped", "s1");
  for (const gate of ["g1", "g2", "s1"]) gates.open(gate);
  await admin.until(await queued("going", "g1"), ["succeeded"]);
  const before = [...(await stack.ready("w-going")), ...(await stack.ready("w-stopped"))];
  await stack.kill();
  await stack.start();
  // The same incarnations come back through the proxy.
  for (const incarnation of before)
    await expect
      .poll(async () => [...(await stack.ready("w-going")), ...(await stack.ready("w-stopped"))], { timeout: 15_000 })
      .toContain(incarnation);
  await admin.until(await queued("going", "g2"), ["succeeded"]);
  expect([(await admin.call(waits)).status, gatesOf("stopped")]).toEqual(["queued", []]);
  expect((await stack.cli(["unfreeze", "--tool", "stopped"])).code).toBe(0);
  await admin.until(waits, ["succeeded"]);
});

test("the operator stops every tenant, and no tenant can lift that", async () => {
  await serve("tenants", 4);
  gates.open("t1");
  const [frozen] = [await stack.cli(["freeze", "--platform", "--reason", "all stop"])];
  expect(frozen.code).toBe(0);
  const waits = await queued("tenants", "t1");
  expect((await stack.cli(["unfreeze"])).out).toBe("all tools: nothing was frozen here\n");
  const seen = await stack.cli(["freeze", "--list"]);
  expect(seen.out).toMatch(/^all tools +every tenant .*all stop/m);
  expect([(await admin.call(waits)).status, gatesOf("tenants")]).toEqual(["queued", []]);
  expect((await stack.cli(["unfreeze", "--platform"])).out).toBe("dispatch of all tools goes on\n");
  await admin.until(waits, ["succeeded"]);
});

test("who may not write policies may not pull the brake", async () => {
  const { rest } = await stack.makeKey({ principal: "user:rita", scopes: ["calls:read", "tools:invoke"] });
  const no = await rest.post("/v1/freezes", { reason: "I can" });
  expect([no.status, no.body.error?.code]).toEqual([403, "forbidden"]);
  expect((await rest.get("/v1/freezes")).body.items).toEqual([]);
});

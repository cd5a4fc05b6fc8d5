// Rates, quotas and usage with real processes, at both doors: what is refused and how, what waits, and what outlives a kill -9.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { doors } from "../support/doors.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const gates = createGates();
let stack: Stack;
const tools = ["pay", "held", "bucket", "live", "key", "counted", "cheap"];

async function work(): Promise<void> {
  const named = tools.map((tool) => ({ tool, handler: tool === "held" ? gates.hold : gates.note }));
  await stack.startWorker("w-limits", named, { capacity: 64 });
}

beforeAll(async () => {
  stack = await startStack();
  for (const tool of tools) await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "read_only" }));
  await work();
});
afterAll(() => finish(stack, gates));

async function good(asking: Promise<Reply>): Promise<Reply> {
  const reply = await asking;
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply;
}

const set = (by: Rest, limit: object, query = ""): Promise<Reply> => good(by.put(`/v1/limits${query}`, limit));
const lift = (by: Rest, query: string): Promise<Reply> => good(by.delete(`/v1/limits?${query}`));
/** Where it is not about midnight: no day turns while a test counts on it. */
const zone = [23, 0].includes(new Date().getUTCHours()) ? "Asia/Tokyo" : "UTC";
const today = (): string => new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(new Date());
const limitHeaders = ({ headers }: Reply) => ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map((name) => Number(headers[name]));
const statuses = (replies: readonly Reply[]): Record<number, number> =>
  Object.fromEntries(Object.entries(Object.groupBy(replies, ({ status }) => status)).map(([status, all]) => [status, all?.length ?? 0]));

describe.each(doors)("at the door $name", (door) => {
  let admin: Rest;
  let operator: Rest;
  beforeAll(() => {
    admin = door.as(stack, stack.adminKey);
    operator = door.as(stack, stack.operatorKey);
  });

  test("a burst is let in whole, and not one call more; who is refused is told when to come again", async () => {
    // One a minute: while this test runs no token comes back.
    await set(admin, { scope: "tool", subject: "bucket", rate: { per_minute: 1, burst: 5 } });
    const replies = await Promise.all(Array.from({ length: 12 }, () => admin.invoke({ tool: "bucket", input: {} })));
    expect(statuses(replies)).toEqual({ 200: 5, 429: 7 });
    const passed = replies.filter(({ status }) => status === 200).map((reply) => limitHeaders(reply)[1] ?? Number.NaN);
    expect(passed.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4]);
    const refused = replies.find(({ status }) => status === 429) as Reply;
    const { error } = refused.body;
    expect(error).toMatchObject({
      code: "rate_limited",
      type: "limit",
      retryable: true,
      details: { scope: "tool", subject: "bucket", per_minute: 1, limit: 5, remaining: 0 },
    });
    const [limit, remaining, resetS] = limitHeaders(refused);
    expect([limit, remaining]).toEqual([5, 0]);
    expect(resetS).toBeGreaterThan(240);
    const afterS = Number(refused.headers["retry-after"]);
    expect(afterS).toBeGreaterThan(30);
    expect(afterS).toBeLessThanOrEqual(60);
    await lift(admin, "scope=tool&subject=bucket");
  });

  test("RL-05: a limit that is changed, and one that is removed, holds for the next call", async () => {
    const call = async (): Promise<number> => (await admin.invoke({ tool: "live", input: {} })).status;
    const limit = (burst: number) => set(admin, { scope: "tool", subject: "live", rate: { per_minute: 1, burst } });
    expect(await call()).toBe(200);
    await limit(1);
    expect([await call(), await call()]).toEqual([200, 429]);
    await limit(2);
    expect([await call(), await call(), await call()]).toEqual([200, 200, 429]);
    await lift(admin, "scope=tool&subject=live");
    expect(await call()).toBe(200);
  });

  test("RL-07 and RL-08: a refusal uses up no key, and a call that exists costs nothing", async () => {
    await set(admin, { scope: "tool", subject: "key", rate: { per_minute: 1, burst: 1 } });
    const keyed = (key: string) => admin.invoke({ tool: "key", input: {}, idempotency_key: `${door.name}-${key}` });
    const first = await keyed("first");
    expect((await keyed("second")).status).toBe(429);
    const again = await keyed("first");
    expect([again.status, again.headers["idempotency-replayed"], again.body.execution_id]).toEqual([200, "true", first.body.execution_id]);
    await lift(admin, "scope=tool&subject=key");
    const second = await keyed("second");
    expect([second.status, second.headers["idempotency-replayed"]]).toEqual([200, undefined]);
  });

  test("QT-01: a tenant has its calls of a day, and the operator's word is not the tenant's to loosen", async () => {
    const tenant = `quota-${door.name.toLowerCase()}`;
    const own = door.as(stack, await addTenant(stack.operator, tenant, "user:quinn"));
    await set(operator, { scope: "tenant", quotas: { executions_per_day: 3 }, time_zone: zone }, `?tenant=${tenant}`);
    const looser = await own.put("/v1/limits", { scope: "tenant", quotas: { executions_per_day: 4 } });
    expect([looser.status, looser.body.error?.details]).toMatchObject([403, { reason: "over_operator_limit", fields: [{ pointer: "/quotas/executions_per_day", max: 3 }] }]);
    for (let n = 0; n < 3; n++) await good(own.invoke({ tool: "echo", input: { n } }));
    const fourth = await own.invoke({ tool: "echo", input: {} });
    expect([fourth.status, fourth.body.error]).toMatchObject([
      429,
      { code: "quota_exceeded", details: { quota: "executions_per_day", scope: "tenant", limit: 3, used: 3, time_zone: zone, set_by: "operator" } },
    ]);
    expect(Number(fourth.headers["retry-after"])).toBeLessThanOrEqual(86_400);
    expect((await own.get("/v1/limits")).body.items).toMatchObject([{ tenant, set_by: "operator", scope: "tenant", quotas: { executions_per_day: 3 } }]);
    expect((await own.get("/v1/executions")).body.items).toHaveLength(3);
  });

  test("QT-02: over as many as may work at once calls wait, and are not refused", async () => {
    await set(admin, { scope: "project", subject: "default", quotas: { concurrent_executions: 2 } });
    const gate = `work-${door.name}`;
    const calls = [];
    for (let n = 0; n < 3; n++) calls.push((await admin.invoke({ tool: "held", input: { gate }, mode: "async" })).body);
    await gates.entered(gate, 2);
    expect((await admin.call(calls[2]?.execution_id)).status).toBe("queued");
    expect(gates.entries.filter(({ args }) => (args as { gate?: string }).gate === gate)).toHaveLength(2);
    gates.open(gate, { done: true });
    for (const { execution_id: id } of calls) await admin.until(id, ["succeeded"]);
    await lift(admin, "scope=project&subject=default");
  });

  test("usage tells what calls came to, by whatever it is asked for", async () => {
    const tenant = `usage-${door.name.toLowerCase()}`;
    const own = door.as(stack, await addTenant(stack.operator, tenant, "user:una"));
    await set(own, { scope: "tenant", time_zone: zone });
    for (const input of [{ n: 1 }, { n: 2 }]) await good(own.invoke({ tool: "echo", input }));
    const eve = { label: "of nobody", principal: "user:eve", scopes: ["tools:invoke"] };
    const { body: key } = await own.post("/v1/keys", eve);
    expect((await door.as(stack, String(key["secret"])).invoke({ tool: "echo", input: {} })).status).toBe(403);
    const { body } = await good(own.get("/v1/usage?group_by=project,tool,day"));
    expect(body).toMatchObject({ group_by: ["project", "tool", "day"], time_zone: zone, next_cursor: null });
    expect(body.items).toMatchObject([
      { project: "default", tool: "echo", day: today(), executions: 2, succeeded: 2, failed: 0, denied: 1, input_bytes: 14, output_bytes: 14 },
    ]);
    expect((await good(operator.get(`/v1/usage?tenant=${tenant}&group_by=`))).body.items).toMatchObject([{ executions: 2 }]);
    const all = (await good(operator.get("/v1/usage?tenant=*&group_by=tenant&limit=100"))).body.items ?? [];
    expect(all.map((row) => row["tenant"])).toContain(tenant);
    expect((await own.get("/v1/usage?tenant=default")).status).toBe(403);
  });
});

test("limits, what a day has seen, and usage outlive a kill -9; buckets begin full", async () => {
  const { admin } = stack;
  const secret = await addTenant(stack.operator, "lasting", "user:lia");
  const own = stack.as(secret);
  await set(own, { scope: "tenant", quotas: { executions_per_day: 5 }, time_zone: zone, rate: { per_minute: 1, burst: 3 } });
  await set(own, { scope: "tool", subject: "echo", rate: { per_minute: 1, burst: 2 } });
  for (let n = 0; n < 2; n++) await good(own.invoke({ tool: "echo", input: { n } }));
  expect((await own.invoke({ tool: "echo", input: {} })).body.error?.code).toBe("rate_limited");
  const before = (await good(own.get("/v1/usage?group_by=tool"))).body.items;
  await stack.kill();
  await stack.start();
  expect((await good(own.get("/v1/usage?group_by=tool"))).body.items).toEqual(before);
  expect(((await good(own.get("/v1/limits"))).body.items ?? []).map(({ scope }) => scope)).toEqual(["tenant", "tool"]);
  for (let n = 0; n < 2; n++) await good(own.invoke({ tool: "echo", input: { n } }));
  expect((await own.invoke({ tool: "echo", input: {} })).body.error?.code).toBe("rate_limited");
  await lift(own, "scope=tool&subject=echo");
  await good(own.invoke({ tool: "echo", input: {} }));
  expect((await own.invoke({ tool: "echo", input: {} })).body.error).toMatchObject({ code: "quota_exceeded", details: { used: 5 } });
  const metrics = async (): Promise<string> => (await admin.get("/metrics")).text;
  await expect.poll(metrics, slowly).toMatch(/^limit_refusals_total\{(?=.*limit="rate")(?=.*scope="tool").*\} 1/m);
  expect(await metrics()).toMatch(/^limit_refusals_total\{(?=.*limit="executions_per_day")(?=.*scope="tenant").*\} 1/m);
});

// Limits as they are set: by whom and for whom, never past the operator's word, on record for both sides; and who reads usage.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { admin, Governed } from "../../../../test/support/governed.ts";
import { result } from "../../../../test/support/hand-hub.ts";
import type { Limit } from "../schedule/types.ts";
import type { NewLimit } from "../service-limits.ts";
import type { Asked } from "../tenancy/types.ts";

let house: Governed;
beforeEach(async () => {
  house = await Governed.open();
  await house.project("globex", "shop", "");
});
afterEach(() => house.close());

const operator = asked({ tenant: "platform", name: "user:operator", scopes: new Set(["*"]) });
const other = asked({ tenant: "globex", name: "user:gil", scopes: new Set(["*"]) });

const put = (fields: Partial<NewLimit> = {}, by: Asked = admin): Promise<Limit> =>
  house.service.putLimit(by, { scope: "tenant", subject: "", rate: null, quotas: {}, timeZone: null, ...fields });
const rate = { perMinute: 60, burst: 10 };
const inWords = ({ tenant, setBy, scope, subject }: Limit): string => `${tenant} ${setBy} ${scope} ${subject}`.trim();
const listed = async (by: Asked, tenant?: string): Promise<string[]> => (await house.service.listLimits(by, tenant)).map(inWords);

describe("who sets what", () => {
  test("a tenant sets its own, and sees beside them what the operator set for it, and the platform's", async () => {
    await put({ rate });
    await put({ scope: "project", subject: "shop", rate });
    await put({ scope: "tool", subject: "*", rate });
    await put({ rate, tenant: "acme" }, operator);
    await put({ rate, tenant: "globex" }, operator);
    await put({ scope: "platform", rate }, operator);
    await put({ rate }, operator);
    expect(await listed(admin)).toEqual(["acme operator tenant", "acme tenant project shop", "acme tenant tenant", "acme tenant tool *", "platform operator platform"]);
    expect(await listed(other)).toEqual(["globex operator tenant", "platform operator platform"]);
    expect(await listed(operator)).toEqual(["platform operator platform", "platform operator tenant"]);
    expect(await listed(operator, "acme")).toEqual(["acme operator tenant", "acme tenant project shop", "acme tenant tenant", "acme tenant tool *", "platform operator platform"]);
  });

  test("what each has set, each removes, and not what the other has set", async () => {
    await put({ rate });
    await put({ rate, tenant: "acme" }, operator);
    const target = { scope: "tenant", subject: "" } as const;
    expect(await house.service.removeLimit(admin, target)).toEqual({ removed: true });
    expect(await house.service.removeLimit(admin, target)).toEqual({ removed: false });
    expect(await listed(admin)).toEqual(["acme operator tenant"]);
    expect(await house.service.removeLimit(operator, { ...target, tenant: "acme" })).toEqual({ removed: true });
    expect(await listed(admin)).toEqual([]);
  });

  test("without the scope admin nobody does, nor for another tenant, whether or not there is one", async () => {
    const clerk = asked({ scopes: new Set(["tools:write", "usage:read"]) });
    for (const asking of [put({ rate }, clerk), house.service.listLimits(clerk, undefined), house.service.removeLimit(clerk, { scope: "tenant", subject: "" })])
      expect(await refusal(asking)).toMatchObject({ code: "forbidden", details: { missing_scope: "admin" } });
    for (const tenant of ["globex", "nowhere"])
      expect(await refusal(put({ rate, tenant }))).toMatchObject({ code: "forbidden", details: { field: "tenant", reason: "operator_only" } });
    expect(await refusal(put({ rate, tenant: "nowhere" }, operator))).toMatchObject({ code: "tenant_not_found" });
    expect(await house.ledger.limits()).toEqual([]);
  });

  test("is on record: for who did it, and for whom it was done to", async () => {
    await put({ rate, quotas: { executionsPerDay: 5 }, timeZone: "europe/paris", tenant: "acme" }, operator);
    await put({ rate: { perMinute: 30, burst: 10 }, tenant: "acme" }, operator);
    await house.service.removeLimit(operator, { scope: "tenant", subject: "", tenant: "acme" });
    const first = { rate: { per_minute: 60, burst: 10 }, quotas: { executions_per_day: 5 }, time_zone: "Europe/Paris" };
    const second = { rate: { per_minute: 30, burst: 10 }, quotas: {}, time_zone: null };
    const target = { scope: "tenant", subject: "", set_by: "operator" };
    const acts = [
      ["limit.removed", { ...target, ...second }],
      ["limit.set", { ...target, ...second, before: first }],
      ["limit.set", { ...target, ...first }],
    ] as const;
    const told = async (tenant: string) =>
      (await house.audit(tenant)).filter(({ action }) => action?.startsWith("limit.")).map(({ action, principal, details }) => [action, principal, details]);
    expect(await told("platform")).toEqual(acts.map(([action, details]) => [action, "user:operator", { ...details, tenant: "acme" }]));
    expect(await told("acme")).toEqual(acts.map(([action, details]) => [action, "user:operator", { ...details, by_tenant: "platform" }]));
  });

  test("said again it changes nothing and is no act", async () => {
    const one = await put({ rate });
    await house.clock.pass(1_000);
    expect(await put({ rate })).toEqual(one);
    expect((await house.audit()).filter(({ action }) => action === "limit.set")).toHaveLength(1);
  });
});

describe("what cannot be set", () => {
  test.each<[string, Partial<NewLimit>, string]>([
    ["a limit that says nothing", {}, "rate"],
    ["of the platform by a tenant", { scope: "platform", rate }, "scope"],
    ["a tenant by name", { subject: "acme", rate }, "subject"],
    ["a project without a name", { scope: "project", rate }, "subject"],
    ["a name with a space", { scope: "agent", subject: "a b", rate }, "subject"],
    ["a name of two lines", { scope: "agent", subject: "a\nb", rate }, "subject"],
    ["a name that is too long", { scope: "agent", subject: "a".repeat(129), rate }, "subject"],
    ["somebody who is no principal", { scope: "principal", subject: "ann", rate }, "subject"],
    ["a quota of a tool", { scope: "tool", subject: "pay", quotas: { queueDepth: 1 } }, "quotas"],
    ["a time zone of a project", { scope: "project", subject: "shop", rate, timeZone: "UTC" }, "time_zone"],
    ["a zone that is nowhere", { timeZone: "Europe/Atlantis" }, "time_zone"],
    ["an offset in place of a zone", { timeZone: "+02:00" }, "time_zone"],
  ])("%s", async (_, fields, field) => {
    expect(await refusal(put(fields))).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: `/${field}`, keyword: "format", message: expect.any(String) }] } });
    expect(await house.ledger.limits()).toEqual([]);
  });

  test("of a project or a tool that is not there", async () => {
    expect(await refusal(put({ scope: "project", subject: "shpo", rate }))).toMatchObject({ code: "project_not_found" });
    expect(await refusal(put({ scope: "tool", subject: "pya", rate }))).toMatchObject({ code: "tool_not_found" });
    await put({ scope: "project", subject: "*", rate });
    await put({ scope: "tool", subject: "*", rate });
  });

  test("more than a thousand by one side; the other has room of its own", async () => {
    const writes = Array.from({ length: 999 }, (_, n) => ({ op: "put_limit", row: limitRow({ scope: "agent", subject: `a${n}` }) }) as const);
    await house.ledger.commit({ writes });
    await house.kill();
    house = await Governed.open({}, house);
    await put({ scope: "agent", subject: "last", rate });
    expect(await refusal(put({ scope: "agent", subject: "over", rate }))).toMatchObject({ code: "conflict", details: { limits_per_tenant_max: 1_000 } });
    await put({ scope: "agent", subject: "last", rate: { perMinute: 1, burst: 1 } });
    await put({ scope: "agent", subject: "over", rate, tenant: "acme" }, operator);
  });
});

const limitRow = (fields: Partial<Limit>): Limit => ({
  tenant: "acme",
  setBy: "tenant",
  scope: "tenant",
  subject: "",
  rate,
  quotas: {},
  timeZone: null,
  changedAt: 0,
  changedBy: "user:root",
  ...fields,
});

describe("the operator's word", () => {
  test("a tenant may say less, and not more; every field that is too much is named", async () => {
    await put({ rate, quotas: { executionsPerDay: 100 }, tenant: "acme" }, operator);
    await put({ rate, quotas: { executionsPerDay: 100 } });
    expect(await refusal(put({ rate: { perMinute: 61, burst: 10 }, quotas: { executionsPerDay: 101 } }))).toMatchObject({
      code: "forbidden",
      message: "the platform's operator allows this tenant less: per_minute at most 60, executions_per_day at most 100",
      details: { reason: "over_operator_limit", fields: [
        { pointer: "/rate/per_minute", keyword: "maximum", message: "must be at most 60", max: 60 },
        { pointer: "/quotas/executions_per_day", keyword: "maximum", message: "must be at most 100", max: 100 },
      ] },
    });
    expect(await refusal(put({ scope: "tool", subject: "pay", rate: { perMinute: 1, burst: 11 } }))).toMatchObject({ code: "forbidden" });
    await put({ scope: "tool", subject: "pay", rate: { perMinute: 60, burst: 1 } });
  });

  test("that comes later holds at once, whatever the tenant has said before", async () => {
    await put({ rate: { perMinute: 600, burst: 3 } });
    await put({ rate: { perMinute: 6, burst: 1 }, tenant: "acme" }, operator);
    await house.invoke();
    expect((await refusal(house.invoke())).details).toMatchObject({ set_by: "operator", limit: 1 });
  });

  test("on quotas by the day: the tenant cannot begin another day by moving", async () => {
    await put({ timeZone: "Asia/Tokyo" });
    await put({ quotas: { executionsPerDay: 5 }, tenant: "acme" }, operator);
    const moved = { code: "forbidden", details: { reason: "over_operator_limit", fields: [{ pointer: "/time_zone", keyword: "const", message: "must be the operator's" }] } };
    expect(await refusal(put({ timeZone: "Pacific/Kiritimati" }))).toMatchObject(moved);
    expect(await refusal(put({ rate }))).toMatchObject(moved);
    expect(await refusal(house.service.removeLimit(admin, { scope: "tenant", subject: "" }))).toMatchObject(moved);
    await put({ rate, timeZone: "Asia/Tokyo" });
    await put({ quotas: { executionsPerDay: 5 }, timeZone: "UTC", tenant: "acme" }, operator);
    // The operator's zone holds now; what the tenant says of it is of no consequence.
    await put({ rate });
    expect((await house.service.usage(admin, { groupBy: [] }, 1)).timeZone).toBe("UTC");
  });
});

test("limits are there again after a restart, before the first call", async () => {
  await put({ rate: { perMinute: 6, burst: 1 } });
  await put({ scope: "project", subject: "shop", quotas: { concurrentExecutions: 1 } });
  await house.kill();
  house = await Governed.open({}, house);
  const worker = house.worker("w1");
  await house.invoke();
  expect((await refusal(house.invoke())).code).toBe("rate_limited");
  await house.clock.pass(10_000);
  expect((await house.invoke()).call.state).toBe("queued");
  expect(worker.words().filter((words) => words.startsWith("invoke"))).toHaveLength(1);
});

describe("usage", () => {
  const used = async (by: Asked, question: Parameters<Governed["service"]["usage"]>[1]) =>
    (await house.service.usage(by, question, 10)).items.map(({ tenant, project, tool, day, executions, denied }) =>
      [tenant, project, tool, day, executions, denied].filter((word) => word !== undefined).join(" "),
    );
  beforeEach(async () => {
    await house.tool({}, "globex");
    await house.grant(["*"], "user:gil", "globex");
    for (const by of [asked(), other]) {
      const worker = house.worker(`w-${by.principal.tenant}`, { tenant: by.principal.tenant });
      const { call } = await house.invoke({}, by);
      worker.say(result(call.callId));
    }
    await house.invoke({}, asked({ name: "user:eve" })).catch(() => undefined);
    await house.settle();
  });

  test("is a tenant's own; the operator reads one tenant's, or that of all", async () => {
    expect(await used(admin, { groupBy: ["tool", "day"] })).toEqual(["pay 1970-01-01 1 1"]);
    expect(await used(other, { groupBy: ["tenant"] })).toEqual(["globex 1 0"]);
    expect(await used(operator, { groupBy: ["tenant"] })).toEqual([]);
    expect(await used(operator, { tenant: "acme", groupBy: ["project"] })).toEqual(["shop 1 1"]);
    expect(await used(operator, { tenant: "*", groupBy: ["tenant"] })).toEqual(["acme 1 1", "globex 1 0"]);
    expect((await house.service.usage(operator, { tenant: "*", groupBy: [] }, 1)).timeZone).toBeNull();
  });

  test("of another tenant is refused, whether or not there is one; so is who lacks the scope", async () => {
    for (const tenant of ["globex", "nowhere", "*"])
      expect(await refusal(house.service.usage(admin, { tenant, groupBy: [] }, 1))).toMatchObject({ code: "forbidden", details: { reason: "operator_only" } });
    expect(await refusal(house.service.usage(operator, { tenant: "nowhere", groupBy: [] }, 1))).toMatchObject({ code: "tenant_not_found" });
    expect(await refusal(house.service.usage(asked(), { groupBy: [] }, 1))).toMatchObject({ code: "forbidden", details: { missing_scope: "usage:read" } });
  });

  test("comes in pages whose cursor is good for the same grouping only", async () => {
    await house.tool({ name: "ship" });
    await house.invoke({ tool: "ship" }, asked({ name: "user:eve" })).catch(() => undefined);
    const first = await house.service.usage(admin, { groupBy: ["tool"] }, 1);
    expect(first.items.map(({ tool }) => tool)).toEqual(["pay"]);
    const second = await house.service.usage(admin, { groupBy: ["tool"] }, 1, first.next);
    expect([second.items.map(({ tool }) => tool), second.next]).toEqual([["ship"], undefined]);
    expect((await refusal(house.service.usage(admin, { groupBy: ["day"] }, 1, first.next))).code).toBe("invalid_input");
    expect((await refusal(house.service.usage(other, { groupBy: ["tool"] }, 1, first.next))).code).toBe("invalid_input");
  });
});

// Limits on the way of a call: what costs a token and what does not, what a refusal leaves behind, and what a day has seen.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { admin, ask, deny, Governed, voter } from "../../../../test/support/governed.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { result } from "../../../../test/support/hand-hub.ts";
import type { HubLimits } from "../dispatch/types.ts";
import type { NewLimit } from "../service-limits.ts";

let house: Governed;
const open = async (limits: Partial<HubLimits> = {}): Promise<Governed> => (house = await Governed.open({ queueDepthPerTenantMax: 1_000, ...limits }));
beforeEach(async () => {
  await open();
});
afterEach(() => house.close());

const limit = (fields: Partial<NewLimit> = {}, by = admin) =>
  house.service.putLimit(by, { scope: "tool", subject: "pay", rate: null, quotas: {}, timeZone: null, ...fields });
const rate = (perMinute: number, burst: number) => ({ perMinute, burst });
const code = async (asking: Promise<unknown>): Promise<string> => asking.then(() => "admitted", (error: { code: string }) => error.code);

/** How many of so many calls in a row are admitted. */
async function admitted(calls: number): Promise<number> {
  let count = 0;
  for (let n = 0; n < calls; n++) if ((await code(house.invoke())) === "admitted") count++;
  return count;
}

describe("a rate", () => {
  test("RL-01: 300 a minute and 50 at once: 50 of 60, after a second 5 more, after a minute 50", async () => {
    await limit({ rate: rate(300, 50) });
    expect(await admitted(50)).toBe(50);
    const refused = await refusal(house.invoke());
    expect(refused).toMatchObject({
      code: "rate_limited",
      executionId: undefined,
      details: { scope: "tool", subject: "pay", set_by: "tenant", per_minute: 300, limit: 50, remaining: 0, reset_s: 10, retry_after_s: 1 },
    });
    expect(refused.message).toBe("the limit of the tool pay is 300 calls a minute, 50 at once; come again in 1 s");
    expect(await admitted(9)).toBe(0);
    await house.clock.pass(1_000);
    expect(await admitted(60)).toBe(5);
    await house.clock.pass(60_000);
    expect(await admitted(100)).toBe(50);
  });

  test("RL-02: 6 a minute and 1 at once: again after ten seconds, and no millisecond sooner", async () => {
    await limit({ rate: rate(6, 1) });
    expect(await admitted(1)).toBe(1);
    expect((await refusal(house.invoke())).details).toMatchObject({ retry_after_s: 10 });
    await house.clock.pass(9_999);
    expect((await refusal(house.invoke())).details).toMatchObject({ retry_after_s: 1 });
    await house.clock.pass(1);
    expect(await admitted(1)).toBe(1);
  });

  test("RL-05: changed, it holds for the next request", async () => {
    await limit({ rate: rate(6, 1) });
    expect(await admitted(3)).toBe(1);
    await limit({ rate: rate(6, 2) });
    expect(await admitted(3)).toBe(2);
    await house.service.removeLimit(admin, { scope: "tool", subject: "pay" });
    expect(await admitted(3)).toBe(3);
    await limit({ rate: rate(6, 1) });
    expect(await admitted(3)).toBe(1);
    // The same once more begins full, when it was gone in between.
    await limit({ rate: rate(6, 1) });
    expect(await admitted(1)).toBe(0);
    await house.service.removeLimit(admin, { scope: "tool", subject: "pay" });
    await limit({ rate: rate(6, 1) });
    expect(await admitted(3)).toBe(1);
  });

  test("RL-07: a refusal leaves no row and no key behind: the same key runs later", async () => {
    await limit({ rate: rate(6, 1) });
    await house.invoke();
    expect(await code(house.invoke({ idempotencyKey: "k1" }))).toBe("rate_limited");
    expect(await house.rows()).toHaveLength(1);
    expect((await house.audit()).filter(({ action }) => action === "call.refused")).toEqual([]);
    await house.clock.pass(10_000);
    expect(await house.invoke({ idempotencyKey: "k1" })).toMatchObject({ replayed: false, call: { idempotencyKey: "k1" } });
  });

  test("RL-08: a call that exists costs nothing, however empty the bucket is", async () => {
    await limit({ rate: rate(6, 1) });
    const worker = house.worker("w1");
    const { call } = await house.invoke({ idempotencyKey: "k1" });
    worker.say(result(call.callId));
    await settled();
    for (let n = 0; n < 3; n++) expect(await house.invoke({ idempotencyKey: "k1" })).toMatchObject({ replayed: true, call: { callId: call.callId, state: "succeeded" } });
    expect(await code(house.invoke())).toBe("rate_limited");
    await house.clock.pass(10_000);
    await house.invoke({ idempotencyKey: "k1" });
    expect(await admitted(2)).toBe(1);
  });

  test("who loses the race for a key gives its token back at once, while the winner still runs", async () => {
    await limit({ rate: rate(6, 3) });
    house.worker("w1");
    const both = [1, 2].map(() => house.invoke({ idempotencyKey: "k1", mode: "sync" }));
    await settled();
    await house.settle();
    expect(await admitted(3)).toBe(2);
    await house.clock.pass(30_000);
    expect((await Promise.all(both)).filter(({ replayed }) => replayed)).toHaveLength(1);
  });

  test("a call that waits for people is charged when it comes, and not again when it goes on", async () => {
    await limit({ rate: rate(6, 1) });
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    const worker = house.worker("w1");
    const { callId, approvalId } = await house.parked();
    expect(await code(house.invoke())).toBe("rate_limited");
    await house.vote(voter("bo", "finance"), approvalId);
    expect(worker.words()).toContain(`invoke ${callId}#1`);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ["a key without the scope", () => house.invoke({}, asked({ scopes: new Set() })), "forbidden"],
    ["an unknown tool", () => house.invoke({ tool: "ship" }), "tool_not_found"],
    ["another tenant's name", () => house.invoke({ tenant: "globex" }), "forbidden"],
    ["nobody's grant", () => house.invoke({}, asked({ name: "user:eve" })), "forbidden"],
    ["a wrong input", () => house.invoke({ input: {} }), "invalid_input"],
    ["a rule that denies", () => house.invoke({ input: { amount: 5_000 } }), "forbidden"],
    ["a rule on counts that denies", () => house.invoke({ input: { amount: 7 } }), "forbidden"],
    ["files for a worker's tool", () => house.invoke({ files: [{ path: "a.txt", content: "a" }] }), "invalid_input"],
  ])("%s costs nothing", async (_, refused, expected) => {
    await limit({ rate: rate(6, 1) });
    await house.policy({ name: "much", when: "args.amount > 1000.0", then: deny("too much") });
    await house.policy({ name: "sevens", when: 'args.amount == 7.0 && calls.window("10m") >= 0', then: deny("none of these") });
    expect(await code(refused())).toBe(expected);
    expect(await admitted(2)).toBe(1);
  });

  test("a ledger that cannot write costs nothing", async () => {
    await limit({ rate: rate(6, 1) });
    house.ledger.full = true;
    expect(await code(house.invoke())).toBe("ledger_unavailable");
    house.ledger.full = false;
    await house.clock.pass(500);
    expect(await admitted(2)).toBe(1);
  });

  test("SCH-10: a full queue is told first, and costs nothing", async () => {
    await house.close();
    await open({ queueDepthPerTenantMax: 1 });
    await limit({ rate: rate(6, 2) });
    await house.invoke();
    expect(await code(house.invoke())).toBe("queue_full");
    house.worker("w1");
    await house.settle();
    expect(await admitted(2)).toBe(1);
  });

  test("of several all must be passed, all are charged or none, and the longest wait is told", async () => {
    await limit({ scope: "tenant", subject: "", rate: rate(600, 4) });
    await limit({ scope: "principal", subject: "*", rate: rate(6, 2) });
    expect(await admitted(2)).toBe(2);
    for (let n = 0; n < 5; n++) {
      expect((await refusal(house.invoke())).details).toMatchObject({ scope: "principal", subject: "user:ann", retry_after_s: 10 });
    }
    await house.grant(["*"], "user:bo");
    const bo = asked({ name: "user:bo" });
    expect([await code(house.invoke({}, bo)), await code(house.invoke({}, bo)), await code(house.invoke({}, bo))]).toEqual(["admitted", "admitted", "rate_limited"]);
    await house.grant(["*"], "user:cy");
    // Of four for the tenant none is left: the refusals took none.
    expect((await refusal(house.invoke({}, asked({ name: "user:cy" })))).details).toMatchObject({ scope: "tenant", subject: "", retry_after_s: 1 });
  });

  test("by agent: the credential's own, or the one that is named", async () => {
    await limit({ scope: "agent", subject: "helper", rate: rate(6, 1) });
    const helped = { context: { agent: "helper" } };
    expect([await code(house.invoke(helped)), await code(house.invoke(helped)), await code(house.invoke())]).toEqual(["admitted", "rate_limited", "admitted"]);
  });

  test("is told to who passed it: of the tightest how much, how much is left, and when all of it is there again", async () => {
    await limit({ scope: "tenant", subject: "", rate: rate(60, 10) });
    await limit({ rate: rate(6, 3) });
    expect((await house.invoke()).rate).toEqual({ limit: 3, remaining: 2, resetS: 10 });
    expect((await house.invoke()).rate).toEqual({ limit: 3, remaining: 1, resetS: 20 });
    expect((await house.invoke({ idempotencyKey: "k1" })).rate).toEqual({ limit: 3, remaining: 0, resetS: 30 });
    expect(await house.invoke({ idempotencyKey: "k1" })).not.toHaveProperty("rate");
  });

  test("is not told where none applies, nor that of the platform, which other tenants' calls wear down", async () => {
    expect(await house.invoke()).not.toHaveProperty("rate");
    await limit({ scope: "platform", subject: "", rate: rate(6, 2) }, operator);
    expect(await house.invoke()).not.toHaveProperty("rate");
    await limit({ rate: rate(60, 10) });
    expect((await house.invoke()).rate).toEqual({ limit: 10, remaining: 9, resetS: 1 });
    expect((await refusal(house.invoke())).message).toBe("the platform's limit is 6 calls a minute, 2 at once; come again in 10 s");
  });

  test("refusals are counted by scope and kind", async () => {
    await limit({ rate: rate(6, 1) });
    await admitted(3);
    expect(house.figures.filter(([name]) => name === "limit_refusals_total")).toEqual([
      ["limit_refusals_total", { scope: "tool", limit: "rate" }],
      ["limit_refusals_total", { scope: "tool", limit: "rate" }],
    ]);
  });
});

const operator = asked({ tenant: "platform", name: "user:operator", scopes: new Set(["*"]) });
const ofTenant = { scope: "tenant", subject: "" } as const;
/** The corridor's clock begins at 00:16:40 of the first day there is. */
const toMidnight = 86_400_000 - 1_000_000;

describe("a quota of the day", () => {
  test("QT-01: three a day: the fourth is refused until the day turns", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 3 } });
    expect(await admitted(3)).toBe(3);
    const refused = await refusal(house.invoke({ idempotencyKey: "k1" }));
    expect(refused).toMatchObject({
      code: "quota_exceeded",
      executionId: undefined,
      details: { quota: "executions_per_day", scope: "tenant", limit: 3, used: 3, remaining: 0, day: "1970-01-01", time_zone: "UTC", reset_s: 85_400, retry_after_s: 85_400 },
    });
    expect(refused.message).toBe("this tenant has used its 3 calls of 1970-01-01 (UTC); the next day begins in 85400 s");
    expect(await house.rows()).toHaveLength(3);
    await house.clock.pass(toMidnight - 1);
    expect((await refusal(house.invoke())).details).toMatchObject({ retry_after_s: 1 });
    await house.clock.pass(1);
    expect(await house.invoke({ idempotencyKey: "k1" })).toMatchObject({ replayed: false });
    expect(await admitted(5)).toBe(2);
  });

  test("turns where the tenant's day does", async () => {
    // 00:16:40 UTC is 09:16:40 in Tokyo: the day has 14 h 43 min 20 s left.
    await limit({ ...ofTenant, quotas: { executionsPerDay: 1 }, timeZone: "Asia/Tokyo" });
    expect(await admitted(2)).toBe(1);
    expect((await refusal(house.invoke())).details).toMatchObject({ day: "1970-01-01", time_zone: "Asia/Tokyo", retry_after_s: 53_000 });
    await house.clock.pass(53_000_000);
    expect(await admitted(2)).toBe(1);
    expect((await refusal(house.invoke())).details).toMatchObject({ day: "1970-01-02" });
  });

  test("counts what the day has seen before the quota was set, and what was in the day of another zone", async () => {
    const worker = house.worker("w1");
    const { call } = await house.invoke();
    worker.say(result(call.callId));
    await house.settle();
    await house.invoke();
    await limit({ ...ofTenant, quotas: { executionsPerDay: 3 } });
    expect(await admitted(3)).toBe(1);
    // In Los Angeles it is still the evening before; nobody has asked for anything on that day.
    await limit({ ...ofTenant, quotas: { executionsPerDay: 3 }, timeZone: "America/Los_Angeles" });
    expect(await admitted(4)).toBe(1);
  });

  test("a replay, a refusal and a denial count for nothing; a call that failed or was cancelled counts", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 2 } });
    const { call } = await house.invoke({ idempotencyKey: "k1" });
    await house.invoke({ idempotencyKey: "k1" });
    await code(house.invoke({ input: {} }));
    await code(house.invoke({}, asked({ name: "user:eve" })));
    await house.service.cancel(admin, call.callId);
    await house.settle();
    expect(await admitted(3)).toBe(1);
  });

  test("a call that did not come to be counts for nothing", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 3 } });
    house.ledger.full = true;
    expect(await code(house.invoke())).toBe("ledger_unavailable");
    house.ledger.full = false;
    await house.clock.pass(500);
    const both = await Promise.all([house.invoke({ idempotencyKey: "k1" }), house.invoke({ idempotencyKey: "k1" })]);
    expect(both.filter(({ replayed }) => replayed)).toHaveLength(1);
    expect(await admitted(5)).toBe(2);
  });

  test("a call that asks on one day and is admitted on the next is of the next", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 1 } });
    await house.policy({ name: "often", when: 'calls.window("10m") > 100', then: deny("too often") });
    await house.clock.pass(toMidnight - 1);
    const count = house.ledger.countCalls.bind(house.ledger);
    house.ledger.countCalls = async (of) => {
      house.ledger.countCalls = count;
      await house.clock.pass(1);
      return count(of);
    };
    expect((await house.invoke()).call.admittedAt).toBe(86_400_000);
    expect((await refusal(house.invoke())).details).toMatchObject({ day: "1970-01-02", used: 1 });
  });

  test("is kept by project, too", async () => {
    await house.project("acme2", "x", "");
    await house.service.putProject(admin, "back", "");
    await limit({ scope: "project", subject: "*", quotas: { executionsPerDay: 1 } });
    expect(await admitted(2)).toBe(1);
    expect((await refusal(house.invoke())).details).toMatchObject({ scope: "project", subject: "shop" });
    expect(await code(house.invoke({}, asked({ project: "back" })))).toBe("admitted");
  });

  test("of CPU time: told when calls end, and nothing is let in once it is used up", async () => {
    await limit({ ...ofTenant, quotas: { cpuSecondsPerDay: 1 } });
    const worker = house.worker("w1");
    for (const cpuMs of [999.999, 0.001]) {
      const { call } = await house.invoke();
      worker.say({ ...result(call.callId), usage: { durationMs: 5, cpuMs } });
      await house.settle();
    }
    expect((await refusal(house.invoke())).details).toMatchObject({ quota: "cpu_seconds_per_day", limit: 1, used: 1 });
    await house.clock.pass(toMidnight);
    expect(await admitted(1)).toBe(1);
  });

  test("survives a process that dies: what had ended, what was open, and the time that was used", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 4, cpuSecondsPerDay: 100 } });
    await limit({ scope: "project", subject: "shop", quotas: { cpuSecondsPerDay: 60 } });
    const worker = house.worker("w1", { capacity: 1 });
    const { call } = await house.invoke();
    await house.invoke();
    worker.say({ ...result(call.callId), usage: { durationMs: 5, cpuMs: 40_000 } });
    await house.settle();
    await house.kill();
    const before = house;
    house = await Governed.open({ queueDepthPerTenantMax: 1_000 }, before);
    expect(await admitted(3)).toBe(2);
    expect((await refusal(house.invoke())).details).toMatchObject({ quota: "executions_per_day", used: 4 });
    await limit({ ...ofTenant, quotas: {}, timeZone: "UTC" });
    await limit({ scope: "project", subject: "shop", quotas: { cpuSecondsPerDay: 40 } });
    expect((await refusal(house.invoke())).details).toMatchObject({ quota: "cpu_seconds_per_day", scope: "project", used: 40 });
  });

  test("a call that was admitted at the last moment is of its own day, also when it ends on the next", async () => {
    await limit({ ...ofTenant, quotas: { executionsPerDay: 1 } });
    await house.clock.pass(toMidnight - 1);
    const worker = house.worker("w1");
    const { call } = await house.invoke();
    await house.clock.pass(2_000);
    worker.say({ ...result(call.callId), usage: { durationMs: 5, cpuMs: 7 } });
    await house.settle();
    const { items, timeZone } = await house.service.usage(admin, { groupBy: ["day"] }, 10);
    expect([timeZone, items.map(({ day, executions, cpuUs }) => [day, executions, cpuUs])]).toEqual(["UTC", [["1970-01-01", 1, 7_000]]]);
    expect(await admitted(2)).toBe(1);
  });
});

describe("the queue", () => {
  test("a tenant's depth: the operator may say more than the default, the tenant only less", async () => {
    await house.close();
    await open({ queueDepthPerTenantMax: 2 });
    await limit({ ...ofTenant, tenant: "acme", quotas: { queueDepth: 3 } }, operator);
    expect(await admitted(5)).toBe(3);
    expect((await refusal(house.invoke())).details).toEqual({ scope: "tenant", subject: "acme", limit: 3, retry_after_s: 1 });
    await limit({ ...ofTenant, quotas: { queueDepth: 1 } });
    expect((await refusal(house.invoke())).details).toMatchObject({ limit: 1 });
  });

  test("without the operator's word the default holds, whatever the tenant says", async () => {
    await house.close();
    await open({ queueDepthPerTenantMax: 2 });
    await limit({ ...ofTenant, quotas: { queueDepth: 500 } });
    expect(await admitted(5)).toBe(2);
  });

  test("a project's depth is its own", async () => {
    await house.service.putProject(admin, "back", "");
    await limit({ scope: "project", subject: "shop", quotas: { queueDepth: 1 } });
    expect(await admitted(2)).toBe(1);
    expect((await refusal(house.invoke())).details).toEqual({ scope: "project", subject: "shop", limit: 1, retry_after_s: 1 });
    expect(await code(house.invoke({}, asked({ project: "back" })))).toBe("admitted");
  });

  test("QT-02: two at once: the third waits and is not refused; raised, it goes on", async () => {
    await limit({ ...ofTenant, quotas: { concurrentExecutions: 2 } });
    const worker = house.worker("w1");
    const calls = [];
    for (let n = 0; n < 4; n++) calls.push((await house.invoke()).call);
    expect(calls.map(({ state }) => state)).toEqual(["dispatched", "dispatched", "queued", "queued"]);
    worker.say(result(calls[0]?.callId ?? ""));
    await house.settle();
    expect(worker.words().filter((words) => words.startsWith("invoke"))).toHaveLength(3);
    await limit({ ...ofTenant, quotas: { concurrentExecutions: 3 } });
    await house.settle();
    expect(worker.words().filter((words) => words.startsWith("invoke"))).toHaveLength(4);
  });
});

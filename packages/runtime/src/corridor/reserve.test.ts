// Keys, races, the bounded queue and a runtime that leaves: what a repeated request gets, and what a refused one leaves behind.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { policyDocument } from "../../../../test/support/manifests.ts";
import { result } from "../../../../test/support/hand-hub.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor({ queueDepthPerTenantMax: 2 });
  await corridor.tool();
  await corridor.grant(["*"]);
});
afterEach(() => corridor.close());

const keyed = { idempotencyKey: "k1" };

describe("the same key again", () => {
  test("answers with its call, open or ended, and runs nothing", async () => {
    const worker = corridor.worker("w1");
    const first = await corridor.invoke(keyed);
    expect(first).toMatchObject({ replayed: false, progress: "waiting", call: { state: "dispatched", idempotencyKey: "k1" } });
    expect(await corridor.invoke(keyed)).toMatchObject({ replayed: true, progress: "waiting", call: { callId: first.call.callId } });
    worker.say(result(first.call.callId, 1, '{"paid":true}'));
    await settled();
    const replay = await corridor.invoke({ ...keyed, mode: "sync" });
    expect(replay).toMatchObject({ replayed: true, progress: "settled", call: { callId: first.call.callId, state: "succeeded", outputJson: '{"paid":true}' } });
    expect(await corridor.rows()).toHaveLength(1);
    expect(worker.words().filter((words) => words.startsWith("invoke"))).toHaveLength(1);
  });

  test("waits with its call, when it wants to", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke(keyed);
    const waiting = corridor.invoke({ ...keyed, mode: "sync" });
    await settled();
    worker.say(result(call.callId));
    expect(await waiting).toMatchObject({ replayed: true, progress: "settled", call: { state: "succeeded" } });
  });

  test("the order of members makes no other input", async () => {
    const { call } = await corridor.invoke({ ...keyed, input: { note: "a", amount: 5 } });
    expect((await corridor.invoke({ ...keyed, input: { amount: 5, note: "a" } })).call.callId).toBe(call.callId);
  });

  test.each<[string, Parameters<Corridor["invoke"]>[0]]>([
    ["another input", { input: { amount: 6 } }],
    ["an explicit null where there was nothing", { input: { amount: 5, note: null } }],
    ["a version where there was none", { version: "1.0.0" }],
    ["another tool", { tool: "ship" }],
  ])("with %s it is a conflict that names the first call, never a silent replay", async (_, changes) => {
    await corridor.tool({ name: "ship" });
    const { call } = await corridor.invoke(keyed);
    expect(await refusal(corridor.invoke({ ...keyed, ...changes }))).toMatchObject({
      code: "idempotency_conflict",
      executionId: call.callId,
      details: { execution_id: call.callId },
    });
    expect(await corridor.rows()).toHaveLength(1);
  });

  test("in another project, or another tenant, it is another key", async () => {
    await corridor.tool({}, "other");
    await corridor.grant(["*"], "user:ann", "other");
    await corridor.invoke(keyed);
    expect((await corridor.invoke(keyed, asked({ project: "office" }))).replayed).toBe(false);
    expect((await corridor.invoke(keyed, asked({ tenant: "other" }))).replayed).toBe(false);
  });

  test("two at once: one call; who lost the race answers with the winner's, and its slot goes on", async () => {
    const worker = corridor.worker("w1", { capacity: 2 });
    const [one, other] = await Promise.all([corridor.invoke(keyed), corridor.invoke(keyed)]);
    expect(one.call.callId).toBe(other.call.callId);
    expect(one.replayed).not.toBe(other.replayed);
    await corridor.invoke();
    expect(await corridor.rows()).toHaveLength(2);
    expect(worker.words().filter((words) => words.startsWith("invoke"))).toHaveLength(2);
    expect(corridor.runtime.service.status().calls).toEqual({ dispatched: 2 });
  });

  test("two at once with different inputs: one call, and a conflict for the other", async () => {
    const outcomes = await Promise.allSettled([corridor.invoke(keyed), corridor.invoke({ ...keyed, input: { amount: 6 } })]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "idempotency_conflict" } });
  });
});

describe("a full queue", () => {
  beforeEach(async () => {
    await corridor.invoke(keyed);
    await corridor.invoke();
  });

  test("refuses with when to come again, and leaves no row and no key behind", async () => {
    expect(await refusal(corridor.invoke({ idempotencyKey: "k2" }))).toMatchObject({ code: "queue_full", executionId: undefined, details: { limit: 2, retry_after_s: 1 } });
    expect(await corridor.rows()).toHaveLength(2);
    corridor.worker("w1");
    await settled();
    expect((await corridor.invoke({ idempotencyKey: "k2" })).replayed).toBe(false);
  });

  test("is no matter for a call that exists, nor for another tenant", async () => {
    expect((await corridor.invoke(keyed)).replayed).toBe(true);
    await corridor.tool({}, "other");
    await corridor.grant(["*"], "user:ann", "other");
    expect((await corridor.invoke({}, asked({ tenant: "other" }))).call.state).toBe("queued");
  });

  test("is asked about after grant and input, so that a refusal says what is really wrong", async () => {
    expect((await refusal(corridor.invoke({ input: {} }))).code).toBe("invalid_input");
    expect((await refusal(corridor.invoke({}, asked({ name: "user:eve" })))).code).toBe("forbidden");
  });
});

describe("a runtime that drains", () => {
  test("takes no new call and still answers for those that exist", async () => {
    await corridor.invoke(keyed);
    await corridor.runtime.drain(0);
    expect(await refusal(corridor.invoke())).toMatchObject({ code: "draining", details: { retry_after_s: 1 } });
    expect(await corridor.invoke({ ...keyed, mode: "sync" })).toMatchObject({ replayed: true, progress: "waiting" });
    expect(await corridor.rows()).toHaveLength(1);
    expect(corridor.service.status()).toMatchObject({ ready: false, draining: true, reasons: ["draining"] });
  });
});

describe("a store that cannot be used", () => {
  const away = { code: "ledger_unavailable", details: { retry_after_s: 1 }, executionId: undefined };

  test("full: 503 for a call that would be admitted and for one that would be denied; neither exists", async () => {
    corridor.worker("w1");
    corridor.ledger.full = true;
    expect(await refusal(corridor.invoke(keyed))).toMatchObject(away);
    expect(await refusal(corridor.invoke({}, asked({ name: "user:eve" })))).toMatchObject(away);
    corridor.ledger.full = false;
    expect(await corridor.rows()).toEqual([]);
    await corridor.clock.pass(500);
    expect((await corridor.invoke(keyed)).replayed).toBe(false);
  });

  test("a refusal stands even when it cannot be written down; the log says so", async () => {
    corridor.ledger.full = true;
    expect((await refusal(corridor.invoke({ tenant: "other" }))).code).toBe("forbidden");
    expect(corridor.logged).toContain("a refusal could not be audited");
  });

  test("unreadable: 503, never a login refused or a grant that is not there", async () => {
    corridor.ledger.unreadable = true;
    corridor.runtime.directory.changed("acme");
    expect(await refusal(corridor.invoke())).toMatchObject(away);
    expect(await refusal(corridor.service.authenticate(`sbk_${"0".repeat(26)}_${"s".repeat(43)}`, "req_1"))).toMatchObject(away);
    expect(corridor.figures).toEqual([]);
    expect(await corridor.audit("platform")).toEqual([]);
  });
});

test("a repeated request that is denied today learns which call its key names, if it is its own and the same", async () => {
  const { call } = await corridor.invoke({ idempotencyKey: "k" });
  const deny = policyDocument({ name: "never", match: { tools: ["pay"] }, then: { decision: "deny", reason: "not today" } });
  await corridor.service.publishPolicy(asked({ scopes: new Set(["policies:write"]) }), deny, {});
  expect((await refusal(corridor.invoke({ idempotencyKey: "k" }))).details).toMatchObject({ earlier_execution_id: call.callId });
  expect((await refusal(corridor.invoke({ idempotencyKey: "k", input: { amount: 6 } }))).details).not.toHaveProperty("earlier_execution_id");
  expect((await refusal(corridor.invoke({ idempotencyKey: "other" }))).details).not.toHaveProperty("earlier_execution_id");
});

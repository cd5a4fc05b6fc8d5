// The result cache through the corridor: what may be answered with an earlier result, for how long, and what the record says.
import { afterEach, beforeEach, expect, test } from "vitest";
import { asked, Corridor, type ToolText } from "../../../../test/support/corridor.ts";
import { result } from "../../../../test/support/hand-hub.ts";
import { policyDocument } from "../../../../test/support/manifests.ts";
import type { HandStream } from "../../../../test/support/hand-stream.ts";
import type { InvokeRequest } from "../service.ts";

let corridor: Corridor;
let worker: HandStream;
const pure: ToolText = { name: "look", spec: { side_effect_class: "read_only", pure: true, cache: { ttl: "10m" } } };

beforeEach(async () => {
  corridor = new Corridor();
  await corridor.grant(["*"]);
  await corridor.tool(pure);
  worker = corridor.worker("w1", { tools: { look: 10 } });
});
afterEach(() => corridor.close());

const ask = (request: Partial<InvokeRequest> = {}, by = asked()) => corridor.invoke({ tool: "look", ...request }, by);

/** The worker answers the newest call that it was given. */
async function run(request: Partial<InvokeRequest> = {}, output = '"answer"'): Promise<string> {
  const { call } = await ask(request);
  await corridor.settle();
  worker.say(result(call.callId, 1, output));
  await corridor.settle();
  return call.callId;
}

const invokes = () => worker.sent.filter((message) => message.type === "invoke");

test("CCH-01: the second call is answered by the first one's result: nothing runs, it is audited and counted", async () => {
  const first = await run();
  const { call, progress } = await ask();
  expect([progress, call.state, call.outputJson, call.cachedFrom, call.attempt, call.workerId]).toEqual(["settled", "succeeded", '"answer"', first, 1, null]);
  expect(invokes().map(({ callId }) => callId)).toEqual([first]);
  expect((await corridor.eventsOf(call.callId)).map(([type]) => type)).toEqual(["requested", "succeeded"]);
  const [record] = await corridor.audit();
  expect(record).toMatchObject({ action: "call.settled", callId: call.callId, status: "succeeded", cache: "hit", principal: "user:ann" });
  expect((await corridor.audit())[1]).toMatchObject({ callId: first, cache: "miss" });
  expect(corridor.figures.filter(([name]) => name === "result_cache_total").map(([, labels]) => labels["result"])).toEqual(["miss", "hit"]);
  expect(corridor.figures.filter(([name]) => name === "tool_executions_total")).toHaveLength(2);
});

test("CCH-03: it is good for as long as the tool says, counted from its end, and not a moment longer", async () => {
  await run();
  await corridor.clock.pass(600_000);
  expect((await ask()).call.state).toBe("succeeded");
  await corridor.clock.pass(1);
  const { call } = await ask();
  // Its worker has been silent for so long that it gets nothing.
  expect([call.state, call.cachedFrom]).toEqual(["queued", null]);
});

test("a hit does not make the result younger", async () => {
  await run();
  await corridor.clock.pass(500_000);
  expect((await ask()).call.state).toBe("succeeded");
  await corridor.clock.pass(100_001);
  expect((await ask()).call.state).toBe("queued");
});

test("CCH-04: another version is another question", async () => {
  await run();
  await corridor.tool({ ...pure, version: "1.0.1" });
  expect((await ask({ version: "1.0.1" })).call.state).toBe("queued");
  expect((await ask({ version: "1.0.0" })).call.state).toBe("succeeded");
});

test("CCH-06: a failure is not kept", async () => {
  const { call } = await ask();
  await corridor.settle();
  worker.say({ ...result(call.callId), status: "failed", error: { code: "boom", message: "no", retryable: false } });
  await corridor.settle();
  expect((await corridor.rows())[0]?.state).toBe("failed");
  expect((await ask()).call.state).toBe("dispatched");
});

test.each([
  ["key order and number spelling do not matter", { amount: 5.0, note: "a" }, { note: "a", amount: 5 }, "succeeded"],
  ["a null for an optional field is the same as its absence", { amount: 5, note: null }, { amount: 5 }, "succeeded"],
  ["another value is another question", { amount: 5 }, { amount: 6 }, "dispatched"],
  ["so is a number that differs beyond what a double holds", { amount: JSON.parse("9007199254740992") }, { amount: (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON("9007199254740993") }, "dispatched"],
])("%s", async (_, first, second, state) => {
  await run({ input: first });
  expect((await ask({ input: second })).call.state).toBe(state);
});

test("another principal and another project of the tenant share it; another tenant does not", async () => {
  await run();
  await corridor.grant(["*"], "user:bea");
  expect((await ask({}, asked({ name: "user:bea", project: "office" }))).call.state).toBe("succeeded");
  await corridor.tool(pure, "globex");
  await corridor.grant(["*"], "user:ann", "globex");
  expect((await ask({}, asked({ tenant: "globex" }))).call.state).toBe("queued");
});

test("permission comes first: who lacks the grant gets no answer from the cache", async () => {
  await run();
  await expect(ask({}, asked({ name: "user:eve" }))).rejects.toMatchObject({ code: "forbidden" });
});

test("a rule that denies is heard, one that obliges lets the call run itself, and one that asks people asks", async () => {
  await run();
  const publish = (name: string, then: object) =>
    corridor.service.publishPolicy(asked({ scopes: new Set(["policies:write"]) }), policyDocument({ name, match: { tools: ["look"] }, then: then as Record<string, unknown> }), {});
  await publish("short", { decision: "allow", reason: "only briefly", obligations: { limits: { timeout: "1s" } } });
  const obliged = await ask();
  expect([obliged.call.state, obliged.call.timeoutMs, obliged.call.cacheKey]).toEqual(["dispatched", 1_000, null]);
  await publish("people", { decision: "require_approval", reason: "look", approval: { route: "ops" } });
  expect((await ask()).call).toMatchObject({ state: "awaiting_approval", cacheKey: null });
  await publish("never", { decision: "deny", reason: "no" });
  await expect(ask()).rejects.toMatchObject({ code: "forbidden" });
});

test("the caller's own bound on the result is kept: one that is larger is not handed out", async () => {
  await run({}, '"0123456789"');
  expect((await ask({ limits: { maxOutputBytes: 5 } })).call.state).toBe("dispatched");
});

test("a hit holds its idempotency key like any other call", async () => {
  await run();
  const first = await ask({ idempotencyKey: "k" });
  const again = await ask({ idempotencyKey: "k" });
  expect([again.replayed, again.call.callId]).toEqual([true, first.call.callId]);
  await expect(ask({ idempotencyKey: "k", input: { amount: 6 } })).rejects.toMatchObject({ code: "idempotency_conflict" });
});

/** Each is asked at once, before any of them has been admitted. */
async function hundred(): Promise<{ readonly calls: readonly string[]; readonly refused: readonly string[]; readonly ids: number }> {
  const all = Promise.allSettled(Array.from({ length: 100 }, () => ask({ mode: "sync" })));
  await corridor.settle();
  const [given, ...others] = invokes();
  expect(others).toEqual([]);
  worker.say(result(given?.callId ?? "", 1, '{"n":1}'));
  await corridor.settle();
  const answers = await all;
  const calls = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value.call] : []));
  const refused = answers.flatMap((one) => (one.status === "rejected" ? [String((one.reason as { code?: unknown }).code)] : []));
  return { calls: calls.map(({ state, outputJson }) => `${state} ${outputJson}`), refused, ids: new Set(calls.map(({ callId }) => callId)).size };
}

test("CCH-07: a hundred at once are one run, and each is a call with an end of its own", async () => {
  await corridor.close();
  corridor = new Corridor({ queueDepthPerTenantMax: 100 });
  await corridor.grant(["*"]);
  await corridor.tool(pure);
  worker = corridor.worker("w1", { tools: { look: 10 } });
  const { calls, refused, ids } = await hundred();
  expect([calls.length, ids, refused]).toEqual([100, 100, []]);
  expect(new Set(calls)).toEqual(new Set(['succeeded {"n":1}']));
  expect(invokes()).toHaveLength(1);
});

test("who waits for a twin stands in the queue: past its depth the caller is told to come again", async () => {
  const { calls, refused } = await hundred();
  expect([calls.length, refused.length, new Set(refused)]).toEqual([6, 94, new Set(["queue_full"])]);
});

test("a run that ends while another caller's look at the ledger is on its way is found all the same", async () => {
  const { call: first } = await ask();
  await corridor.settle();
  const { ledger } = corridor;
  const looked = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const read = ledger.cachedResult.bind(ledger);
  ledger.cachedResult = async (...asked) => {
    const found = await read(...asked);
    looked.resolve();
    await goOn.promise;
    return found;
  };
  const second = ask();
  await looked.promise;
  // Only now, when the second caller has seen that there is nothing, does the first run come to its end.
  worker.say(result(first.callId, 1, '"late"'));
  await corridor.settle();
  goOn.resolve();
  expect((await second).call).toMatchObject({ state: "succeeded", outputJson: '"late"', cachedFrom: first.callId });
  expect(invokes()).toHaveLength(1);
});

test("the cache is the ledger: a runtime that was killed finds it again", async () => {
  const first = await run();
  await corridor.kill();
  corridor = new Corridor({}, corridor);
  await corridor.runtime.recover();
  expect((await ask()).call).toMatchObject({ state: "succeeded", cachedFrom: first });
});

test("what waited under a freeze is answered by a result that is there when it is lifted", async () => {
  const first = await run();
  const operator = asked({ scopes: new Set(["policies:write"]) });
  await corridor.service.freeze(operator, "look", "strange answers");
  const { call } = await ask();
  await corridor.service.unfreeze(operator, "look");
  await corridor.settle();
  expect(await corridor.ledger.getCall("acme", call.callId)).toMatchObject({ state: "succeeded", cachedFrom: first });
  expect(invokes().map(({ callId }) => callId)).toEqual([first]);
});

test("a frozen tool hands nothing out", async () => {
  await run();
  await corridor.service.freeze(asked({ scopes: new Set(["policies:write"]) }), "look", "strange answers");
  expect((await ask()).call).toMatchObject({ state: "queued", cachedFrom: null });
});

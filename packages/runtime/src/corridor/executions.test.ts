// Calls that exist: who may see them, what a cancel does in each phase, and a person's word on an unknown end.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, result, started } from "../../../../test/support/hand-hub.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor();
  await corridor.tool();
  await corridor.grant(["*"]);
});
afterEach(() => corridor.close());

const reader = asked({ scopes: new Set(["calls:read", "calls:cancel", "approvals:decide"]) });
const operator = asked({ name: "user:op", scopes: new Set(["calls:read", "approvals:decide", "calls:cancel"]) });
const none = "exec_00000000000000000000000000";

describe("who may see a call", () => {
  test("its own project; the key that may do everything, the tenant; nobody else, in the very same words", async () => {
    const { call } = await corridor.invoke();
    const { service } = corridor;
    expect((await service.getExecution(reader, call.callId)).call.callId).toBe(call.callId);
    expect((await service.getExecution(asked({ project: "office", scopes: new Set(["*"]) }), call.callId)).call.callId).toBe(call.callId);
    const unknown = await refusal(service.getExecution(reader, none));
    expect(unknown).toEqual({ code: "execution_not_found", message: "there is no such execution", details: undefined, executionId: undefined });
    for (const other of [asked({ project: "office", scopes: reader.principal.scopes }), asked({ tenant: "other", scopes: new Set(["*"]) })]) {
      expect(await refusal(service.getExecution(other, call.callId))).toEqual(unknown);
      expect(await refusal(service.listEvents(other, call.callId, 0, 10))).toEqual(unknown);
      expect(await refusal(service.cancel(other, call.callId))).toEqual(unknown);
      expect(await refusal(service.resolve(other, call.callId, { verdict: "fail" }))).toEqual(unknown);
    }
  });

  test.each<[string, (corridor: Corridor, callId: string) => Promise<unknown>, string]>([
    ["read", ({ service }, id) => service.getExecution(asked(), id), "calls:read"],
    ["its events", ({ service }, id) => service.listEvents(asked(), id, 0, 10), "calls:read"],
    ["list", ({ service }) => service.listExecutions(asked(), { limit: 10 }), "calls:read"],
    ["cancel", ({ service }, id) => service.cancel(asked(), id), "calls:cancel"],
    ["resolve", ({ service }, id) => service.resolve(asked(), id, { verdict: "fail" }), "approvals:decide"],
  ])("%s needs its scope, and says which", async (_, ask, scope) => {
    const { call } = await corridor.invoke();
    expect(await refusal(ask(corridor, call.callId))).toMatchObject({ code: "forbidden", details: { missing_scope: scope } });
    expect((await corridor.audit())[0]).toMatchObject({ errorCode: "forbidden", details: { missing_scope: scope } });
  });

  test("a list holds the own project's calls, and none where another project is asked for", async () => {
    const { call } = await corridor.invoke();
    const office = asked({ project: "office", scopes: new Set(["tools:invoke", "calls:read"]) });
    const other = await corridor.invoke({}, office);
    const ids = async (by: typeof reader, project?: string): Promise<string[]> =>
      (await corridor.service.listExecutions(by, { limit: 10, ...(project === undefined ? {} : { project }) })).items.map(({ callId }) => callId);
    expect(await ids(reader)).toEqual([call.callId]);
    expect([await ids(reader, "office"), await ids(reader, "nowhere")]).toEqual([[], []]);
    expect(await ids(office)).toEqual([other.call.callId]);
    const admin = asked({ scopes: new Set(["*"]) });
    expect((await ids(admin)).toSorted()).toEqual([call.callId, other.call.callId].toSorted());
    expect(await ids(admin, "office")).toEqual([other.call.callId]);
    expect(await ids(asked({ tenant: "other", scopes: new Set(["*"]) }))).toEqual([]);
  });

  test("one in full: attempts, late results and events beside it", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke();
    worker.say(accepted(call.callId));
    await corridor.clock.pass(10_000);
    worker.say(result(call.callId));
    await settled();
    const detail = await corridor.service.getExecution(reader, call.callId);
    expect(detail.call.state).toBe("indeterminate");
    expect(detail.attempts).toMatchObject([{ fence: 1, workerId: "w1", acceptedAt: 1_000_000, endedAt: 1_010_000, endReason: "lease_expired" }]);
    expect(detail.lateResults).toMatchObject([{ fence: 1, status: "succeeded", outputJson: '"done"' }]);
    expect(detail.events.map(({ type }) => type)).toEqual(["requested", "queued", "dispatched", "indeterminate"]);
    expect((await corridor.service.listEvents(reader, call.callId, 2, 1)).map(({ seq }) => seq)).toEqual([3]);
  });
});

describe("cancel", () => {
  test("of a queued call ends it, and answers when that is stored", async () => {
    const { call } = await corridor.invoke();
    const { call: ended, stopping } = await corridor.service.cancel(reader, call.callId);
    expect([ended.state, stopping]).toEqual(["cancelled", false]);
    expect(await corridor.ledger.getCall("acme", call.callId)).toMatchObject({ state: "cancelled", cancelRequestedBy: "user:ann" });
  });

  test("of a running call asks its worker, and says that it is stopping; again, it changes nothing", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke();
    for (const message of [accepted(call.callId), started(call.callId)]) worker.say(message);
    expect(await corridor.service.cancel(reader, call.callId)).toMatchObject({ stopping: true, call: { state: "running", stopReason: "cancel" } });
    expect(await corridor.service.cancel(operator, call.callId)).toMatchObject({ stopping: true, call: { cancelRequestedBy: "user:ann" } });
    await settled();
    expect(worker.words().filter((words) => words.startsWith("cancel"))).toEqual([`cancel ${call.callId}#1 cancel`]);
  });

  test("of a call that has ended answers with its end", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke();
    worker.say(result(call.callId));
    await settled();
    expect(await corridor.service.cancel(reader, call.callId)).toMatchObject({ stopping: false, call: { state: "succeeded", cancelRequestedAt: null } });
  });

  test("of a call whose end is unknown is a conflict that says what to do", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke();
    worker.say(accepted(call.callId));
    await corridor.clock.pass(10_000);
    expect(await refusal(corridor.service.cancel(reader, call.callId))).toMatchObject({ code: "conflict", executionId: call.callId, details: { status: "indeterminate" } });
  });

  test("does not answer with an end that the ledger cannot take", async () => {
    const { call } = await corridor.invoke();
    corridor.ledger.full = true;
    const answer = corridor.service.cancel(reader, call.callId);
    await settled();
    await corridor.clock.pass(30_000);
    expect(await answer).toMatchObject({ stopping: true, call: { state: "queued" } });
  });
});

describe("resolve", () => {
  async function parked(): Promise<{ callId: string; say: (message: Parameters<ReturnType<Corridor["worker"]>["say"]>[0]) => void }> {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke();
    worker.say(accepted(call.callId));
    await corridor.clock.pass(10_000);
    return { callId: call.callId, say: (message) => worker.say(message) };
  }

  test("confirm with a result: succeeded, stored with who said so", async () => {
    const { callId } = await parked();
    const call = await corridor.service.resolve(operator, callId, { verdict: "confirm", outputJson: '{"id":7}', comment: "asked the bank" });
    expect(call).toMatchObject({ state: "succeeded", outputJson: '{"id":7}', outputBytes: 8 });
    expect((await corridor.audit())[0]).toMatchObject({
      action: "call.resolved",
      status: "succeeded",
      approval: { by: ["user:op"], at: 1_010_000 },
      details: { kind: "resolve", verdict: "confirm", comment: "asked the bank" },
    });
  });

  test("confirm without one takes the late result that there is, and asks for one where there is none", async () => {
    const { callId, say } = await parked();
    expect(await refusal(corridor.service.resolve(operator, callId, { verdict: "confirm" }))).toMatchObject({ code: "invalid_input", executionId: callId, details: { fields: [{ pointer: "/output", keyword: "required", message: expect.any(String) }] } });
    say(result(callId, 1, '{"late":true}'));
    await settled();
    expect(await corridor.service.resolve(operator, callId, { verdict: "confirm" })).toMatchObject({ state: "succeeded", outputJson: '{"late":true}' });
  });

  test("a result over the call's bound, or too deep, is none", async () => {
    const { callId } = await parked();
    for (const outputJson of [`"${"x".repeat(1_048_575)}"`, `${"[".repeat(65)}${"]".repeat(65)}`]) {
      expect(await refusal(corridor.service.resolve(operator, callId, { verdict: "confirm", outputJson }))).toMatchObject({ code: "invalid_input" });
    }
    expect((await corridor.ledger.getCall("acme", callId))?.state).toBe("indeterminate");
  });

  test("retry: queued again, answered when that is stored, and audited", async () => {
    const { callId } = await parked();
    corridor.ledger.full = true;
    let answered = false;
    const answer = corridor.service.resolve(operator, callId, { verdict: "retry" });
    void answer.then(() => (answered = true));
    await corridor.clock.pass(1_000);
    expect(answered).toBe(false);
    corridor.ledger.full = false;
    await corridor.clock.pass(500);
    expect(await answer).toMatchObject({ state: "queued", attempt: 2, fence: 2, error: null });
    await settled();
    expect((await corridor.audit()).find(({ action }) => action === "call.retried")).toMatchObject({ approval: { by: ["user:op"] }, details: { kind: "resolve", verdict: "retry" } });
  });

  test("fail: failed", async () => {
    const { callId } = await parked();
    expect(await corridor.service.resolve(operator, callId, { verdict: "fail" })).toMatchObject({ state: "failed", error: { code: "indeterminate" } });
  });

  test("a call that is not parked, and one that somebody else resolved first, are conflicts", async () => {
    const { call } = await corridor.invoke();
    expect(await refusal(corridor.service.resolve(operator, call.callId, { verdict: "fail" }))).toMatchObject({ code: "conflict", details: { status: "queued" } });
    const { callId } = await parked();
    const outcomes = await Promise.allSettled([
      corridor.service.resolve(operator, callId, { verdict: "fail" }),
      corridor.service.resolve(operator, callId, { verdict: "retry" }),
    ]);
    expect(outcomes).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason: { code: "conflict" } }]);
  });
});

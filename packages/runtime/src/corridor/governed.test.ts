// Rules before any work: denials with their row, obligations, counts, brakes, routing outcomes that people are asked about, and who may run a tool.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { at0 } from "../../../../test/support/calls.ts";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { admin, ask, deny, Governed, voter } from "../../../../test/support/governed.ts";
import { HandStream } from "../../../../test/support/hand-stream.ts";
import { register } from "../../../../test/support/hand-hub.ts";

let house: Governed;
const operator = asked({ tenant: "platform", name: "user:operator", scopes: new Set(["*"]) });
const ops = voter("olga", "ops");

beforeEach(async () => {
  house = await Governed.open();
});
afterEach(() => house.close());

async function only() {
  const rows = await house.rows();
  expect(rows).toHaveLength(1);
  return house.ledger.getCall("acme", rows[0]?.callId ?? "");
}

describe("denials", () => {
  test("a rule that needs no arguments denies before the input is looked at, and leaves a row, an event and an audit record", async () => {
    await house.policy({ name: "closed", match: { tools: ["pay"] }, then: deny("closed today") });
    const w1 = house.worker("w1");
    const no = await refusal(house.invoke({ input: { nonsense: true }, idempotencyKey: "k1" }));
    expect(no).toMatchObject({ code: "forbidden", message: "denied by policy: closed today", details: { policy: "closed@1.0.0", level: "tenant" } });
    const call = await only();
    expect(call).toMatchObject({ callId: no.executionId, state: "denied", inputJson: null, idempotencyKey: null, decision: { outcome: "deny", rules: [{ policy: "closed", version: "1.0.0", outcome: "deny" }] } });
    expect((await house.audit())[0]).toMatchObject({ action: "call.denied", errorCode: "forbidden", policy: { decision: "deny", ids: ["closed@1.0.0"] } });
    expect((await house.eventsOf(no.executionId ?? "")).map(([type]) => type)).toEqual(["requested", "denied"]);
    expect(w1.words()).toEqual(["registered"]);
  });

  test("one that reads arguments denies after the input is valid", async () => {
    await house.policy({ name: "large", when: "args.amount > 10.0", then: deny("too large") });
    expect((await refusal(house.invoke({ input: { amount: "11" } }))).code).toBe("invalid_input");
    expect(await house.rows()).toHaveLength(0);
    expect((await refusal(house.invoke({ input: { amount: 11 } }))).message).toBe("denied by policy: too large");
    expect((await house.invoke({ input: { amount: 9 } })).call.state).toBe("queued");
  });

  test("the platform's denial in production holds over a project's allow, and is named", async () => {
    await house.policy({ name: "no-shell", level: "platform", match: { tools: ["pay"], environments: ["production"] }, then: deny("not in production") }, operator);
    await house.policy({ name: "open", level: "project", project: "shop", match: { tools: ["pay"] }, then: { decision: "allow", reason: "ours" } });
    expect(await refusal(house.invoke())).toMatchObject({ code: "forbidden", details: { policy: "no-shell@1.0.0", level: "platform" } });
    await house.service.putProject(admin, "shop", "staging");
    expect((await house.invoke()).call.state).toBe("queued");
  });

  test("a level that is closed by default denies what no rule of it allows", async () => {
    await house.service.setPolicyDefault(admin, "", "deny");
    expect(await refusal(house.invoke())).toMatchObject({ code: "forbidden" });
    await house.policy({ name: "open", match: { tools: ["pay"] }, then: { decision: "allow", reason: "needed" } });
    expect((await house.invoke()).call.state).toBe("queued");
  });

  test("a rule on trial is recorded and changes nothing", async () => {
    await house.policy({ name: "trial", mode: "observe", then: deny("would be closed") });
    const { call } = await house.invoke();
    expect(call).toMatchObject({ state: "queued", decision: { outcome: "allow", rules: [{ policy: "trial", outcome: "deny", observed: true }] } });
  });

  test("policies that cannot be read deny everything, as policy_error", async () => {
    await house.runtime.policies.load({ ...empty, policies: async () => Promise.reject(new Error("no disk")) });
    expect(await refusal(house.invoke())).toMatchObject({ code: "policy_error" });
    expect(await only()).toMatchObject({ state: "denied" });
  });

  test("a rule by the time of day sees the runtime's clock", async () => {
    // at0 is 00:16:40 UTC.
    await house.policy({ name: "night", when: "now.getHours() < 1", then: deny("at night nobody pays") });
    expect((await refusal(house.invoke())).code).toBe("forbidden");
    await house.pass(3_600_000);
    expect((await house.invoke()).call.state).toBe("queued");
  });

  test("a tool that is disabled in the project", async () => {
    await house.service.enableTool(admin, "shop", "pay", false);
    expect(await refusal(house.invoke())).toMatchObject({ code: "forbidden", details: { reason: "tool_disabled", project: "shop" } });
    expect(await only()).toMatchObject({ state: "denied" });
  });
});

const empty = { tenants: async () => [], projects: async () => [], policyDefaults: async () => [], policies: async () => [] };

describe("obligations", () => {
  test("time and size are cut to what the rules leave, and recorded", async () => {
    await house.policy({ name: "short", match: { tools: ["pay"] }, then: { decision: "allow", reason: "quickly", obligations: { limits: { timeout: "1s", output_bytes: 1_024 } } } });
    const { call } = await house.invoke();
    expect(call).toMatchObject({ timeoutMs: 1_000, resultBytesMax: 1_024, decision: { obligations: { limits: { timeoutMs: 1_000, outputBytes: 1_024 } } } });
  });

  test("what an application's worker cannot be held to is refused, not let by", async () => {
    await house.policy({ name: "boxed", match: { tools: ["pay"] }, then: { decision: "allow", reason: "boxed", obligations: { sandbox: "microvm" } } });
    expect(await refusal(house.invoke())).toMatchObject({ code: "sandbox_unavailable", details: { obligations: ["sandbox microvm"] } });
  });

  test("those of changed arguments hold for what runs", async () => {
    await house.policy({ name: "asked", when: "args.amount > 10.0", then: ask("ops") });
    await house.policy({ name: "small", match: { tools: ["pay"] }, when: "args.amount <= 10.0", then: { decision: "allow", reason: "small", obligations: { limits: { timeout: "2s" } } } });
    const { callId, approvalId } = await house.parked(50);
    await house.vote(ops, approvalId, { args: { amount: 7 } });
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ timeoutMs: 2_000, effectiveArgsJson: '{"amount":7}' });
  });
});

describe("rules that count", () => {
  test("three an hour, also when they come at once, and the window moves", async () => {
    await house.policy({ name: "few", when: 'calls.window("1h") >= 3', then: deny("three an hour") });
    const all = await Promise.allSettled([1, 2, 3, 4, 5].map((amount) => house.invoke({ input: { amount } })));
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"]);
    await house.pass(3_600_000);
    expect((await house.invoke()).call.state).toBe("queued");
  });

  test("what was denied does not count, and another's calls do not", async () => {
    await house.policy({ name: "few", when: 'calls.window("1h") >= 1', then: deny("one an hour") });
    await house.key("user:ben");
    await house.grant(["*"], "user:ben");
    await house.invoke();
    expect((await refusal(house.invoke())).code).toBe("forbidden");
    expect((await house.invoke({}, asked({ name: "user:ben" }))).call.state).toBe("queued");
    await house.pass(3_599_999);
    expect((await refusal(house.invoke())).code).toBe("forbidden");
    await house.pass(1);
    expect((await house.invoke()).call.state).toBe("queued");
  });
});

describe("at dispatch", () => {
  test("a grant that ran out while the call waited: it does not run", async () => {
    const { call } = await house.invoke();
    await house.service.revokeGrant(admin, "grant_1");
    const w1 = house.worker("w1");
    await house.settle();
    expect(w1.words()).toEqual(["registered"]);
    expect(await house.ledger.getCall("acme", call.callId)).toMatchObject({ state: "denied", error: { code: "forbidden", details: { missing: ["tool:invoke:pay"] } } });
  });

  test("a key that expires while the call waits", async () => {
    await house.ledger.commit({ writes: [{ op: "revoke_key", tenant: "acme", keyId: "key_of_user:ann", at: at0 }] });
    const row = { tenant: "acme", keyId: "key_2", hash: "h2", label: "", principal: "user:ann", project: "shop", scopes: ["tools:invoke"], roles: [], createdAt: at0, expiresAt: at0 + 2_000, revokedAt: null, lastUsedAt: null } as const;
    await house.ledger.commit({ writes: [{ op: "insert_key", row }] });
    house.runtime.directory.changed("acme");
    const { call } = await house.invoke();
    await house.pass(2_000);
    house.worker("w1");
    await house.settle();
    expect(await house.state(call.callId)).toBe("denied");
  });

  test("a denial published while the call waited", async () => {
    const { call } = await house.invoke();
    await house.policy({ name: "stop", then: deny("stopped") });
    const w1 = house.worker("w1");
    await house.settle();
    expect(w1.words()).toEqual(["registered"]);
    expect(await house.state(call.callId)).toBe("denied");
  });

  test("what is still allowed runs, in the order of the line", async () => {
    const first = await house.invoke();
    const second = await house.invoke();
    await house.policy({ name: "watch", match: { tools: ["pay"] }, then: { decision: "allow", reason: "fine" } });
    const w1 = house.worker("w1", { tools: { pay: 1 } });
    await house.settle();
    expect(w1.words()).toEqual(["registered", `invoke ${first.call.callId}#1`]);
    expect(await house.state(second.call.callId)).toBe("queued");
  });
});

describe("the brakes", () => {
  test("freeze stops dispatch, not admission, cancel or votes; unfreeze goes on", async () => {
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("ops") });
    const w1 = house.worker("w1");
    await house.service.freeze(admin, "", "incident 7");
    const { call } = await house.invoke();
    const parked = await house.parked();
    await house.vote(ops, parked.approvalId);
    expect([await house.state(call.callId), await house.state(parked.callId), w1.words().length]).toEqual(["queued", "queued", 1]);
    const gone = await house.invoke();
    await house.service.cancel(asked({ scopes: new Set(["calls:cancel"]) }), gone.call.callId);
    expect(await house.state(gone.call.callId)).toBe("cancelled");
    // Far beyond the queue's deadline: it was not the call's fault.
    await house.pass(3_600_000);
    w1.say({ type: "heartbeat", load: 0, inFlight: [] });
    expect(await house.state(call.callId)).toBe("queued");
    expect(await house.service.unfreeze(admin, "")).toEqual({ lifted: true });
    await house.settle();
    expect(w1.words().filter((word) => word.startsWith("invoke"))).toHaveLength(2);
  });

  test("of one tool alone, and over a restart", async () => {
    await house.tool({ name: "ship" });
    await house.service.freeze(admin, "pay", "");
    const pay = await house.invoke();
    const ship = await house.invoke({ tool: "ship" });
    await house.kill();
    house = await Governed.open({}, house);
    house.worker("w1", { tools: { pay: 5, ship: 5 } });
    await house.settle();
    expect([await house.state(pay.call.callId), await house.state(ship.call.callId)]).toEqual(["queued", "dispatched"]);
  });
});

describe("routing outcomes that people are asked about", () => {
  test("nobody serves the tool: people are asked within the queue's wait, and a yes queues it again", async () => {
    await house.policy({ name: "ask-ops", match: { triggers: ["dispatch.no_handler"] }, then: ask("ops") });
    const { call } = await house.invoke();
    await house.pass(30_000);
    const parked = await house.ledger.getCall("acme", call.callId);
    expect(parked).toMatchObject({ state: "awaiting_approval", routingOutcome: "no_handler" });
    const w1 = house.worker("w1");
    await house.vote(ops, parked?.approvalId ?? "");
    expect(w1.words()).toEqual(["registered", `invoke ${call.callId}#1`]);
  });

  test("where no rule names the outcome, it is what it is", async () => {
    await house.policy({ name: "ask-ops", match: { tools: ["ship"], triggers: ["dispatch.no_handler"] }, then: ask("ops") });
    const { call } = await house.invoke();
    await house.pass(30_000);
    expect(await house.ledger.getCall("acme", call.callId)).toMatchObject({ state: "failed", error: { code: "no_handler" } });
  });

  test("an unknown end: people say whether it may run again, or that it failed", async () => {
    await house.policy({ name: "unknown", match: { triggers: ["dispatch.lease_expired", "dispatch.indeterminate"] }, then: ask("ops") });
    const ends: (string | undefined)[] = [];
    for (const decision of ["approve", "reject"] as const) {
      const w1 = house.worker(`w-${decision}`);
      const { call } = await house.invoke();
      w1.say({ type: "accepted", callId: call.callId, fence: 1 });
      w1.close("the network is gone");
      await house.pass(16_000);
      const lost = await house.ledger.getCall("acme", call.callId);
      expect(lost?.state).toBe("indeterminate");
      expect((await house.approval(lost?.approvalId ?? "")).approval).toMatchObject({ state: "pending", subject: { kind: "resolve" } });
      await house.vote(ops, lost?.approvalId ?? "", { decision });
      ends.push(await house.state(call.callId));
    }
    expect(ends).toEqual(["queued", "failed"]);
  });
});

describe("integrity of who runs a tool", () => {
  const guarded = { spec: { integrity: { identities: ["service:payroll"], image_digests: ["sha256:" + "a".repeat(64)] } } };

  function worker(id: string, principal: string, imageDigest: string): HandStream {
    const stream = new HandStream();
    house.runtime.driver.attach(stream, { tenant: "acme", principal });
    stream.say({ ...register(id, { tools: { vault: 5 } }), imageDigest });
    return stream;
  }

  test("a rogue worker that registers first takes nothing; the right one still gets the call", async () => {
    await house.tool({ name: "vault", ...guarded });
    const rogue = worker("rogue", "service:other", "sha256:" + "a".repeat(64));
    const wrongImage = worker("old", "service:payroll", "sha256:" + "b".repeat(64));
    await house.settle();
    const { call } = await house.invoke({ tool: "vault" });
    await house.settle();
    expect([rogue.words(), wrongImage.words()]).toEqual([["registered"], ["registered"]]);
    const right = worker("right", "service:payroll", "sha256:" + "a".repeat(64));
    await house.settle();
    expect(right.words()).toEqual(["registered", `invoke ${call.callId}#1`]);
    const records = (await house.audit()).filter(({ action }) => action === "worker.refused");
    expect(records).toMatchObject([
      { principal: "service:payroll", errorCode: "integrity_violation", details: { handlers: ["vault@1.0.0"] } },
      { principal: "service:other", errorCode: "integrity_violation" },
    ]);
  });

  test("with none but rogues, nobody serves it", async () => {
    await house.tool({ name: "vault", ...guarded });
    worker("rogue", "service:other", "");
    const { call } = await house.invoke({ tool: "vault" });
    await house.pass(30_000);
    expect(await house.ledger.getCall("acme", call.callId)).toMatchObject({ state: "failed", error: { code: "no_handler" } });
  });

  test("it is asked again when a call comes, for a tool that was registered after the worker", async () => {
    const early = worker("early", "service:other", "");
    await house.settle();
    await house.tool({ name: "vault", ...guarded });
    await house.invoke({ tool: "vault" });
    await house.settle();
    expect(early.words()).toEqual(["registered"]);
  });
});

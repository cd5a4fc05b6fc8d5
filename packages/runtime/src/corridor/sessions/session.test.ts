// A session from its first message to its end: model, calls on the one pipeline, people, cancels, and a process that dies in between.
import { afterEach, describe, expect, test } from "vitest";
import { asked, refusal } from "../../../../../test/support/corridor.ts";
import { admin, ask, voter } from "../../../../../test/support/governed.ts";
import type { HandStream } from "../../../../../test/support/hand-stream.ts";
import { binding, call, limits, Sessions, talker } from "../../../../../test/support/sessions.ts";
import type { Approval } from "../../policy/approval/types.ts";
import type { NewVote } from "../../service-governance.ts";
import type { Scope } from "../../tenancy/types.ts";
import type { AgentSpec } from "../../registry/agents/types.ts";
import type { HistoryItem } from "../../session/types.ts";

let house: Sessions;
afterEach(() => house.close());

describe("a turn", () => {
  test("without tools: the model answers, and the session waits for input", async () => {
    house = await Sessions.withScript([{ text: "Hello Ann." }]);
    const { session } = await house.start("hello");
    await house.quiet();
    expect(house.logged.filter((line) => line.includes("session"))).toEqual([]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", turn: 1, reason: { code: "end_turn" }, historyLength: 2, replica: null });
    expect(await house.toldWords(session.sessionId)).toEqual(["session.started", "turn.started", "message", "assistant", "turn.ended"]);
    expect((await house.service.getSession(talker, session.sessionId)).reply).toBe("Hello Ann.");
  });

  test("with two tool steps: both calls run, under ids that differ by their step", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { calls: [call({ amount: 5 })] }, { text: "Paid twice." }]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay twice");
    const ids: string[] = [];
    for (let step = 1; step <= 2; step++) {
      await house.quiet();
      const invoke = w1.last("invoke");
      if (invoke === undefined) throw new Error("nothing was invoked");
      ids.push(invoke.callId);
      w1.say({ type: "accepted", callId: invoke.callId, fence: invoke.fence });
      await house.quiet();
      w1.say({ type: "started", callId: invoke.callId, fence: invoke.fence });
      w1.say({ type: "result", callId: invoke.callId, fence: invoke.fence, status: "succeeded", outputJson: `{"step":${step}}`, usage: { durationMs: 3 } });
      await house.quiet();
    }
    expect(ids).toEqual([`${session.sessionId}:agv_helper_1_0_0:t1.1:0`, `${session.sessionId}:agv_helper_1_0_0:t1.2:0`]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", usage: { modelCalls: 3, toolCalls: 2 } });
    const history = await house.history(session.sessionId);
    expect(history.map(({ type }) => type)).toEqual(["user", "assistant", "results", "assistant", "results", "assistant"]);
    expect(history[2]).toMatchObject({ results: [{ index: 0, told: "row", status: "succeeded", text: '{"step":1}', isError: false, durationMs: 3 }], settled: [0] });
    expect(house.requests.map(({ position }) => position)).toEqual([0, 1, 2]);
  });
});

/** The worker takes what it was sent last, enters it and ends it. */
function finish(w: HandStream, outputJson: string): void {
  const invoke = w.last("invoke");
  if (invoke === undefined) throw new Error("nothing was invoked");
  const { callId, fence } = invoke;
  w.say({ type: "accepted", callId, fence });
  w.say({ type: "started", callId, fence });
  w.say({ type: "result", callId, fence, status: "succeeded", outputJson, usage: { durationMs: 3 } });
}

async function decide(by: ReturnType<typeof voter>, approval: Approval | undefined, vote: Omit<NewVote, "argsHash">): Promise<void> {
  if (approval === undefined) throw new Error("nobody is asked");
  await house.service.vote(by, approval.approvalId, { argsHash: approval.argsHash, ...vote });
}

const resultsOf = (history: readonly HistoryItem[]) => history.flatMap((item) => (item.type === "results" ? item.results : []));

describe("what the model asks for wrongly", () => {
  test("an unknown tool, cut arguments and arguments that do not fit are told in their slots, and the good call runs", async () => {
    house = await Sessions.withScript([
      { calls: [{ tool: "pai", input: {} }, { tool: "pay", arguments_text: '{"amount":' }, { tool: "pay", input: { amount: "5" } }, { tool: "pay", input: { amount: 5 } }] },
      { text: "done" },
    ]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    finish(w1, "true");
    await house.quiet();
    const results = resultsOf(await house.history(session.sessionId));
    expect(results.map(({ index, status, errorCode, told }) => [index, status, errorCode, told])).toEqual([
      [0, "failed", "tool_not_found", "refused"],
      [1, "failed", "invalid_input", "refused"],
      [2, "failed", "invalid_input", "refused"],
      [3, "succeeded", null, "row"],
    ]);
    expect(await house.rows()).toHaveLength(1);
    expect((await house.session(session.sessionId)).state).toBe("awaiting_input");
  });

  test("a tool version that nobody registered is told as not found, and no worker hears of it", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "done" }], { tools: [binding("pay", { version: "9.9.9" })] });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId))).toMatchObject([{ status: "failed", errorCode: "tool_not_found" }]);
    expect(w1.last("invoke")).toBeUndefined();
    expect((await house.session(session.sessionId)).state).toBe("awaiting_input");
  });
});

describe("cancel", () => {
  test("of a turn while a call runs: a real result within the grace wins", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "never" }]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    const { callId, fence } = w1.last("invoke") ?? { callId: "", fence: 0 };
    w1.say({ type: "accepted", callId, fence });
    await house.quiet();
    w1.say({ type: "started", callId, fence });
    await house.service.cancelSession(talker, session.sessionId, { scope: "turn" });
    await house.quiet();
    expect(w1.last("cancel")).toMatchObject({ callId });
    await house.clock.pass(49);
    w1.say({ type: "result", callId, fence, status: "succeeded", outputJson: '"paid"', usage: { durationMs: 3 } });
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId))).toMatchObject([{ told: "row", status: "succeeded", text: '"paid"' }]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "cancelled" } });
    expect(house.requests).toHaveLength(1);
  });

  test("after the grace the model is told of a cancelled call; its row goes on, and its real end settles it", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "again?" }]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    const { callId, fence } = w1.last("invoke") ?? { callId: "", fence: 0 };
    w1.say({ type: "accepted", callId, fence });
    await house.quiet();
    w1.say({ type: "started", callId, fence });
    await house.service.cancelSession(talker, session.sessionId, { scope: "turn", reason: "wrong amount" });
    await house.quiet();
    await house.clock.pass(50);
    await house.quiet();
    expect((await house.session(session.sessionId)).state).toBe("awaiting_tool");
    await house.clock.pass(1);
    await house.quiet();
    const [told] = resultsOf(await house.history(session.sessionId));
    expect(told).toMatchObject({ told: "synthetic", status: "cancelled", text: "[Tool execution cancelled]\ntool call cancelled", durationMs: 0, cancelledBy: "runtime", callId });
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "cancelled", message: "cancelled by user:ann: wrong amount" } });
    const open = await house.ledger.getCall("acme", callId);
    expect(open).toMatchObject({ state: "running", fence });
    expect(open?.cancelRequestedAt).not.toBeNull();
    w1.say({ type: "result", callId, fence, status: "succeeded", outputJson: '"paid"', usage: { durationMs: 3 } });
    await house.quiet();
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ state: "succeeded" });
    expect(resultsOf(await house.history(session.sessionId))).toMatchObject([{ told: "synthetic" }]);
    // The next message meets a history that a strict provider takes.
    await house.service.sendMessage(talker, session.sessionId, { text: "and now?" });
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", turn: 2, reason: { code: "end_turn" } });
    const words = await house.toldWords(session.sessionId);
    expect(words.filter((word) => word === "tool.started")).toHaveLength(1);
    expect(words.filter((word) => word === "tool.completed")).toHaveLength(1);
  });

  test("while the model is asked: the turn ends, and nothing more is asked", async () => {
    house = await Sessions.withScript([{ text: "slow", delay_ms: 5_000 }]);
    const { session } = await house.start("hello");
    await house.quiet();
    await house.service.cancelSession(talker, session.sessionId, { scope: "turn" });
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "cancelled" } });
    expect((await house.history(session.sessionId)).map(({ type }) => type)).toEqual(["user"]);
  });

  /** Two calls that run, and what the model says next. */
  async function twoRunning(spec: Partial<AgentSpec> = {}) {
    house = await Sessions.withScript([{ calls: [call({ amount: 1 }), call({ amount: 2 })] }, { text: "go on" }], spec);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    const ids = w1.sent.flatMap((message) => (message.type === "invoke" ? [message] : []));
    for (const { callId, fence } of ids) w1.say({ type: "accepted", callId, fence });
    await house.quiet();
    for (const { callId, fence } of ids) w1.say({ type: "started", callId, fence });
    await house.quiet();
    return { w1, session, ids };
  }

  test("of a batch: both calls are told as cancelled after one grace, and the turn goes on with that", async () => {
    const { session } = await twoRunning();
    await house.service.cancelSession(talker, session.sessionId, { scope: "batch" });
    await house.quiet();
    await house.clock.pass(51);
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId)).map(({ told, status }) => [told, status])).toEqual([["synthetic", "cancelled"], ["synthetic", "cancelled"]]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" }, usage: { modelCalls: 2 } });
  });

  test("of one call: the other one is waited for", async () => {
    const { w1, session, ids } = await twoRunning();
    await house.service.cancelSession(talker, session.sessionId, { scope: "call", callId: ids[0]?.callId ?? "" });
    await house.quiet();
    await house.clock.pass(51);
    await house.quiet();
    expect((await house.session(session.sessionId)).state).toBe("awaiting_tool");
    expect(w1.sent.flatMap((message) => (message.type === "cancel" ? [message.callId] : []))).toEqual([ids[0]?.callId]);
    const { callId, fence } = ids[1] ?? { callId: "", fence: 0 };
    w1.say({ type: "result", callId, fence, status: "succeeded", outputJson: '"two"', usage: { durationMs: 3 } });
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId)).map(({ told, status }) => [told, status])).toEqual([["synthetic", "cancelled"], ["row", "succeeded"]]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" } });
    expect((await refusal(house.service.cancelSession(talker, session.sessionId, { scope: "call", callId: "exec_1" }))).code).toBe("execution_not_found");
  });

  test("the turn's time runs out while calls run: they are cancelled, and the turn halts", async () => {
    const { session } = await twoRunning({ limits: { ...limits, wallClockMsMax: 8_000 } });
    await house.clock.pass(8_000);
    await house.quiet();
    await house.clock.pass(51);
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "limit_wall_clock" }, usage: { modelCalls: 1 } });
  });

  test("of the session ends it, its open approval included; later words are refused", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }]);
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    expect((await house.session(session.sessionId)).state).toBe("awaiting_approval");
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    await house.service.cancelSession(talker, session.sessionId, { scope: "session" });
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "cancelled", reason: { code: "cancelled" } });
    expect((await house.ledger.approval("acme", approval?.approvalId ?? ""))?.approval.state).toBe("cancelled");
    expect((await house.rows())[0]).toMatchObject({ state: "cancelled" });
    expect((await refusal(house.service.sendMessage(talker, session.sessionId, { text: "more" }))).code).toBe("conflict");
  });
});

describe("people", () => {
  test("two equal calls of one batch: only the one that is approved runs, and the session goes on when both are answered", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 }), call({ amount: 1_500 })] }, { text: "one paid" }]);
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay twice");
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_approval", replica: null });
    expect(house.runtime.sessions.count).toBe(0);
    const open = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    const second = open.find(({ subject }) => subject.callId?.endsWith(":1"));
    const first = open.find(({ subject }) => subject.callId?.endsWith(":0"));
    await decide(voter("fay", "finance"), second, { decision: "approve" });
    await house.quiet();
    finish(w1, '"receipt"');
    await house.quiet();
    expect((await house.rows()).map(({ callId, state }) => `${callId.at(-1)} ${state}`).toSorted()).toEqual(["0 awaiting_approval", "1 succeeded"]);
    await decide(voter("fay", "finance"), first, { decision: "reject", comment: "once is enough" });
    await house.quiet();
    const results = resultsOf(await house.history(session.sessionId));
    expect(results.map(({ status, errorCode }) => [status, errorCode])).toEqual([["denied", "approval_denied"], ["succeeded", null]]);
    expect(results[0]?.text).toContain("once is enough");
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", usage: { modelCalls: 2, toolCalls: 2 } });
  });

  test("a cancel that does not end the wait does not bring the session back again and again", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 }), call({ amount: 2_000 })] }, { text: "done" }]);
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    const { session } = await house.start("pay twice");
    await house.quiet();
    await house.service.cancelSession(talker, session.sessionId, { scope: "call", callId: `${session.sessionId}:agv_helper_1_0_0:t1.1:0` });
    await house.quiet();
    const { fence } = await house.session(session.sessionId);
    await house.pass(10_000);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_approval", fence });
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme", state: "pending" }, 10)).items;
    await decide(voter("fay", "finance"), approval, { decision: "reject", comment: "no" });
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId)).map(({ status }) => status)).toEqual(["cancelled", "denied"]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" } });
  });

  test("a rejection that fails ends the session", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }, { text: "never" }]);
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance", 1, { on_reject: "fail" }) });
    const { session } = await house.start("pay");
    await house.quiet();
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    await decide(voter("fay", "finance"), approval, { decision: "reject", comment: "no" });
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "failed", reason: { code: "approval_rejected" } });
    expect(house.requests).toHaveLength(1);
  });

  test("who changes the arguments is told to the model, with what ran", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }, { text: "paid less" }]);
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    await decide(voter("fay", "finance"), approval, { decision: "approve", args: { amount: 500 } });
    await house.quiet();
    finish(w1, '"receipt"');
    await house.quiet();
    const [told] = resultsOf(await house.history(session.sessionId));
    expect(told).toMatchObject({ status: "succeeded", editedBy: "user:fay", editedArgsJson: '{"amount":500}' });
    expect(told?.text).toContain('{"amount":500}');
  });

  test("an agent waits no longer than its manifest says, and then the turn halts", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }, { text: "never" }], { limits: { ...limits, approvalWaitMsMax: 60_000 } });
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance", 1, { timeout: "24h" }) });
    const { session } = await house.start("pay");
    await house.quiet();
    await house.pass(60_001);
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "limit_approval_wait" } });
    expect(resultsOf(await house.history(session.sessionId))).toMatchObject([{ status: "denied", errorCode: "approval_expired" }]);
  });
});

describe("limits", () => {
  const loop = [{ calls: [call({ amount: 1 })] }, { calls: [call({ amount: 2 })] }, { calls: [call({ amount: 3 })] }, { text: "through" }];
  async function work(w1: HandStream, times: number): Promise<void> {
    for (let done = 0; done < times; done++) {
      finish(w1, "true");
      await house.quiet();
    }
  }

  test("the time in which people are waited for is nobody's time", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }, { text: "paid" }], { limits: { ...limits, wallClockMsMax: 8_000 } });
    await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    await house.pass(3_600_000);
    w1.say({ type: "heartbeat", inFlight: [], load: 0 });
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    await decide(voter("fay", "finance"), approval, { decision: "approve" });
    await house.quiet();
    finish(w1, '"receipt"');
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" } });
  });

  test.each([
    ["tokens", { tokensMax: 10 }],
    ["tool_calls", { toolCallsMax: 1 }],
  ] as const)("of %s halts, and every call has its result", async (name, change) => {
    house = await Sessions.withScript(loop.map((completion) => ({ ...completion, usage: { input_tokens: 6, output_tokens: 2 } })), { limits: { ...limits, ...change } });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("loop");
    await house.quiet();
    await work(w1, 1);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: `limit_${name}` } });
    const history = await house.history(session.sessionId);
    expect(history.filter(({ type }) => type === "results")).toHaveLength(history.filter(({ type }) => type === "assistant").length);
  });

  test("of steps halts, with a history that can be gone on with", async () => {
    house = await Sessions.withScript(loop, { limits: { ...limits, stepsMax: 2 } });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("loop");
    await house.quiet();
    await work(w1, 2);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "limit_steps" }, usage: { modelCalls: 2 } });
    expect(house.requests).toHaveLength(2);
  });

  test.each([
    ["approve", { code: "end_turn" }, 4],
    ["reject", { code: "limit_steps" }, 2],
  ] as const)("escalated: people %s one more budget, also after a restart", async (decision, reason, modelCalls) => {
    house = await Sessions.withScript(loop, { limits: { ...limits, stepsMax: 2, onLimit: "escalate" } });
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("loop");
    await house.quiet();
    await work(w1, 2);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_approval", replica: null });
    await house.kill();
    const before = house;
    house = await Sessions.withScript(loop, {}, before);
    await house.quiet();
    const [approval] = (await house.ledger.listApprovals({ tenant: "acme" }, 10)).items;
    expect(approval).toMatchObject({ subject: { kind: "limit", sessionId: session.sessionId }, tool: "limit.steps", state: "pending" });
    const ann = asked({ scopes: new Set(["approvals:decide"]) });
    expect((await refusal(decide(ann, approval, { decision: "approve" }))).details).toMatchObject({ reason: "requester_may_not_vote" });
    await decide(voter("olga", "ops"), approval, { decision });
    const w2 = house.worker("w2", { tools: { pay: 10 } });
    await house.quiet();
    if (decision === "approve") await work(w2, 1);
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason, usage: { modelCalls } });
  });
});

describe("talking", () => {
  test("a message that comes while tools run is heard before the next completion; one that comes later begins a turn", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "heard" }, { text: "again" }]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    await house.service.sendMessage(talker, session.sessionId, { text: "in euros", idempotencyKey: "m2" });
    expect((await house.service.sendMessage(talker, session.sessionId, { text: "in euros", idempotencyKey: "m2" })).replayed).toBe(true);
    finish(w1, "true");
    await house.quiet();
    expect((await house.history(session.sessionId)).map((item) => (item.type === "user" ? item.text : item.type))).toEqual(["pay", "assistant", "results", "in euros", "assistant"]);
    await house.service.sendMessage(talker, session.sessionId, { text: "thanks" });
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ turn: 2, state: "awaiting_input" });
    expect((await house.service.completeSession(talker, session.sessionId)).session.state).toBe("completed");
    expect((await refusal(house.service.sendMessage(talker, session.sessionId, { text: "more" }))).code).toBe("conflict");
  });

  test("a session does not outlive its deadline: a model that takes too long is not waited for", async () => {
    house = await Sessions.withScript([{ text: "slow", delay_ms: 60_000 }]);
    const { session } = await house.service.startSession(talker, { agent: "helper", message: "hello", deadlineMs: 10_000 });
    await house.quiet();
    await house.pass(10_000);
    await house.quiet();
    expect(await house.session(session.sessionId)).toMatchObject({ state: "failed", reason: { code: "deadline" } });
  });

  test("a session without a message waits for one", async () => {
    house = await Sessions.withScript([{ text: "hello" }]);
    const { session } = await house.start();
    await house.quiet();
    expect((await house.session(session.sessionId)).state).toBe("awaiting_input");
  });

  test("whoever lost every key has nothing run for it", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "no" }]);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start();
    await house.ledger.commit({ writes: [{ op: "revoke_key", tenant: "acme", keyId: "key_of_user:ann", at: house.clock.now() }] });
    house.runtime.directory.changed("acme");
    await house.ledger.commit({ writes: [{ op: "put_inbox", entry: { tenant: "acme", sessionId: session.sessionId, at: house.clock.now(), by: "user:ann", wish: { type: "message", text: "pay" }, idempotencyKey: null } }] });
    house.runtime.sessions.kick("acme", session.sessionId);
    await house.quiet();
    expect(resultsOf(await house.history(session.sessionId))).toMatchObject([{ status: "denied", errorCode: "forbidden", told: "row" }]);
    expect(w1.last("invoke")).toBeUndefined();
  });

  test("a session acts for whoever started it: nobody else speaks to it; to stop it takes the right to cancel calls", async () => {
    house = await Sessions.withScript([{ text: "hello" }]);
    const { session } = await house.start("hello");
    await house.quiet();
    const vic = (...scopes: readonly Scope[]) => asked({ name: "user:vic", keyId: "key_vic", scopes: new Set<Scope>(["sessions:run", ...scopes]) });
    expect(await refusal(house.service.sendMessage(vic(), session.sessionId, { text: "pay me" }))).toMatchObject({ code: "forbidden", details: { reason: "not_theirs" } });
    expect((await refusal(house.service.completeSession(vic(), session.sessionId))).code).toBe("forbidden");
    expect((await refusal(house.service.cancelSession(vic(), session.sessionId, { scope: "session" }))).code).toBe("forbidden");
    expect((await house.ledger.inbox("acme", session.sessionId, 0, 10)).map(({ by }) => by)).toEqual(["user:ann"]);
    expect((await house.audit())[0]).toMatchObject({ action: "request.refused", errorCode: "forbidden", principal: "user:vic" });
    await house.service.sendMessage(admin, session.sessionId, { text: "and you?" });
    await house.service.cancelSession(vic("calls:cancel"), session.sessionId, { scope: "session" });
    await house.quiet();
    expect((await house.session(session.sessionId)).state).toBe("cancelled");
  });

  test("an agent calls nothing beyond what its manifest permits, whoever it works for", async () => {
    house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "no" }], { permissions: ["tool:invoke:other"] });
    const { session } = await house.start("pay");
    await house.quiet();
    const results = resultsOf(await house.history(session.sessionId));
    expect(results).toMatchObject([{ status: "denied", errorCode: "forbidden" }]);
    expect(results[0]?.text).toContain("the manifest of the agent helper does not permit tool:invoke:pay");
  });
});

describe("a process that dies", () => {
  test("in the middle of a completion: the next one asks for it again, at once; what was recorded is not asked for", async () => {
    const script = [{ calls: [call({ amount: 5 })] }, { text: "paid", delay_ms: 5_000 }];
    house = await Sessions.withScript(script);
    const w1 = house.worker("w1", { tools: { pay: 10 } });
    const { session } = await house.start("pay");
    await house.quiet();
    finish(w1, "true");
    await house.quiet();
    expect(house.requests.map(({ position }) => position)).toEqual([0, 1]);
    const killed = house;
    // Nothing is said on the way out: the lease stands in the row.
    await killed.ledger.close();
    house = await Sessions.withScript(script, {}, killed);
    await house.quiet();
    await house.clock.pass(5_000);
    await house.quiet();
    expect(house.requests.map(({ position }) => position)).toEqual([1]);
    expect(await house.session(session.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" }, usage: { modelCalls: 2, toolCalls: 1 } });
    expect(await house.rows()).toHaveLength(1);
  });
});

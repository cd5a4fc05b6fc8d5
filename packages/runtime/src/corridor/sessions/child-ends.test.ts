// What becomes of a child session, and of whoever waits for it, when somebody cancels, time runs out, or the process dies in between.
import { afterEach, describe, expect, test } from "vitest";
import { asked } from "../../../../../test/support/corridor.ts";
import { askTool, Family, payNow } from "../../../../../test/support/families.ts";
import { ask as question } from "../../../../../test/support/governed.ts";
import { agentRow, call, talker } from "../../../../../test/support/sessions.ts";

let house: Family;
afterEach(() => house.close());

const desk = { agent: "desk", asks: ["specialist"], completions: [{ calls: [call({ message: "Pay Bob." }, askTool("specialist"))] }, { text: "Done." }] };
const specialist = { agent: "specialist", completions: [{ calls: [call({ amount: 500 })] }, { text: "Paid, receipt r-1." }] };

const resultsOf = async (sessionId: string) => (await house.history(sessionId)).flatMap((item) => (item.type === "results" ? item.results : []));
const stateOf = async (sessionId: string) => (await house.session(sessionId)).state;
const callOf = async (child: { readonly parentCallId: string }) => {
  const row = await house.ledger.getCall("acme", child.parentCallId);
  if (row === undefined) throw new Error("the call is not in the ledger");
  return row;
};

describe("a cancel", () => {
  test("of the parent's turn ends the child: the worker is told, the model hears a synthetic result, and the rows are the real ends", async () => {
    house = await Family.of([desk, specialist]);
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    const { callId, fence } = worker.last("invoke") ?? { callId: "", fence: 0 };
    worker.say({ type: "accepted", callId, fence });
    await house.quiet();
    worker.say({ type: "started", callId, fence });
    await house.quiet();
    await house.service.cancelSession(talker, parent.sessionId, { scope: "turn", reason: "enough" });
    await house.quiet();
    expect(worker.last("cancel")).toMatchObject({ callId, reason: "cancel" });
    await house.pass(51);
    await house.quiet();
    expect(await house.session(child.sessionId)).toMatchObject({ state: "cancelled", reason: { code: "cancelled", message: `cancelled by user:ann: the call ${child.parentCallId} was cancelled` } });
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "cancelled" } });
    expect(await resultsOf(parent.sessionId)).toMatchObject([{ told: "synthetic", status: "cancelled", cancelledBy: "runtime" }]);
    await house.quiet();
    expect(await callOf(child)).toMatchObject({ state: "cancelled", error: { details: { stop_confirmed: true } } });
  });

  test("inside the grace the real end is told: a child that waits for a person ends at once", async () => {
    house = await Family.of([desk, specialist]);
    await house.policy({ name: "large", match: { tools: ["pay"] }, when: "args.amount > 100.0", then: question("finance") });
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    expect(child.state).toBe("awaiting_approval");
    await house.service.cancelSession(talker, parent.sessionId, { scope: "turn" });
    for (let rounds = 0; rounds < 4; rounds++) await house.quiet();
    expect(await stateOf(child.sessionId)).toBe("cancelled");
    expect(await resultsOf(parent.sessionId)).toMatchObject([{ told: "row", status: "cancelled" }]);
    expect((await house.ledger.sessionApprovals("acme", child.sessionId)).map(({ outcome }) => outcome)).toEqual(["cancelled"]);
  });

  test("of the child alone is its caller's tool error, and the parent goes on", async () => {
    house = await Family.of([desk, specialist]);
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    await house.service.cancelSession(talker, child.sessionId, { scope: "session", reason: "not this one" });
    await house.pass(51);
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    expect(await stateOf(parent.sessionId)).toBe("awaiting_input");
    const [told] = await resultsOf(parent.sessionId);
    expect(told).toMatchObject({ status: "failed", isError: true });
    expect(told?.text).toContain("specialist@1.0.0 ended cancelled: cancelled by user:ann: not this one");
    expect(await callOf(child)).toMatchObject({ state: "failed", error: { code: "tool_error", details: { tool_code: "agent_cancelled", tool_details: { session_id: child.sessionId, status: "cancelled", reason: "cancelled" } } } });
  });

  test("of a call that waits to be run again ends the session that it began", async () => {
    house = await Family.of([specialist]);
    const { call: row } = await house.invoke({ tool: askTool("specialist"), input: { message: "Pay Bob." } });
    await house.quiet();
    const [child] = (await house.ledger.listSessions({ tenant: "acme", agent: "specialist" }, 10)).items;
    house = await revived([specialist], { serve: false });
    await house.quiet();
    expect(await house.ledger.getCall("acme", row.callId)).toMatchObject({ state: "queued" });
    await house.service.cancel(asked({ scopes: new Set(["calls:cancel"]) }), row.callId);
    await house.pass(51);
    await house.quiet();
    expect(await house.ledger.getCall("acme", row.callId)).toMatchObject({ state: "cancelled" });
    expect(await stateOf(child?.sessionId ?? "")).toBe("cancelled");
  });
});

test("a session whose call has ended unheard ends when it is taken up next, and does nothing more", async () => {
  house = await Family.of([specialist]);
  await house.policy({ name: "large", match: { tools: ["pay"] }, when: "args.amount > 100.0", then: question("finance") });
  const { call: row } = await house.invoke({ tool: askTool("specialist"), input: { message: "Pay Bob." } });
  await house.quiet();
  const [child] = (await house.ledger.listSessions({ tenant: "acme", agent: "specialist" }, 10)).items;
  expect(child).toMatchObject({ state: "awaiting_approval", parentCallId: row.callId });
  const now = await callOf({ parentCallId: row.callId });
  const expected = { state: now.state, fence: now.fence, replica: now.replica };
  const ended = { ...now, state: "cancelled", settledAt: house.clock.now() } as const;
  expect(await house.ledger.commit({ writes: [{ op: "update_call", expect: expected, row: ended }] })).toEqual({ applied: true });
  house.runtime.sessions.kick("acme", child?.sessionId ?? "");
  for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
  expect(await house.session(child?.sessionId ?? "")).toMatchObject({ state: "cancelled" });
});

describe("time", () => {
  test("a call that runs out of it ends its child, and says so", async () => {
    house = await Family.of([specialist]);
    const { call: row } = await house.invoke({ tool: askTool("specialist"), input: { message: "Pay Bob." }, limits: { timeoutMs: 5_000 } });
    await house.quiet();
    const [child] = (await house.ledger.listSessions({ tenant: "acme", agent: "specialist" }, 10)).items;
    expect(child).toMatchObject({ state: "awaiting_tool", deadlineAt: (child?.createdAt ?? 0) + 5_000 });
    await house.pass(5_000);
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    await house.pass(51);
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    expect(await house.ledger.getCall("acme", row.callId)).toMatchObject({ state: "timed_out", error: { code: "timeout", details: { stop_confirmed: true } } });
    expect(await stateOf(child?.sessionId ?? "")).toMatch(/cancelled|failed/);
  });
});

describe("a process that dies in between", () => {
  test("the child is the same session, is not asked again, and keeps the version that it began with", async () => {
    house = await Family.of([desk, specialist]);
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    const asks = house.requests.length;
    expect(asks).toBe(2);
    house = await revived([desk, specialist]);
    const next = agentRow({ model: { provider: "scripted", name: "specialist", maxOutputTokens: 1_000, temperature: undefined } }, "specialist", "2.0.0");
    await house.ledger.commit({ writes: [{ op: "insert_agent_version", row: next }, { op: "deploy_agent", tenant: "acme", agent: "specialist", from: "1.0.0", version: "2.0.0" }] });
    // The lease of the session that the dead process drove has to run out.
    await house.pass(16_000);
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    expect(await callOf(child)).toMatchObject({ state: "running", attempt: 1, placements: 0, fence: 2 });
    await payNow(house, house.worker("w1", { tools: { pay: 10 } }));
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    expect(await house.child(parent)).toMatchObject({ sessionId: child.sessionId, agentVersion: "1.0.0", state: "completed" });
    expect(await stateOf(parent.sessionId)).toBe("awaiting_input");
    expect((await resultsOf(parent.sessionId)).map(({ text }) => text)).toEqual([expect.stringContaining("receipt r-1")]);
    // After the restart each of them is asked for its last word, and for nothing that was said before.
    expect(house.requests.map(({ script, position }) => [script, position])).toEqual([["specialist", 1], ["desk", 1]]);
  });

  test("a child that ended while nobody waited for it is answered from its row", async () => {
    house = await Family.of([desk, specialist]);
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    house = await revived([desk, specialist], { serve: false });
    await house.pass(16_000);
    await payNow(house, house.worker("w1", { tools: { pay: 10 } }));
    expect([await stateOf(child.sessionId), await stateOf(parent.sessionId)]).toEqual(["completed", "awaiting_tool"]);
    house.serve();
    for (let rounds = 0; rounds < 3; rounds++) await house.quiet();
    expect(await stateOf(parent.sessionId)).toBe("awaiting_input");
    expect(await callOf(child)).toMatchObject({ state: "succeeded", attempt: 1 });
  });
});

async function revived(members: Parameters<typeof Family.of>[0], how: Parameters<typeof Family.of>[2] = {}): Promise<Family> {
  await house.kill();
  return Family.of(members, house, how);
}

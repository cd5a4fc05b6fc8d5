// Agents that run agents: what a child session is, what its caller is told, who pays, and where it is refused.
import { afterEach, describe, expect, test } from "vitest";
import { askTool, Family, payNow } from "../../../../../test/support/families.ts";
import { agentRow, binding, call, talker } from "../../../../../test/support/sessions.ts";
import { at0 } from "../../../../../test/support/calls.ts";
import { asked } from "../../../../../test/support/corridor.ts";
import { ask as question, deny, voter } from "../../../../../test/support/governed.ts";

let house: Family;
afterEach(() => house.close());

const ask = (agent: string, message: string): unknown => call({ message }, askTool(agent));
const desk = { agent: "desk", asks: ["specialist"], completions: [{ calls: [ask("specialist", "Pay 500 to Bob.")] }, { text: "Done: it is paid." }] };
const payer = (amount: number) => ({ agent: "specialist", completions: [{ calls: [call({ amount })] }, { text: "Paid, receipt r-1." }] });

/** What the model of this session was told of its only call. */
async function toldOf(sessionId: string): Promise<{ readonly status: string; readonly text: string; readonly isError: boolean }> {
  const results = (await house.history(sessionId)).find((item) => item.type === "results");
  const [told, ...more] = results?.type === "results" ? results.results : [];
  if (told === undefined || more.length > 0) throw new Error("not one call was told");
  const { status, text, isError } = told;
  return { status, text, isError };
}

describe("an agent's tool that is an agent", () => {
  test("J3: the orchestrator delegates, the specialist pays, and its reply is the result", async () => {
    house = await Family.of([desk, payer(500)]);
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_tool" });
    const child = await house.child(parent);
    expect(child).toMatchObject({ agent: "specialist", agentVersion: "1.0.0", state: "awaiting_tool", depth: 1, principal: "user:ann", project: "shop", parentCallId: `${parent.sessionId}:agv_desk_1_0_0:t1.1:0` });
    expect((await house.history(child.sessionId))[0]).toMatchObject({ type: "user", by: "user:ann", text: "Pay 500 to Bob." });
    expect(await payNow(house, worker)).toBe(`${child.sessionId}:agv_specialist_1_0_0:t1.1:0`);
    expect(await house.session(child.sessionId)).toMatchObject({ state: "completed" });
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" } });
    const told = { reply: "Paid, receipt r-1.", session_id: child.sessionId, status: "completed" };
    expect(await toldOf(parent.sessionId)).toEqual({ status: "succeeded", text: JSON.stringify(told), isError: false });
  });

  test("J4: the specialist's payment waits for approval; approved, the child is done and the parent is back with the receipt", async () => {
    house = await Family.of([desk, payer(1_500)]);
    await house.policy({ name: "large", match: { tools: ["pay"] }, when: "args.amount > 1000.0", then: question("finance") });
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob 1500");
    const child = await house.child(parent);
    expect([(await house.session(parent.sessionId)).state, child.state]).toEqual(["awaiting_tool", "awaiting_approval"]);
    const [approval] = await house.ledger.sessionApprovals("acme", child.sessionId);
    await house.vote(voter("maria", "finance"), approval?.approvalId ?? "");
    await house.quiet();
    await payNow(house, worker);
    expect([(await house.session(parent.sessionId)).state, (await house.session(child.sessionId)).state]).toEqual(["awaiting_input", "completed"]);
    expect((await toldOf(parent.sessionId)).text).toContain("receipt r-1");
  });

  test("J5: a specialist that answers by itself touches no worker", async () => {
    house = await Family.of([desk, { agent: "specialist", completions: [{ text: "Bob is paid already." }] }]);
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_input" });
    expect((await house.child(parent)).state).toBe("completed");
    expect(worker.last("invoke")).toBeUndefined();
  });

  test("what the children used is the parent's too, once, however deep they are", async () => {
    const usage = (input_tokens: number, output_tokens: number) => ({ usage: { input_tokens, output_tokens } });
    house = await Family.of([
      { agent: "desk", asks: ["clerk"], completions: [{ calls: [ask("clerk", "a"), ask("clerk", "b")], ...usage(1, 2) }, { text: "both", ...usage(10, 20) }] },
      { agent: "clerk", asks: ["specialist"], completions: [{ calls: [ask("specialist", "c")], ...usage(100, 200) }, { text: "one", ...usage(1_000, 2_000) }] },
      { agent: "specialist", completions: [{ text: "deep", ...usage(10_000, 20_000) }] },
    ]);
    const parent = await house.ask("desk", "twice");
    const [one, other] = await house.children(parent);
    const ofClerk = { inputTokens: 11_100, outputTokens: 22_200, modelCalls: 3, toolCalls: 1 };
    expect([one?.usage, other?.usage]).toEqual([ofClerk, ofClerk]);
    expect((await house.session(parent.sessionId)).usage).toEqual({ inputTokens: 22_211, outputTokens: 44_422, modelCalls: 8, toolCalls: 4 });
  });

  test("where one call alone may work, the one that waits for its agent keeps nobody from working", async () => {
    house = await Family.of([desk, payer(500)]);
    const root = asked({ scopes: new Set(["*"]) });
    await house.service.putLimit(root, { scope: "tenant", subject: "", rate: null, quotas: { concurrentExecutions: 1 }, timeZone: null });
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    await payNow(house, worker);
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_input" });
    expect((await toldOf(parent.sessionId)).status).toBe("succeeded");
  });

  test("the timeline of the parent shows its child", async () => {
    house = await Family.of([desk, { agent: "specialist", completions: [{ text: "Bob is paid already." }] }]);
    const parent = await house.ask("desk", "pay Bob");
    const { children } = await house.service.sessionTimeline(talker, parent.sessionId);
    expect(children.map(({ session, history }) => [session.agent, history.length])).toEqual([["specialist", 2]]);
  });

  test("nobody has more rights below: what the caller may not do, the child may not either", async () => {
    house = await Family.of([desk, payer(500)]);
    await house.policy({ name: "small-only", match: { tools: ["pay"] }, when: "args.amount > 100.0", then: deny("too much") });
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    const child = await house.child(parent);
    expect(await toldOf(child.sessionId)).toMatchObject({ status: "denied", isError: true });
    expect(worker.last("invoke")).toBeUndefined();
  });
});

describe("how deep", () => {
  const chain = (length: number) =>
    Array.from({ length }, (_, at) =>
      at === length - 1
        ? { agent: `a${at}`, completions: [{ text: "the bottom" }] }
        : { agent: `a${at}`, asks: [`a${at + 1}`], completions: [{ calls: [ask(`a${at + 1}`, "go on")] }, { text: "done" }] },
    );

  test("depth-2 recursion: each waits for the one below it", async () => {
    house = await Family.of([
      { agent: "desk", asks: ["clerk"], completions: [{ calls: [ask("clerk", "a")] }, { text: "top" }] },
      { agent: "clerk", asks: ["specialist"], completions: [{ calls: [ask("specialist", "b")] }, { text: "middle" }] },
      payer(500),
    ]);
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "go");
    const clerk = await house.child(parent);
    const specialist = await house.child(clerk);
    expect([clerk.depth, specialist.depth, specialist.parentSessionId]).toEqual([1, 2, clerk.sessionId]);
    await payNow(house, worker);
    const states = await Promise.all([parent, clerk, specialist].map(async ({ sessionId }) => (await house.session(sessionId)).state));
    expect(states).toEqual(["awaiting_input", "completed", "completed"]);
    expect((await toldOf(clerk.sessionId)).text).toContain("Paid, receipt r-1.");
  });

  test("depthMax: five below the root are run, and the sixth is refused as its caller's tool error", async () => {
    house = await Family.of(chain(7));
    const root = await house.ask("a0", "go");
    for (let floors = 0; floors < 5; floors++) await house.quiet();
    const depths: number[] = [];
    let last = root;
    for (let [child] = await house.children(last); child !== undefined; [child] = await house.children(last)) {
      depths.push(child.depth);
      last = child;
    }
    expect(depths).toEqual([1, 2, 3, 4, 5]);
    const told = await toldOf(last.sessionId);
    expect(told).toMatchObject({ status: "failed", isError: true });
    expect(told.text).toContain("may be 5 deep, and this one would be 6");
    expect((await house.session(root.sessionId)).state).toBe("awaiting_input");
  });
});

describe("which version", () => {
  test("the one that the parent was published with, whatever is deployed since", async () => {
    house = await Family.of([desk, payer(500)]);
    const next = agentRow({ model: { provider: "scripted", name: "specialist", maxOutputTokens: 1_000, temperature: undefined } }, "specialist", "2.0.0");
    await house.ledger.commit({ writes: [{ op: "insert_agent_version", row: next }, { op: "deploy_agent", tenant: "acme", agent: "specialist", from: "1.0.0", version: "2.0.0" }] });
    const parent = await house.ask("desk", "pay Bob");
    expect(await house.child(parent)).toMatchObject({ agentVersion: "1.0.0" });
    const direct = await house.service.invoke(asked(), { tool: askTool("specialist"), input: { message: "hi" }, mode: "async" });
    await house.quiet();
    const found = (await house.ledger.listSessions({ tenant: "acme", agent: "specialist" }, 10)).items.find(({ parentCallId }) => parentCallId === direct.call.callId);
    expect(found).toMatchObject({ agentVersion: "2.0.0", parentSessionId: "", depth: 0, principal: "user:ann" });
  });

  test.each([
    ["retired", { op: "set_agent_status", tenant: "acme", agent: "specialist", version: "1.0.0", from: "published", status: "retired" } as const, "specialist@1.0.0 is retired; publish the next version of desk"],
    ["archived", { op: "archive_agent", tenant: "acme", agent: "specialist", at: at0 } as const, "specialist is archived; signalbox agents unarchive specialist"],
  ])("one that is %s starts no session, and the caller is told what to do", async (_, change, words) => {
    house = await Family.of([desk, payer(500)]);
    await house.ledger.commit({ writes: [change] });
    const parent = await house.ask("desk", "pay Bob");
    expect(await house.children(parent)).toEqual([]);
    expect(await toldOf(parent.sessionId)).toMatchObject({ status: "failed", isError: true, text: expect.stringContaining(words) });
  });

  test("a deprecated one goes on where it was pinned", async () => {
    house = await Family.of([desk, { agent: "specialist", completions: [{ text: "still here" }] }]);
    await house.ledger.commit({ writes: [{ op: "set_agent_status", tenant: "acme", agent: "specialist", version: "1.0.0", from: "published", status: "deprecated" }] });
    expect((await house.child(await house.ask("desk", "pay Bob"))).state).toBe("completed");
  });

  test("an agent that was published without the other's version does not run whatever there is", async () => {
    house = await Family.of([desk, payer(500)]);
    await house.agent(agentRow({ tools: [binding(askTool("specialist"))], model: { provider: "scripted", name: "desk", maxOutputTokens: 1_000, temperature: undefined } }, "unpinned"));
    const parent = await house.ask("unpinned", "pay Bob");
    expect(await toldOf(parent.sessionId)).toMatchObject({ status: "failed", text: expect.stringContaining("unpinned@1.0.0 was published without a version of specialist") });
  });
});

describe("whose", () => {
  test("another tenant's agent of the same name is not run, nor its sessions found", async () => {
    house = await Family.of([desk, payer(500)]);
    await house.project("umbrella", "shop", "production");
    await house.askable("specialist", {}, "umbrella");
    await house.grant(["*"], "user:ann", "umbrella");
    const stranger = asked({ tenant: "umbrella", keyId: await house.key("user:ann", { tenant: "umbrella" }) });
    const { call: row } = await house.invoke({ tool: askTool("specialist"), input: { message: "hi" } }, stranger);
    await house.quiet();
    expect((await house.ledger.listSessions({ tenant: "umbrella" }, 10)).items).toEqual([]);
    expect(await house.ledger.getCall("umbrella", row.callId)).toMatchObject({
      state: "failed",
      error: { code: "tool_error", details: { tool_code: "agent_unavailable" }, message: expect.stringContaining("runs the agent specialist, and there is none of that name") },
    });
  });

  test("a worker of one's own that offers the part of agents is given none of their calls", async () => {
    house = await Family.of([desk, payer(500)]);
    const rival = house.worker("w1", { tenant: "platform", backends: ["agent"], tools: {} });
    const parent = await house.ask("desk", "pay Bob");
    expect(rival.last("invoke")).toBeUndefined();
    expect(await house.children(parent)).toHaveLength(1);
    const workers = await house.service.listWorkers(asked({ tenant: "platform", scopes: new Set(["*"]) }));
    expect(workers.map(({ workerId, handlers }) => [workerId, handlers.length])).toEqual([["w1", 0]]);
  });
});

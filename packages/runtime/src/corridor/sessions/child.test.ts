// Agents that run agents: what a child session is, what its caller is told, and what becomes of both when somebody cancels or a process dies.
import { afterEach, describe, expect, test } from "vitest";
import { askTool, Family, payNow } from "../../../../../test/support/families.ts";
import { call } from "../../../../../test/support/sessions.ts";

let house: Family;
afterEach(() => house.close());

const ask = (agent: string, message: string): unknown => call({ message }, askTool(agent));
const desk = { agent: "desk", asks: ["specialist"], completions: [{ calls: [ask("specialist", "Pay 500 to Bob.")] }, { text: "Done: it is paid." }] };

describe("an agent's tool that is an agent", () => {
  test("J3: the orchestrator delegates, the specialist pays, and its reply is the result", async () => {
    house = await Family.of([desk, { agent: "specialist", completions: [{ calls: [call({ amount: 500 })] }, { text: "Paid, receipt r-1." }] }]);
    const worker = house.worker("w1", { tools: { pay: 10 } });
    const parent = await house.ask("desk", "pay Bob");
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_tool" });
    const child = await house.child(parent);
    expect(child).toMatchObject({ agent: "specialist", state: "awaiting_tool", depth: 1, principal: "user:ann", project: "shop", parentCallId: `${parent.sessionId}:agv_desk_1_0_0:t1.1:0` });
    await payNow(house, worker);
    expect(await house.session(child.sessionId)).toMatchObject({ state: "completed" });
    expect(await house.session(parent.sessionId)).toMatchObject({ state: "awaiting_input", reason: { code: "end_turn" } });
    const history = await house.history(parent.sessionId);
    const told = { reply: "Paid, receipt r-1.", session_id: child.sessionId, status: "completed" };
    expect(history[2]).toMatchObject({ results: [{ told: "row", status: "succeeded", text: JSON.stringify(told), isError: false }] });
  });
});

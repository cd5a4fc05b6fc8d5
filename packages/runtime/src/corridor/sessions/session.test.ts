// A session from its first message to its end: model, calls on the one pipeline, people, cancels, and a process that dies in between.
import { afterEach, describe, expect, test } from "vitest";
import { call, Sessions, talker } from "../../../../../test/support/sessions.ts";

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

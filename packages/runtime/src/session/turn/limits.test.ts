// Budgets of a turn: where each is reached, what halts, what is asked, and what a grant is worth.
import { describe, expect, test } from "vitest";
import {
  answer,
  drive,
  failedAnswer,
  kept,
  limitAnswered,
  message,
  modelAnswers,
  scripted,
  toolCall,
  toolsRan,
  turnConfig,
  type Script,
} from "../../../../../test/support/scripted-turn.ts";
import type { AgentLimits } from "../../registry/agents/types.ts";
import { pairingFault } from "../provider-names.ts";
import { TurnMachine } from "./machine.ts";
import type { Effect } from "./types.ts";

const reads = (count: number) =>
  answer(Array.from({ length: count }, (_, n) => toolCall("read", `{"n":${n}}`, `id_${n}`)));
const endless = Array.from({ length: 100 }, () => reads(1));

function run(limits: Partial<AgentLimits>, script: Script = { model: endless }) {
  const machine = TurnMachine.start(turnConfig(limits), [], [message("hello")]);
  const { done, effects } = drive(machine, scripted(script));
  expect(pairingFault(machine.history)).toBeUndefined();
  const results = machine.history.flatMap((item) => (item.type === "results" ? item.results : []));
  return { machine, done, effects, results };
}

const count = (effects: readonly Effect[], type: Effect["type"]): number =>
  effects.filter((effect) => effect.type === type).length;

describe("halt", () => {
  // Each completion costs 15 tokens and 100 ms, each batch 50 ms and one call.
  test.each([
    ["steps", { stepsMax: 1 }, 1, 1, "the turn has used 1 of 1 steps"],
    ["steps", { stepsMax: 3 }, 3, 3, "the turn has used 3 of 3 steps"],
    ["tokens", { tokensMax: 45 }, 3, 2, "the turn has used 45 of 45 tokens"],
    ["tokens", { tokensMax: 46 }, 4, 3, "the turn has used 60 of 46 tokens"],
    ["wall_clock", { wallClockMsMax: 300 }, 2, 2, "the turn has used 300 of 300 ms of work"],
    ["wall_clock", { wallClockMsMax: 250 }, 2, 1, "the turn has used 250 of 250 ms of work"],
    ["tool_calls", { toolCallsMax: 2 }, 3, 2, "the turn has used 2 of 2 tool calls, and asks for 1 more"],
    ["tool_calls", { toolCallsMax: 0 }, 1, 0, "the turn has used 0 of 0 tool calls, and asks for 1 more"],
  ] as const)("%s with %o: %d completions, %d batches", (limit, limits, completions, batches, words) => {
    const { done, effects } = run(limits);
    expect([done.end, done.reason]).toEqual(["ended", { code: `limit_${limit}`, message: words }]);
    expect([count(effects, "CompleteModel"), count(effects, "RunTools"), count(effects, "AskLimit")]).toEqual([
      completions,
      batches,
      0,
    ]);
  });

  test("with calls pending: each is told that the limit stopped it, and what was settled stays", () => {
    const asked = answer([toolCall("read"), toolCall("get_dat"), toolCall("write")]);
    const { results, done, effects } = run({ toolCallsMax: 1 }, { model: [asked] });
    expect(count(effects, "RunTools")).toBe(0);
    expect(results.map(({ status, told, errorCode }) => [status, told, errorCode])).toEqual([
      ["failed", "refused", "limit_tool_calls"],
      ["failed", "refused", "tool_not_found"],
      ["failed", "refused", "limit_tool_calls"],
    ]);
    expect(results[0]?.text).toBe(
      "[Tool not run]\nthe turn has used 0 of 1 tool calls, and asks for 2 more: the turn ends here",
    );
    expect(done.reason.code).toBe("limit_tool_calls");
  });

  test("calls that are settled already cost no budget", () => {
    const { done } = run({ toolCallsMax: 0 }, { model: [answer([toolCall("get_dat")])] });
    expect(done.reason.code).toBe("end_turn");
  });

  test("nor are they stopped by one that is used up: they are answered, and the time that is left is never below zero", () => {
    const { done, effects, results } = run({ wallClockMsMax: 50 }, { model: [answer([toolCall("get_dat")])] });
    expect(effects.find(({ type }) => type === "RunTools")).toMatchObject({ activeMsLeft: 0 });
    expect(results.map(({ errorCode }) => errorCode)).toEqual(["tool_not_found"]);
    expect(done.reason.code).toBe("limit_wall_clock");
  });

  test("a turn that ends by itself ends so, whatever it has used", () => {
    const { done } = run(
      { stepsMax: 1, tokensMax: 1, wallClockMsMax: 1, toolCallsMax: 0 },
      { model: [answer(["hi"])] },
    );
    expect(done.reason.code).toBe("end_turn");
  });

  test("a message at the last checkpoint does not open a step that there is no budget for", () => {
    const { done, machine } = run(
      { stepsMax: 1 },
      { model: [answer(["hi"])], checkpoint: [(at) => kept(at, [message("more", 2)])] },
    );
    expect(done.reason.code).toBe("limit_steps");
    expect(machine.history.at(-1)).toMatchObject({ type: "user", text: "more" });
  });

  test("is told in the stream, behind what was reached by", () => {
    const { effects } = run({ toolCallsMax: 0 });
    expect(effects.slice(-3).map(({ type }) => type)).toEqual(["Progress", "Emit", "Done"]);
    expect(effects.at(-2)).toEqual({
      type: "Emit",
      event: "limit.reached",
      step: 1,
      data: { limit: "tool_calls", used: 0, budget: 0, on_limit: "halt" },
    });
  });
});

describe("escalate", () => {
  const grants = (times: number): Script => ({
    model: endless,
    limit: Array.from({ length: times }, () => (asked) => limitAnswered(asked, true)),
  });

  test.each([
    ["steps", { stepsMax: 2 }, 4, 4],
    ["tokens", { tokensMax: 30 }, 4, 3],
    ["wall_clock", { wallClockMsMax: 300 }, 4, 4],
    ["tool_calls", { toolCallsMax: 2 }, 5, 4],
  ] as const)("%s: one grant is one more budget of the same size", (limit, limits, completions, batches) => {
    const { done, effects } = run({ ...limits, onLimit: "escalate" }, grants(1));
    expect(done.reason.code).toBe(`limit_${limit}`);
    expect([count(effects, "CompleteModel"), count(effects, "RunTools"), count(effects, "AskLimit")]).toEqual([
      completions,
      batches,
      2,
    ]);
  });

  test("asks with what was used of what, and tells the new budget", () => {
    const { effects } = run({ stepsMax: 2, onLimit: "escalate" }, grants(1));
    const asks = effects.filter(({ type }) => type === "AskLimit");
    expect(asks).toEqual([
      { type: "AskLimit", id: 7, step: 2, limit: "steps", used: 2, budget: 2 },
      { type: "AskLimit", id: 14, step: 4, limit: "steps", used: 4, budget: 4 },
    ]);
    expect(effects.filter(({ type }) => type === "Emit")).toEqual([
      {
        type: "Emit",
        event: "limit.reached",
        step: 2,
        data: { limit: "steps", used: 2, budget: 2, on_limit: "escalate" },
      },
      { type: "Emit", event: "limit.extended", step: 2, data: { limit: "steps", budget: 4 } },
      {
        type: "Emit",
        event: "limit.reached",
        step: 4,
        data: { limit: "steps", used: 4, budget: 4, on_limit: "escalate" },
      },
    ]);
  });

  test("refused is halted: pending calls are told, and none runs", () => {
    const { done, results, effects } = run({ toolCallsMax: 1, onLimit: "escalate" }, { model: [reads(2)] });
    expect([done.end, done.reason.code, count(effects, "RunTools")]).toEqual(["ended", "limit_tool_calls", 0]);
    expect(results.map(({ errorCode }) => errorCode)).toEqual(["limit_tool_calls", "limit_tool_calls"]);
  });

  test("cancelled while people are asked: pending calls are cancelled, and none runs", () => {
    const { done, results, effects } = run(
      { toolCallsMax: 1, onLimit: "escalate" },
      { model: [reads(2)], limit: [(asked) => limitAnswered(asked, true, true)] },
    );
    expect([done.end, done.reason.code, count(effects, "RunTools")]).toEqual(["cancelled", "cancelled", 0]);
    expect(results.map(({ status, text }) => [status, text])).toEqual([
      ["cancelled", "[Tool execution cancelled]\ntool call cancelled"],
      ["cancelled", "[Tool execution cancelled]\ntool call cancelled"],
    ]);
  });

  test("broken while people are asked: what never ran is not told as unknown", () => {
    const { done, results } = run(
      { toolCallsMax: 1, onLimit: "escalate" },
      { model: [reads(2)], limit: [({ id }) => ({ type: "Broken", id, code: "internal", message: "gone" })] },
    );
    expect(done.end).toBe("failed");
    expect(results.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });

  test("a batch of five against a budget of two needs two grants", () => {
    const { effects, done } = run({ toolCallsMax: 2, onLimit: "escalate" }, { ...grants(2), model: [reads(5)] });
    expect([count(effects, "AskLimit"), count(effects, "RunTools"), done.reason.code]).toEqual([2, 1, "end_turn"]);
  });

  test("a budget of nothing is not asked about: one more of it would never be enough", () => {
    const { effects, done } = run({ toolCallsMax: 0, onLimit: "escalate" }, grants(9));
    expect([count(effects, "AskLimit"), done.reason.code]).toEqual([0, "limit_tool_calls"]);
  });

  test("a model that ran out of the turn's time is asked again without half of its answer, and keeps it where nobody is asked", () => {
    const late = failedAnswer("timeout", [{ type: "text", text: "so far" }]);
    const model = [late, answer(["done"])];
    const granted = run({ wallClockMsMax: 100, onLimit: "escalate" }, { model, limit: grants(1).limit ?? [] });
    expect(granted.machine.history.map(({ type }) => type)).toEqual(["user", "assistant"]);
    expect(granted.done.reason.code).toBe("end_turn");
    expect(granted.effects.filter(({ type }) => type === "CompleteModel")).toMatchObject([
      { id: 1, historyLength: 1 },
      { id: 3, historyLength: 1 },
    ]);
    const halted = run({ wallClockMsMax: 100 }, { model });
    expect(halted.machine.history.at(-1)).toMatchObject({ type: "assistant", parts: [{ text: "so far" }] });
    expect(halted.done.reason.code).toBe("limit_wall_clock");
  });

  test("two budgets that are reached at once are asked about one after the other", () => {
    const { effects } = run(
      { stepsMax: 1, tokensMax: 15, onLimit: "escalate" },
      { model: [reads(1)], limit: grants(2).limit ?? [] },
    );
    expect(effects.flatMap((effect) => (effect.type === "AskLimit" ? [effect.limit] : []))).toEqual([
      "tokens",
      "steps",
    ]);
  });

  test("what was used and granted outlives a restart", () => {
    const config = turnConfig({ stepsMax: 2, onLimit: "escalate" });
    let machine = TurnMachine.start(config, [], [message("hello")]);
    const respond = scripted(grants(1));
    let completions = 0;
    for (let effect = machine.poll(); effect?.type !== "Done"; effect = machine.poll()) {
      if (effect === undefined || effect.type === "Emit" || effect.type === "Progress") continue;
      if (effect.type === "CompleteModel") completions++;
      machine.handle(respond(effect));
      machine = TurnMachine.restore(machine.snapshot(), config, machine.history);
    }
    expect(completions).toBe(4);
  });
});

describe("time", () => {
  test("only work counts: completions and batches, each as long as it says", () => {
    const machine = TurnMachine.start(turnConfig({ wallClockMsMax: 1_000 }), [], [message("hello")]);
    const left: number[] = [];
    drive(machine, (request) => {
      if ("activeMsLeft" in request) left.push(request.activeMsLeft);
      if (request.type === "CompleteModel")
        return modelAnswers(request, request.step < 3 ? reads(1) : answer(["done"]), 300);
      return request.type === "RunTools" ? toolsRan(request, () => ({}), { spentMs: 70 }) : kept({ id: request.id });
    });
    expect(left).toEqual([1_000, 700, 630, 330, 260]);
  });
});

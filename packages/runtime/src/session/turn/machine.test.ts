// The turn machine effect by effect: what it asks, what it tells, and what a snapshot brings back.
import { describe, expect, test } from "vitest";
import {
  answer,
  drain,
  drive,
  kept,
  message,
  modelAnswers,
  scripted,
  toolCall,
  toolsRan,
  turnConfig,
} from "../../../../../test/support/scripted-turn.ts";
import { TurnMachine } from "./machine.ts";

const config = turnConfig();

describe("a turn", () => {
  test("without tools: a completion, a checkpoint, the end", () => {
    const machine = TurnMachine.start(config, [], [message("hello")]);
    const { effects } = drive(machine, scripted({ model: [answer(["hi"])] }));
    expect(effects).toEqual([
      { type: "Progress", added: [{ type: "user", turn: 1, by: "user:ann", text: "hello", inboxSeq: 1 }] },
      { type: "CompleteModel", id: 1, step: 1, historyLength: 1, activeMsLeft: 600_000 },
      {
        type: "Progress",
        added: [
          {
            type: "assistant",
            turn: 1,
            step: 1,
            parts: [{ type: "text", text: "hi" }],
            stop: "end_turn",
            usage: { inputTokens: 10, outputTokens: 5 },
          },
        ],
      },
      { type: "Checkpoint", id: 2, step: 1, when: "before_completion" },
      { type: "Done", end: "ended", reason: { code: "end_turn", message: "the model has ended its turn" }, added: [] },
    ]);
    expect(machine.poll()).toBeUndefined();
  });

  test("with two tools: a batch, a checkpoint, another completion", () => {
    const machine = TurnMachine.start(config, [], [message("hello")]);
    const calls = answer([toolCall("read", '{"path":"a"}'), toolCall("write", "")]);
    const { effects } = drive(machine, scripted({ model: [calls, answer(["done"])] }));
    expect(effects.map((effect) => effect.type)).toEqual([
      "Progress",
      "CompleteModel",
      "Progress",
      "RunTools",
      "Progress",
      "Checkpoint",
      "CompleteModel",
      "Progress",
      "Checkpoint",
      "Done",
    ]);
    expect(effects[3]).toEqual({
      type: "RunTools",
      id: 2,
      step: 1,
      activeMsLeft: 599_900,
      calls: [
        {
          index: 0,
          callId: "sess_01:agv_01:t1.1:0",
          providerId: "id_read",
          name: "read",
          tool: "acme.read",
          version: "1.0.0",
          argsJson: '{"path":"a"}',
          scheduling: "parallel",
          settled: null,
        },
        {
          index: 1,
          callId: "sess_01:agv_01:t1.1:1",
          providerId: "id_write",
          name: "write",
          tool: "acme.write",
          version: "1.0.0",
          argsJson: "{}",
          scheduling: "parallel",
          settled: null,
        },
      ],
    });
    expect(effects[6]).toEqual({ type: "CompleteModel", id: 4, step: 2, historyLength: 3, activeMsLeft: 599_850 });
  });
});

test("a restored machine asks for its batch again, same id and same content", () => {
  const machine = TurnMachine.start(config, [], [message("hello")]);
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer([toolCall("read")])));
  const [, batch] = drain(machine);
  const restored = TurnMachine.restore(machine.snapshot(), config, machine.history);
  expect(drain(restored)).toEqual([batch]);
  if (batch?.type !== "RunTools") throw new Error("no batch");
  expect(restored.handle(toolsRan(batch))).toEqual({ accepted: true });
  expect(drain(restored).at(-1)).toEqual({ type: "Checkpoint", id: 3, step: 1, when: "after_work" });
  expect(restored.handle(kept({ id: 3 }))).toEqual({ accepted: true });
});

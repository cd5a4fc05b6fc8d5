// The cases that a turn machine has to hold: what it reports when, and what a snapshot asks for again.
import { describe, expect, test } from "vitest";
import {
  answer,
  drain,
  drive,
  isRequest,
  kept,
  limitAnswered,
  message,
  modelAnswers,
  scripted,
  toolCall,
  toolsRan,
  turnConfig,
} from "../../../../../test/support/scripted-turn.ts";
import { pairingFault } from "../provider-names.ts";
import type { HistoryItem } from "../types.ts";
import { TurnMachine } from "./machine.ts";
import type { Effect, Request, TurnConfig } from "./types.ts";

const config = turnConfig();
const begun = (given: TurnConfig = config): TurnMachine => TurnMachine.start(given, [], [message("hello")]);
const restored = (machine: TurnMachine, given: TurnConfig = config): TurnMachine =>
  TurnMachine.restore(machine.snapshot(), given, machine.history);

/** The last effect, which must be a request of this type. */
function asked<T extends Request["type"]>(effects: readonly Effect[], type: T): Extract<Request, { readonly type: T }> {
  const last = effects.at(-1);
  expect(last?.type).toBe(type);
  return last as Extract<Request, { readonly type: T }>;
}

const types = (effects: readonly Effect[]): readonly string[] => effects.map(({ type }) => type);

/** Two calls have been asked for and wait. */
function inBatch(): { readonly machine: TurnMachine; readonly batch: Extract<Request, { readonly type: "RunTools" }> } {
  const machine = begun();
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer([toolCall("read"), toolCall("write")])));
  return { machine, batch: asked(drain(machine), "RunTools") };
}

test("A1: Progress carries only what was added since the last report", () => {
  const { machine, batch } = inBatch();
  machine.handle(toolsRan(batch));
  const [progress] = drain(machine);
  if (progress?.type !== "Progress") throw new Error("no progress");
  expect(progress.added.map(({ type }) => type)).toEqual(["results"]);
});

test("A3: Done carries what was never reported", () => {
  const { machine, batch } = inBatch();
  machine.handle(
    toolsRan(batch, () => ({ status: "cancelled", isError: true, told: "synthetic" }), { cancelled: "turn" }),
  );
  const effects = drain(machine);
  expect(types(effects)).toEqual(["Done"]);
  const [done] = effects;
  if (done?.type !== "Done") throw new Error("not done");
  expect(done.end).toBe("cancelled");
  expect(done.added.map(({ type }) => type)).toEqual(["results"]);
});

test("A5: a snapshot that waits for the model asks it again: same id, same history", () => {
  const machine = begun();
  const request = asked(drain(machine), "CompleteModel");
  const again = restored(machine);
  expect(drain(again)).toEqual([request]);
  expect(request).toEqual({ type: "CompleteModel", id: 1, step: 1, historyLength: 1, activeMsLeft: 600_000 });
  expect(again.history).toEqual(machine.history);
});

test("A6: a snapshot behind the answer asks for the checkpoint again, and not for the completion", () => {
  const machine = begun();
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer(["hi"])));
  const checkpoint = asked(drain(machine), "Checkpoint");
  expect(drain(restored(machine))).toEqual([checkpoint]);
  expect(checkpoint).toEqual({ type: "Checkpoint", id: 2, step: 1, when: "before_completion" });
});

test("A8: a success, a failure and a cancel are in the restored history once; a checkpoint, then one completion", () => {
  const machine = begun();
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer([toolCall("read"), toolCall("write"), toolCall("get_date")])));
  const batch = asked(drain(machine), "RunTools");
  const ends = ["succeeded", "failed", "cancelled"] as const;
  machine.handle(
    toolsRan(batch, ({ index }) => ({ status: ends[index] ?? "failed", isError: index > 0 }), { cancelled: "batch" }),
  );

  const again = restored(machine);
  const results = again.history.filter((item) => item.type === "results");
  expect(results.map((item) => item.results.map(({ status }) => status))).toEqual([
    ["succeeded", "failed", "cancelled"],
  ]);
  const effects = drain(again);
  expect(types(effects)).toEqual(["Progress", "Checkpoint"]);
  again.handle(kept(asked(effects, "Checkpoint")));
  expect(types(drain(again))).toEqual(["CompleteModel"]);
  expect(drain(again)).toEqual([]);
});

describe("a snapshot of a wait has nothing left to tell, and asks again all the same", () => {
  const escalating = turnConfig({ stepsMax: 1, onLimit: "escalate" });
  const waits: readonly (readonly [string, TurnConfig, () => TurnMachine])[] = [
    ["A11: for the model", config, () => begun()],
    ["A12: for tools", config, () => inBatch().machine],
    [
      "A13: for a checkpoint",
      config,
      () => {
        const { machine, batch } = inBatch();
        machine.handle(toolsRan(batch));
        return machine;
      },
    ],
    [
      "A13: for people who are asked about a limit",
      escalating,
      () => {
        const machine = begun(escalating);
        drain(machine);
        machine.handle(modelAnswers({ id: 1 }, answer([toolCall("read")])));
        machine.handle(toolsRan(asked(drain(machine), "RunTools")));
        machine.handle(kept(asked(drain(machine), "Checkpoint")));
        return machine;
      },
    ],
  ];

  test.each(waits)("%s", (_title, given, arrive) => {
    const machine = arrive();
    drain(machine);
    expect(machine.poll()).toBeUndefined();
    const snapshot = JSON.parse(machine.snapshot()) as Record<string, unknown>;
    expect(snapshot["emits"]).toEqual([]);
    expect(snapshot["reported"]).toBe(machine.history.length);
    expect(snapshot["historyLength"]).toBe(machine.history.length);

    const effects = drain(restored(machine, given));
    expect(effects).toHaveLength(1);
    expect(effects.every(isRequest)).toBe(true);
    expect(drain(restored(machine, given))).toEqual(effects);
  });
});

test("A16: a message at the last checkpoint goes on in the same turn: told first, then the model's second step", () => {
  const machine = begun();
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer(["hi"])));
  const checkpoint = asked(drain(machine), "Checkpoint");
  machine.handle(kept(checkpoint, [message("one more thing", 2)]));
  expect(drain(machine)).toEqual([
    { type: "Progress", added: [{ type: "user", turn: 1, by: "user:ann", text: "one more thing", inboxSeq: 2 }] },
    { type: "CompleteModel", id: 3, step: 2, historyLength: 3, activeMsLeft: 599_900 },
  ]);
});

test("messages that came while tools ran stand behind their results", () => {
  const { machine, batch } = inBatch();
  machine.handle(toolsRan(batch));
  machine.handle(kept(asked(drain(machine), "Checkpoint"), [message("two", 2), message("three", 3)]));
  expect(asked(drain(machine), "CompleteModel").historyLength).toBe(5);
  expect(machine.history.map(({ type }) => type)).toEqual(["user", "assistant", "results", "user", "user"]);
});

describe("a response that does not belong here changes nothing", () => {
  test("a wrong id is ignored", () => {
    const machine = begun();
    drain(machine);
    const before = machine.snapshot();
    expect(machine.handle(modelAnswers({ id: 2 }, answer(["hi"])))).toEqual({ accepted: false, reason: "wrong_id" });
    expect(machine.handle(modelAnswers({ id: 0 }, answer(["hi"])))).toEqual({ accepted: false, reason: "wrong_id" });
    expect(machine.snapshot()).toBe(before);
    expect(machine.poll()).toBeUndefined();
  });

  test("so is the right id before the request was handed out", () => {
    const machine = begun();
    expect(machine.handle(modelAnswers({ id: 1 }, answer(["hi"])))).toEqual({ accepted: false, reason: "wrong_id" });
  });

  test("a wrong type is ignored", () => {
    const machine = begun();
    drain(machine);
    const before = machine.snapshot();
    const wrong = [
      kept({ id: 1 }),
      limitAnswered({ id: 1 }, true),
      toolsRan({ type: "RunTools", id: 1, step: 1, calls: [], activeMsLeft: 1 }),
    ];
    for (const response of wrong) expect(machine.handle(response)).toEqual({ accepted: false, reason: "wrong_type" });
    expect(machine.snapshot()).toBe(before);
  });

  test("after Done every response is", () => {
    const machine = begun();
    drive(machine, scripted({}));
    const before = machine.snapshot();
    for (const response of [modelAnswers({ id: 1 }, answer(["hi"])), kept({ id: 2 }), kept({ id: 3 })])
      expect(machine.handle(response)).toEqual({ accepted: false, reason: "over" });
    expect(machine.snapshot()).toBe(before);
    expect(machine.poll()).toBeUndefined();
    const again = restored(machine);
    expect(again.poll()).toBeUndefined();
    expect(again.handle(kept({ id: 2 }))).toEqual({ accepted: false, reason: "over" });
  });

  test("the same response twice is taken once", () => {
    const { machine, batch } = inBatch();
    expect(machine.handle(toolsRan(batch))).toEqual({ accepted: true });
    drain(machine);
    expect(machine.handle(toolsRan(batch))).toEqual({ accepted: false, reason: "wrong_id" });
    expect(machine.history.filter(({ type }) => type === "results")).toHaveLength(1);
  });
});

test("a history that was left with open calls is closed before it goes on", () => {
  const { machine } = inBatch();
  const left = machine.history;
  expect(pairingFault(left)).toBe("history item 1: 2 calls without results behind them");
  const next = TurnMachine.start(turnConfig({}, { turn: 2 }), left, [message("again", 2)]);
  expect(pairingFault(next.history)).toBeUndefined();
  const [progress] = drain(next);
  if (progress?.type !== "Progress") throw new Error("no progress");
  expect(progress.added.map(({ type, turn }) => [type, turn])).toEqual([
    ["results", 1],
    ["user", 2],
  ]);
  const [results] = progress.added;
  if (results?.type !== "results") throw new Error("no results");
  expect(results.results.map(({ status, told }) => [status, told])).toEqual([
    ["indeterminate", "synthetic"],
    ["indeterminate", "synthetic"],
  ]);
});

test("the list that it was given stays as it was", () => {
  const given: HistoryItem[] = [{ type: "user", turn: 0, by: "user:ann", text: "earlier", inboxSeq: 0 }];
  const machine = TurnMachine.start(config, given, [message("hello")]);
  expect(given).toHaveLength(1);
  drain(machine);
  const loaded = [...machine.history];
  const again = TurnMachine.restore(machine.snapshot(), config, loaded);
  drain(again);
  again.handle(modelAnswers({ id: 1 }, answer(["hi"])));
  expect(again.history).toHaveLength(3);
  expect(loaded).toHaveLength(2);
});

// A model that repeats the same failing call is told so, louder from the fifth time on.
import { expect, test } from "vitest";
import {
  answer,
  drive,
  message,
  scripted,
  toolCall,
  toolsRan,
  turnConfig,
} from "../../../../../test/support/scripted-turn.ts";
import type { ModelOutcome } from "../model.ts";
import { TurnMachine } from "./machine.ts";

const marker = "[Repeated]";

/** For each result of the turn, whether its text warns. */
function warned(
  model: readonly ModelOutcome[],
  fails: (name: string, step: number) => boolean = () => true,
): readonly boolean[] {
  const machine = TurnMachine.start(turnConfig(), [], [message("go")]);
  const failed = { status: "failed", isError: true, text: "no such file", errorCode: "tool_error" } as const;
  const run = (request: Parameters<typeof toolsRan>[0]) =>
    toolsRan(request, (call) => (fails(call.name, request.step) ? failed : {}));
  drive(machine, scripted({ model, tools: model.map(() => run) }));
  return machine.history.flatMap((item) =>
    item.type === "results" ? item.results.map(({ text }) => text.includes(marker)) : [],
  );
}

const times = (count: number, outcome: ModelOutcome): readonly ModelOutcome[] =>
  Array.from({ length: count }, () => outcome);

test("report 133: twelve identical calls of an unknown tool are told candidates, and from the fifth on to stop", () => {
  const machine = TurnMachine.start(turnConfig(), [], [message("go")]);
  drive(machine, scripted({ model: times(12, answer([toolCall("get_dat")])) }));
  const texts = machine.history.flatMap((item) =>
    item.type === "results" ? item.results.map(({ text }) => text) : [],
  );
  expect(texts).toHaveLength(12);
  expect(texts.every((text) => text.includes('did you mean "get_date"?'))).toBe(true);
  expect(texts.map((text) => text.includes(marker))).toEqual([
    ...times4(false),
    ...Array.from({ length: 8 }, () => true),
  ]);
  expect(texts[11]).toContain("has failed 12 times in this turn");
});

const times4 = (value: boolean): readonly boolean[] => [value, value, value, value];

test("sameFailuresMax: the fifth failure of the same call is told so, the fourth is not", () => {
  expect(warned(times(5, answer([toolCall("read", '{"path":"a"}')])))).toEqual([...times4(false), true]);
});

test("other arguments are another call, and what failed in between hides nothing", () => {
  const both = answer([toolCall("read", '{"path":"a"}', "one"), toolCall("read", '{"path":"b"}', "two")]);
  expect(warned(times(4, both))).toEqual([...times4(false), ...times4(false)]);
  expect(warned(times(5, both)).slice(8)).toEqual([true, true]);
});

test("a success in between begins the count anew", () => {
  const calls = times(9, answer([toolCall("read")]));
  expect(warned(calls, (_, step) => step !== 5)).toEqual([...times4(false), false, ...times4(false)]);
});

test("a cancelled call neither counts nor begins the count anew", () => {
  const machine = TurnMachine.start(turnConfig(), [], [message("go")]);
  const ends = ["failed", "failed", "failed", "cancelled", "failed", "failed"] as const;
  const tools = ends.map(
    (status) => (request: Parameters<typeof toolsRan>[0]) => toolsRan(request, () => ({ status, isError: true })),
  );
  drive(machine, scripted({ model: times(6, answer([toolCall("read")])), tools }));
  expect(
    machine.history.flatMap((item) => (item.type === "results" ? [item.results[0]?.text.includes(marker)] : [])),
  ).toEqual([...times4(false), false, true]);
});

test("what failed in an earlier turn is not held against this one", () => {
  const calls = times(4, answer([toolCall("get_dat")]));
  const first = TurnMachine.start(turnConfig(), [], [message("go")]);
  drive(first, scripted({ model: calls }));
  const second = TurnMachine.start(turnConfig({}, { turn: 2 }), first.history, [message("again", 2)]);
  drive(second, scripted({ model: calls }));
  expect(JSON.stringify(second.history)).not.toContain(marker);
});

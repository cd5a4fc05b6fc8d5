// How turns end: what the model said, how it failed, who cancelled, what people refused, and what broke.
import { describe, expect, test } from "vitest";
import {
  answer,
  drive,
  failedAnswer,
  kept,
  message,
  scripted,
  toolCall,
  toolsRan,
  turnConfig,
  type Script,
} from "../../../../../test/support/scripted-turn.ts";
import { pairingFault } from "../provider-names.ts";
import type { AssistantPart } from "../types.ts";
import { TurnMachine } from "./machine.ts";

function run(script: Script, limits: Parameters<typeof turnConfig>[0] = {}) {
  const machine = TurnMachine.start(turnConfig(limits), [], [message("hello")]);
  const { done, effects } = drive(machine, scripted(script));
  expect(pairingFault(machine.history)).toBeUndefined();
  const results = machine.history.flatMap((item) => (item.type === "results" ? item.results : []));
  const ran = effects
    .flatMap((effect) => (effect.type === "RunTools" ? effect.calls : []))
    .filter(({ settled }) => settled === null);
  const completions = effects.filter(({ type }) => type === "CompleteModel").length;
  return { machine, done, results, ran: ran.map(({ name }) => name), completions };
}

const text = (said: string): AssistantPart => ({ type: "text", text: said });

describe("what the model's stop makes of the turn", () => {
  test.each([
    ["end_turn", "ended", "end_turn"],
    ["stop_sequence", "ended", "end_turn"],
    ["tool_use", "ended", "end_turn"],
    ["max_tokens", "ended", "max_tokens"],
    ["refusal", "ended", "refusal"],
    ["cancelled", "cancelled", "cancelled"],
  ] as const)("%s without calls: %s, %s", (stop, end, code) => {
    const { done, completions } = run({ model: [answer(["well"], stop)] });
    expect([done.end, done.reason.code, completions]).toEqual([end, code, 1]);
  });

  test.each([
    ["end_turn", ["read"], ["succeeded"]],
    ["stop_sequence", ["read"], ["succeeded"]],
    ["max_tokens", ["read"], ["succeeded"]],
    ["refusal", [], ["failed"]],
    ["cancelled", [], ["cancelled"]],
  ] as const)("%s with a whole call", (stop, names, statuses) => {
    const { ran, results } = run({ model: [answer([toolCall("read")], stop)] });
    expect(ran).toEqual(names);
    expect(results.map(({ status }) => status)).toEqual(statuses);
  });

  test("report 135: arguments that were cut off are told as truncated, the whole calls before them run", () => {
    const cut = answer([toolCall("read", '{"path":"a"}'), toolCall("write", '{"path":"b","text":"onc')], "max_tokens");
    const { ran, results, done, completions } = run({ model: [cut] });
    expect(ran).toEqual(["read"]);
    expect(results.map(({ status, errorCode }) => [status, errorCode])).toEqual([
      ["succeeded", null],
      ["failed", "invalid_input"],
    ]);
    expect(results[1]?.text).toBe(
      "[Tool not run]\nthe arguments were truncated: the answer reached the output limit before they were whole. Send the call again with shorter arguments, or in parts",
    );
    expect([completions, done.reason.code]).toEqual([2, "end_turn"]);
  });

  test("report 135: a call that was cut off before its first argument is not run with none", () => {
    const { ran, results } = run({ model: [answer([toolCall("write", "")], "max_tokens")] });
    expect(ran).toEqual([]);
    expect(results[0]?.text).toContain("truncated");
  });

  test("report 128: '' for a tool without parameters is {}, and the call runs", () => {
    const { ran, results } = run({ model: [answer([toolCall("get_date", "")])] });
    expect(ran).toEqual(["get_date"]);
    expect(results[0]?.status).toBe("succeeded");
  });

  test("an answer that says nothing leaves nothing that a provider would refuse", () => {
    const { machine, done } = run({ model: [answer(["", "  "])] });
    expect(done.reason.code).toBe("end_turn");
    expect(machine.history.map(({ type }) => type)).toEqual(["user"]);
  });

  test("a blank thought stays where it carries a signature", () => {
    const signed: AssistantPart = { type: "thought", text: "", metadata: { signature: "abc" } };
    const { machine } = run({ model: [answer([signed, { type: "thought", text: "" }, "hi"])] });
    expect(machine.history[1]).toMatchObject({ parts: [signed, { type: "text", text: "hi" }] });
  });
});

describe("a model that fails", () => {
  test("ends the turn with its code, and keeps what it had said, never a call", () => {
    const outcome = failedAnswer("cut_off", [text("so far"), { type: "thought", text: "hm" }, toolCall("write")]);
    const { done, machine, ran } = run({ model: [outcome] });
    expect(done).toMatchObject({
      end: "ended",
      reason: { code: "model_failed", message: "the model failed (cut_off): it said cut_off" },
      added: [{ type: "assistant", parts: [text("so far")], stop: "cancelled" }],
    });
    expect(ran).toEqual([]);
    expect(machine.history).toHaveLength(2);
  });

  test("keeps nothing where nothing was said", () => {
    const { machine } = run({ model: [failedAnswer("overloaded", [text(" "), toolCall("write")])] });
    expect(machine.history.map(({ type }) => type)).toEqual(["user"]);
  });

  test("that was cancelled ends the turn as cancelled", () => {
    const { done } = run({ model: [failedAnswer("cancelled", [text("so far")])] });
    expect([done.end, done.reason.code, done.added.length]).toEqual(["cancelled", "cancelled", 1]);
  });

  test("by time is a failure while there is time left, and the end of the budget when there is none", () => {
    expect(run({ model: [failedAnswer("timeout")] }).done.reason.code).toBe("model_failed");
    expect(run({ model: [failedAnswer("timeout")] }, { wallClockMsMax: 100 }).done.reason.code).toBe(
      "limit_wall_clock",
    );
  });

  test("a long message is cut", () => {
    const outcome = {
      ...failedAnswer("malformed"),
      ok: false as const,
      code: "malformed",
      retryAfterMs: null,
      message: "x".repeat(5_000),
    };
    expect(run({ model: [outcome] }).done.reason.message).toHaveLength(2_000);
  });
});

describe("tools that end a turn", () => {
  const two = [answer([toolCall("read"), toolCall("write")])];
  const cancelledCall = {
    status: "cancelled",
    isError: true,
    told: "synthetic",
    text: "[Tool execution cancelled]\ntool call cancelled",
  } as const;

  test("report 001: after a cancel the one call has its one result, and the next turn goes on", () => {
    const { machine, done } = run({
      model: [answer([toolCall("read")])],
      tools: [(batch) => toolsRan(batch, () => cancelledCall, { cancelled: "turn" })],
    });
    expect([done.end, done.added.map(({ type }) => type)]).toEqual(["cancelled", ["results"]]);
    const next = TurnMachine.start(turnConfig({}, { turn: 2 }), machine.history, [message("go on", 2)]);
    expect(drive(next, scripted({})).done.end).toBe("ended");
    expect(pairingFault(next.history)).toBeUndefined();
  });

  test("report 002: four calls, one done and three cancelled: four results in the order of the calls", () => {
    const { results, done } = run({
      model: [answer(["a", "b", "c", "d"].map((id) => toolCall("read", "{}", id)))],
      tools: [
        (batch) => {
          const ran = toolsRan(batch, ({ index }) => (index === 2 ? {} : cancelledCall), { cancelled: "turn" });
          return { ...ran, results: [...ran.results].reverse(), settled: [2, 0, 1, 3] };
        },
      ],
    });
    expect(results.map(({ providerId, status }) => [providerId, status])).toEqual([
      ["a", "cancelled"],
      ["b", "cancelled"],
      ["c", "succeeded"],
      ["d", "cancelled"],
    ]);
    expect(done.end).toBe("cancelled");
  });

  test("a cancelled batch is told to the model, which goes on", () => {
    const { completions, done } = run({
      model: two,
      tools: [(batch) => toolsRan(batch, () => cancelledCall, { cancelled: "batch" })],
    });
    expect([completions, done.reason.code]).toEqual([2, "end_turn"]);
  });

  test("a refusal by people fails the turn, a question that was waited for too long ends it", () => {
    const stopped = (code: string) =>
      run({ model: two, tools: [(batch) => toolsRan(batch, () => ({}), { stop: { code, message: "so it is" } })] });
    expect(stopped("approval_rejected").done).toMatchObject({
      end: "failed",
      reason: { code: "approval_rejected", message: "so it is" },
      added: [{ type: "results" }],
    });
    expect(stopped("limit_approval_wait").done.end).toBe("ended");
    expect(stopped("limit_approval_wait").completions).toBe(1);
  });

  test("settled calls keep what preparation said of them, whatever came back", () => {
    const { results } = run({
      model: [answer([toolCall("get_dat"), toolCall("read")])],
      tools: [
        (batch) => {
          const ran = toolsRan(batch);
          return { ...ran, results: ran.results.map((result) => ({ ...result, text: "made up", isError: false })) };
        },
      ],
    });
    expect(results.map(({ errorCode, text: told }) => [errorCode, told.split("\n")[0]])).toEqual([
      ["tool_not_found", "[Tool not run]"],
      [null, "made up"],
    ]);
  });

  test("a result has the name, the provider's id and the metadata of its call", () => {
    const signed: AssistantPart = { ...toolCall("read", "{}", "own_id"), metadata: { signature: "abc" } };
    const { results } = run({
      model: [answer([signed])],
      tools: [(batch) => toolsRan(batch, () => ({ name: "other", providerId: "other" }))],
    });
    expect(results[0]).toMatchObject({ name: "read", providerId: "own_id", metadata: { signature: "abc" } });
  });
});

describe("cancels at a checkpoint", () => {
  test.each([
    ["after work", [answer([toolCall("read")])]],
    ["before completion", [answer(["hi"])]],
  ])("%s", (_when, model) => {
    const { done, machine, completions } = run({ model, checkpoint: [(at) => kept(at, [message("late", 2)], true)] });
    expect([done.end, done.reason.code, completions]).toEqual(["cancelled", "cancelled", 1]);
    // It was taken out of the inbox, so it must not be lost.
    expect(machine.history.at(-1)).toMatchObject({ type: "user", text: "late" });
  });
});

describe("machinery that breaks", () => {
  const broken = ({ id }: { readonly id: number }) =>
    ({ type: "Broken", id, code: "tool_surface_resolution_failed", message: "the tools are gone" }) as const;

  test("before an answer: the turn fails with its code", () => {
    const machine = TurnMachine.start(turnConfig(), [], [message("hello")]);
    const { done } = drive(machine, broken);
    expect(done).toEqual({
      type: "Done",
      end: "failed",
      reason: { code: "tool_surface_resolution_failed", message: "the tools are gone" },
      added: [],
    });
  });

  test("under a batch: what may have run is unknown, what was settled stays, and nothing is a made-up success", () => {
    const { done, results } = run({ model: [answer([toolCall("read"), toolCall("get_dat")])], tools: [broken] });
    expect(done.end).toBe("failed");
    expect(results.map(({ status, told, isError }) => [status, told, isError])).toEqual([
      ["indeterminate", "synthetic", true],
      ["failed", "refused", true],
    ]);
    // The machinery's failure is never a tool's result.
    expect(JSON.stringify(results)).not.toContain("the tools are gone");
  });

  test("at a checkpoint", () => {
    expect(run({ model: [answer(["hi"])], checkpoint: [broken] }).done.reason.code).toBe(
      "tool_surface_resolution_failed",
    );
  });
});

describe("provider ids", () => {
  test("report 016: the same id in a later step is a call of its own", () => {
    const shell = answer([toolCall("write", '{"command":"ls"}', "X")]);
    const machine = TurnMachine.start(turnConfig(), [], [message("hello")]);
    const { effects } = drive(machine, scripted({ model: [shell, shell] }));
    const calls = effects.flatMap((effect) => (effect.type === "RunTools" ? effect.calls : []));
    expect(calls.map(({ callId, settled }) => [callId, settled])).toEqual([
      ["sess_01:agv_01:t1.1:0", null],
      ["sess_01:agv_01:t1.2:0", null],
    ]);
  });

  test("report 016: the same id twice in one answer runs once, and both are answered", () => {
    const { ran, results } = run({ model: [answer([toolCall("write", "{}", "X"), toolCall("write", "{}", "X")])] });
    expect(ran).toEqual(["write"]);
    expect(results.map(({ status, errorCode }) => [status, errorCode])).toEqual([
      ["succeeded", null],
      ["failed", "duplicate_call_id"],
    ]);
    expect(results[1]?.text).toBe(
      "[Tool not run]\nthis call has the id of call 1 of the same answer, which is answered there: give every call an id of its own",
    );
  });

  test("calls without an id are no duplicates of each other", () => {
    expect(run({ model: [answer([toolCall("read", "{}", ""), toolCall("read", "{}", "")])] }).ran).toEqual([
      "read",
      "read",
    ]);
  });
});

test("report 007: the turn stays in its batch until every result is there, and tells them together", () => {
  const machine = TurnMachine.start(turnConfig(), [], [message("hello")]);
  let early: unknown;
  drive(machine, (request) => {
    if (request.type !== "RunTools")
      return scripted({ model: [answer([toolCall("read"), toolCall("write")])] })(request);
    const ran = toolsRan(request);
    early = machine.handle({ ...ran, results: ran.results.slice(0, 1), settled: [0] });
    expect(machine.poll()).toBeUndefined();
    return ran;
  });
  expect(early).toEqual({ accepted: false, reason: "wrong_shape" });
  expect(pairingFault(machine.history)).toBeUndefined();
});

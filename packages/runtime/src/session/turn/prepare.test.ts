// What preparation makes of the tool calls of one answer: ids, pins, arguments, and refusals in their slots.
import { describe, expect, test } from "vitest";
import { boundTool, sessionId, toolCall, turnConfig } from "../../../../../test/support/scripted-turn.ts";
import type { AssistantPart, StopReason } from "../types.ts";
import { prepareCalls } from "./prepare.ts";

const config = turnConfig();

function prepare(parts: readonly AssistantPart[], stop: StopReason = "tool_use", given = config) {
  return prepareCalls(given, {
    type: "assistant",
    turn: 1,
    step: 3,
    parts,
    stop,
    usage: { inputTokens: 0, outputTokens: 0 },
  });
}

describe("what is refused in its slot", () => {
  test("report 131: an unknown tool is answered with near names, and the others run", () => {
    const [unknown, known] = prepare([toolCall("get_dat"), toolCall("read")]);
    expect(unknown).toEqual({
      index: 0,
      callId: `${sessionId}:agv_01:t1.3:0`,
      providerId: "id_get_dat",
      name: "get_dat",
      tool: null,
      version: null,
      argsJson: "{}",
      scheduling: "parallel",
      settled: {
        index: 0,
        callId: `${sessionId}:agv_01:t1.3:0`,
        providerId: "id_get_dat",
        name: "get_dat",
        told: "refused",
        status: "failed",
        text: '[Tool not run]\nthere is no tool "get_dat": did you mean "get_date"?',
        isError: true,
        errorCode: "tool_not_found",
        editedArgsJson: null,
        editedBy: null,
        durationMs: 0,
      },
    });
    expect(known?.settled).toBeNull();
  });

  test("report 132: a tool that exists nowhere has a result too, and it names what there is", () => {
    const [call] = prepare([toolCall("frobnicate")]);
    expect(call?.settled?.text).toBe(
      '[Tool not run]\nthere is no tool "frobnicate": the tools are read, write, get_date',
    );
    const [lonely] = prepare([toolCall("frobnicate")], "tool_use", turnConfig({}, { tools: [] }));
    expect(lonely?.settled?.text).toBe(
      '[Tool not run]\nthere is no tool "frobnicate", and no other one: answer without tools',
    );
  });

  test("namesToldMax: twenty names are listed, and of twenty-one the last is counted", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => boundTool(`tool_${String.fromCodePoint(97 + n)}`));
    const told = (count: number) =>
      prepare([toolCall("quite_another")], "tool_use", turnConfig({}, { tools: many(count) }))[0]?.settled?.text;
    expect(told(20)).toMatch(/tool_s, tool_t$/);
    expect(told(21)).toMatch(/tool_s, tool_t and 1 more$/);
  });

  test("nameToldCharsMax: a name of 65 characters is told back cut", () => {
    const told = (length: number) => prepare([toolCall("q".repeat(length))])[0]?.settled?.text;
    expect(told(64)).toContain(`"${"q".repeat(64)}"`);
    expect(told(65)).toContain(`"${"q".repeat(63)}…"`);
  });

  test("callsPerCompletionMax: the 129th call of one answer is told to wait for the next", () => {
    const calls = prepare(Array.from({ length: 130 }, (_, n) => toolCall("read", "{}", `id_${n}`)));
    expect(calls).toHaveLength(130);
    expect(calls.filter(({ settled }) => settled === null)).toHaveLength(128);
    expect(calls[127]?.settled).toBeNull();
    expect(calls[128]?.settled?.errorCode).toBe("too_many_calls");
    expect(calls[129]?.settled?.text).toBe(
      "[Tool not run]\none answer may make 128 calls: make this one in your next answer",
    );
  });

  test("at the output limit only the last call can have been cut off", () => {
    const [first, last] = prepare([toolCall("read", '{"a":', "one"), toolCall("read", '{"a":', "two")], "max_tokens");
    expect(first?.settled?.text).toContain("malformed");
    expect(first?.settled?.text).not.toContain("truncated");
    expect(last?.settled?.text).toContain("truncated");
  });

  test("what the provider gave with a call stays with it and with its refusal", () => {
    const metadata = { signature: "abc" };
    const [call] = prepare([{ ...toolCall("frobnicate"), metadata }]);
    expect(call?.metadata).toEqual(metadata);
    expect(call?.settled?.metadata).toEqual(metadata);
  });
});

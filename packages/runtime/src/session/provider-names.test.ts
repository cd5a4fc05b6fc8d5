// What providers are shown: ids that all of them take, unique in a history, and calls that all have their results.
import { describe, expect, test } from "vitest";
import { toolCall } from "../../../../test/support/scripted-turn.ts";
import { isProviderSafe, pairingFault, shownCallIds } from "./provider-names.ts";
import type { AssistantPart, HistoryItem, ToldResult } from "./types.ts";

const usage = { inputTokens: 0, outputTokens: 0 };
const user: HistoryItem = { type: "user", turn: 1, by: "user:ann", text: "hello", inboxSeq: 1 };

function assistant(step: number, parts: readonly AssistantPart[]): HistoryItem {
  return { type: "assistant", turn: 1, step, parts, stop: "tool_use", usage };
}

const result = (index: number, name: string, providerId: string): ToldResult => ({
  index,
  callId: `c${index}`,
  providerId,
  name,
  told: "row",
  status: "succeeded",
  text: "",
  isError: false,
  errorCode: null,
  editedArgsJson: null,
  editedBy: null,
  durationMs: 0,
});

function results(step: number, told: readonly ToldResult[]): HistoryItem {
  return { type: "results", turn: 1, step, results: told, settled: [] };
}

test.each([
  ["get_date", true],
  ["a", true],
  ["A-Z_09", true],
  ["x".repeat(64), true],
  ["x".repeat(65), false],
  ["", false],
  ["acme.read", false],
  ["read file", false],
  ["läs", false],
  ["read\n", false],
])("%j is safe: %s", (name, safe) => {
  expect(isProviderSafe(name)).toBe(safe);
});

describe("ids of calls", () => {
  const hash = (text: string): string => `${text.replaceAll(".", "x")}${"z".repeat(40)}`;
  const two = [toolCall("read", "{}", "own"), toolCall("write", "{}", "")];
  const history = [
    user,
    assistant(1, two),
    results(1, []),
    assistant(2, [toolCall("read", "{}", "own")]),
    results(2, []),
  ];

  test("a provider's own id stays; an empty one, and one that was there before, gets one of ours", () => {
    const first = ["own", `call_1x1x1${"z".repeat(21)}`];
    const second = [`call_1x2x0${"z".repeat(21)}`];
    expect(shownCallIds(history, hash)).toEqual([[], first, first, second, second]);
    expect(first[1]).toHaveLength(31);
  });

  test("what comes later changes none", () => {
    expect(shownCallIds([...history, user], hash).slice(0, 5)).toEqual(shownCallIds(history, hash));
    expect(shownCallIds(history.slice(0, 3), hash)).toEqual(shownCallIds(history, hash).slice(0, 3));
  });

  test("one that is too long or has other characters is not shown", () => {
    const odd = [toolCall("read", "{}", "x".repeat(65)), toolCall("read", "{}", "fc|1")];
    const [ids] = shownCallIds([assistant(1, odd)], hash);
    expect(ids?.every((id) => id.startsWith("call_"))).toBe(true);
  });
});

describe("pairing", () => {
  const two = assistant(1, [{ type: "text", text: "so" }, toolCall("read", "{}", "a"), toolCall("write", "{}", "b")]);
  const [a, b] = [result(0, "read", "a"), result(1, "write", "b")];

  test.each<readonly [string, readonly HistoryItem[], string | undefined]>([
    ["nothing", [], undefined],
    ["messages and answers", [user, assistant(1, [{ type: "text", text: "hi" }]), user], undefined],
    ["calls with their results", [user, two, results(1, [a, b]), user], undefined],
    ["no results", [user, two], "history item 1: 2 calls without results behind them"],
    ["a message in between", [two, user, results(1, [a, b])], "history item 0: 2 calls without results behind them"],
    ["one too few", [two, results(1, [a])], "history item 0: 2 calls and 1 results"],
    ["one twice", [two, results(1, [a, b, b])], "history item 0: 2 calls and 3 results"],
    ["another order", [two, results(1, [b, a])], "history item 0: the result in place 0 is not that of call 0"],
    [
      "another call's",
      [two, results(1, [a, result(1, "write", "c")])],
      "history item 0: the result in place 1 is not that of call 1",
    ],
    [
      "another index",
      [two, results(1, [result(1, "read", "a"), b])],
      "history item 0: the result in place 0 is not that of call 0",
    ],
    ["results of nothing", [user, results(1, [a])], "history item 1: results without calls before them"],
    [
      "results twice",
      [two, results(1, [a, b]), results(1, [a, b])],
      "history item 2: results without calls before them",
    ],
    ["an answer without a part", [user, assistant(1, [])], "history item 1: an answer that says nothing"],
  ])("%s", (_title, history, fault) => {
    expect(pairingFault(history)).toBe(fault);
  });
});

// The scripted model: the same history has the same answer, a restart plays on, and a strict provider's refusals.
import { expect, test } from "vitest";
import { HandClock, settled } from "../../../../../../test/support/hand-clock.ts";
import type { ModelDelta, ModelOutcome, ModelRequest } from "../../../session/model.ts";
import type { AssistantPart, HistoryItem, ToldResult } from "../../../session/types.ts";
import { readScripts } from "./file.ts";
import { scriptedModel, type ScriptedTrace } from "./model.ts";

const user = (text: string, turn = 1): HistoryItem => ({ type: "user", turn, by: "user:ann", text, inboxSeq: turn });
const answer = (...parts: AssistantPart[]): HistoryItem => ({ type: "assistant", turn: 1, step: 1, parts, stop: "end_turn", usage: { inputTokens: 0, outputTokens: 0 } });
const call = (providerId: string): AssistantPart => ({ type: "tool_call", providerId, name: "find", argumentsText: "{}" });
const said = (text: string): AssistantPart => ({ type: "text", text });

function told(index: number, providerId: string, text: string): ToldResult {
  const base = { callId: `c${index}`, name: "find", told: "row", status: "succeeded", isError: false, errorCode: null } as const;
  return { ...base, index, providerId, text, editedArgsJson: null, editedBy: null, durationMs: 1 };
}
const results = (...list: ToldResult[]): HistoryItem => ({ type: "results", turn: 1, step: 1, results: list, settled: list.map(({ index }) => index) });

function request(history: readonly HistoryItem[], name = "support"): ModelRequest {
  const choice = { provider: "scripted", name, maxOutputTokens: 1_000, temperature: undefined };
  return { choice, system: "Be brief.", history, tools: [], key: "t1.e1" };
}

function playing(scripts: unknown) {
  const read = readScripts({ scripts });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const clock = new HandClock(0);
  const trace: ScriptedTrace[] = [];
  const model = scriptedModel({ scripts: read.scripts, clock, onRequest: (line) => trace.push(line) });
  const deltas: ModelDelta[] = [];
  const ask = (history: readonly HistoryItem[], signal = new AbortController().signal, name?: string): Promise<ModelOutcome> =>
    model.complete(request(history, name), signal, (delta) => deltas.push(delta));
  return { ask, clock, trace, deltas };
}

const twoSteps = {
  support: [
    { text: "I look it up.", calls: [{ tool: "find", input: { q: "{{last_user}}" } }, { tool: "find", input: { q: "b" } }] },
    { text: "It is {{last_result.state}}, order {{result.0.order}}." },
  ],
};
const hello = user("where is my order?");
const batch = answer(call("scripted_0_0"), call("scripted_0_1"));
const found = results(told(0, "scripted_0_0", '{"order":7}'), told(1, "scripted_0_1", '{"state":"shipped"}'));

test("plays its completions in turn, fills templates, and streams words", async () => {
  const { ask, deltas } = playing(twoSteps);
  expect(await ask([hello])).toEqual({
    ok: true,
    stop: "tool_use",
    parts: [
      { type: "text", text: "I look it up." },
      { type: "tool_call", providerId: "scripted_0_0", name: "find", argumentsText: '{"q":"where is my order?"}' },
      { type: "tool_call", providerId: "scripted_0_1", name: "find", argumentsText: '{"q":"b"}' },
    ],
    // 9 + 18 characters heard; 13 + 4 + 26 + 4 + 9 said; four make a token.
    usage: { inputTokens: 7, outputTokens: 14 },
  });
  expect(deltas).toEqual([
    { type: "text", text: "I " },
    { type: "text", text: "look " },
    { type: "text", text: "it " },
    { type: "text", text: "up." },
    { type: "tool_call", name: "find" },
    { type: "tool_call", name: "find" },
  ]);
  expect(await ask([hello, batch, found])).toMatchObject({ ok: true, stop: "end_turn", parts: [said("It is shipped, order 7.")] });
});

test("the history alone says which completion it is: asked again, and by another process, it is the same", async () => {
  const [one, other] = [playing(twoSteps), playing(twoSteps)];
  const second = await one.ask([hello, batch, found]);
  expect(await other.ask([hello, batch, found])).toEqual(second);
  expect(await one.ask([hello, batch, found])).toEqual(second);
  expect(one.trace).toEqual([
    { key: "t1.e1", script: "support", branch: null, position: 1, history_length: 3 },
    { key: "t1.e1", script: "support", branch: null, position: 1, history_length: 3 },
  ]);
});

test("past its end it says so, and with loop it begins again", async () => {
  const after = [hello, answer(said("a")), user("again", 2)];
  expect(await playing({ support: [{ text: "a" }] }).ask(after)).toMatchObject({ parts: [said("The script is over: it has no completion 2.")], stop: "end_turn" });
  expect(await playing({ support: { completions: [{ text: "a" }, { text: "b" }], loop: true } }).ask([...after, answer(said("b")), user("c", 3)])).toMatchObject({ parts: [said("a")] });
});

test("branches are chosen by the last message, and each begins at its start", async () => {
  const branches = [
    { when: { last_user: "refund" }, completions: [{ text: "which one?" }] },
    { when: { last_user: "/^order [0-9]+$/i" }, completions: [{ calls: [{ tool: "find" }] }, { text: "found" }] },
    { completions: [{ text: "hm?" }] },
  ];
  const { ask, trace } = playing({ support: { branches } });
  expect(await ask([user("A REFUND, please")])).toMatchObject({ parts: [said("which one?")] });
  const later = [user("A REFUND, please"), answer(said("which one?")), user("Order 12", 2)];
  expect(await ask(later)).toMatchObject({ parts: [{ name: "find", argumentsText: "{}", providerId: "scripted_1_0" }] });
  expect(await ask([...later, answer(call("scripted_1_0")), results(told(0, "scripted_1_0", "{}"))])).toMatchObject({ parts: [said("found")] });
  expect(await ask([user("hello")])).toMatchObject({ parts: [said("hm?")] });
  expect(trace.map(({ branch, position }) => [branch, position])).toEqual([[0, 0], [1, 0], [1, 1], [2, 0]]);
  const none = playing({ support: { branches: branches.slice(0, 1) } });
  expect(await none.ask([user("hello")])).toMatchObject({ parts: [said("No branch of the script is for this message.")] });
});

test("a template that is a whole text keeps the kind of its value, digits included", async () => {
  const input = { id: "{{last_result.id}}", list: ["{{result.0.tags}}", "n {{last_result.id}}"], gone: "{{last_result.no.such}}", far: "{{result.9}}", big: 5 };
  const { ask } = playing({ support: { completions: [{ calls: [{ tool: "find", input }] }], loop: true } });
  const history = [hello, answer(call("a")), results(told(0, "a", '{"id":9007199254740993,"tags":["x"]}'))];
  expect(await ask(history)).toMatchObject({
    parts: [{ argumentsText: '{"id":9007199254740993,"list":[["x"],"n 9007199254740993"],"gone":null,"far":null,"big":5}' }],
  });
});

test.each(["", '{"q": "cut o', "{{last_user}}", "null"])("arguments_text %j is played as it stands", async (argumentsText) => {
  const { ask } = playing({ support: [{ calls: [{ tool: "find", arguments_text: argumentsText }], stop: "max_tokens" }] });
  expect(await ask([hello])).toMatchObject({ stop: "max_tokens", parts: [{ argumentsText }] });
});

test("a failure is data, and until_turn ends it", async () => {
  const fail = { code: "rate_limited", message: "slow down", retry_after: "2s", until_turn: 2 };
  const { ask } = playing({ support: [{ text: "half", fail }] });
  expect(await ask([hello])).toEqual({ ok: false, code: "rate_limited", message: "slow down", retryAfterMs: 2_000, parts: [said("half")], usage: { inputTokens: 7, outputTokens: 1 } });
  expect(await ask([hello, user("again", 2)])).toMatchObject({ ok: true, parts: [said("half")] });
});

test("waits by the clock, and an abort ends the wait at once", async () => {
  const { ask, clock } = playing({ support: [{ text: "late", delay_ms: 1_000 }] });
  let done = false;
  const first = ask([hello]).finally(() => (done = true));
  await clock.pass(999);
  expect(done).toBe(false);
  await clock.pass(1);
  expect(await first).toMatchObject({ ok: true });
  const abort = new AbortController();
  const second = ask([hello], abort.signal);
  await settled();
  abort.abort();
  expect(await second).toMatchObject({ ok: false, code: "cancelled", parts: [] });
  expect(clock.timers).toBe(0);
});

test("an abort between two words keeps what was said", async () => {
  const read = readScripts({ scripts: { support: [{ text: "one two three" }] } });
  if (!read.ok) throw new Error("is a script");
  const abort = new AbortController();
  const outcome = await scriptedModel({ scripts: read.scripts, clock: new HandClock(0) }).complete(request([hello]), abort.signal, () => abort.abort());
  expect(outcome).toMatchObject({ ok: false, code: "cancelled", parts: [said("one ")] });
});

test("usage is what the script says where it says it", async () => {
  const { ask } = playing({ support: [{ text: "a", usage: { input_tokens: 900, output_tokens: 100 } }] });
  expect(await ask([hello])).toMatchObject({ usage: { inputTokens: 900, outputTokens: 100 } });
});

test("an unknown script is refused by name", async () => {
  const { ask } = playing(twoSteps);
  expect(await ask([hello], undefined, "sales")).toMatchObject({ ok: false, code: "refused_request", message: 'there is no script "sales"; there are support' });
});

test.each<[string, readonly HistoryItem[], string]>([
  ["nothing", [], "the history is empty"],
  ["no user first", [answer(said("a")), hello], "the history begins with an item of type assistant, not with a user's message"],
  ["a call without a result at the end", [hello, batch], "history item 1: 2 calls without results behind them"],
  ["a message between", [hello, batch, user("hey"), found], "history item 1: 2 calls without results behind them"],
  ["too few results", [hello, batch, results(told(0, "scripted_0_0", "1"))], "history item 1: 2 calls and 1 results"],
  ["results in another order", [hello, batch, results(told(1, "scripted_0_1", "1"), told(0, "scripted_0_0", "1"))], "history item 1: the result in place 0 is not that of call 0"],
  ["another's result", [hello, answer(call("a")), results(told(0, "b", "1"))], "history item 1: the result in place 0 is not that of call 0"],
  ["an orphan", [hello, answer(said("a")), results(told(0, "a", "1"))], "history item 2: results without calls before them"],
  ["a second batch of results", [hello, batch, found, found], "history item 3: results without calls before them"],
  ["its own answer last", [hello, answer(said("a"))], "the history ends with the model's own answer"],
])("a history with %s is refused as a strict provider would", async (_, history, message) => {
  const { ask, deltas } = playing(twoSteps);
  expect(await ask(history)).toEqual({ ok: false, code: "refused_request", message, retryAfterMs: null, parts: [], usage: { inputTokens: 0, outputTokens: 0 } });
  expect(deltas).toEqual([]);
});

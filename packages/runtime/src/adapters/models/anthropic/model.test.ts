// Anthropic's API over real HTTP, from a server that keeps its rules: what is asked, what comes back, and how it breaks.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as wire from "../../../../../../test/support/anthropic-wire.ts";
import { HandClock } from "../../../../../../test/support/hand-clock.ts";
import { answer, askModel, call, findTool, requestOf, results, said, thought, told, user } from "../../../../../../test/support/model-requests.ts";
import type { WireReply, WireServer } from "../../../../../../test/support/wire-server.ts";
import { sha256 } from "../../system/crypto.ts";
import { anthropicModel, type AnthropicOptions } from "./model.ts";

let server: WireServer;
let clock: HandClock;
beforeEach(async () => {
  server = await wire.startAnthropic();
  clock = new HandClock(1_700_000_000_000);
});
afterEach(() => server.close());

const model = (changes: Partial<AnthropicOptions> = {}) =>
  anthropicModel({
    name: "here",
    apiKey: wire.anthropicKey,
    baseUrl: server.url,
    headers: {},
    timeoutMs: 10_000,
    idleMs: 5_000,
    maxRetries: 0,
    extraBody: {},
    clock,
    hash: sha256,
    ...changes,
  });
const hello = user("where is my order?");
const ask = async (history = [hello], changes: Partial<AnthropicOptions> = {}) => askModel(model(changes), requestOf(history));
const answering = async (reply: string | WireReply) => {
  server.script(typeof reply === "string" ? { body: reply } : reply);
  return ask();
};

describe("an answer", () => {
  const stream = wire.messageOf(
    "tool_use",
    wire.blockStart(0, { type: "thinking", thinking: "", signature: "" }) +
      wire.blockDelta(0, { type: "thinking_delta", thinking: "The order… " }) +
      wire.blockDelta(0, { type: "thinking_delta", thinking: "🛒 7" }) +
      wire.blockDelta(0, { type: "signature_delta", signature: "EqQBCg==" }) +
      wire.blockStop(0),
    wire.blockStart(1, { type: "redacted_thinking", data: "EmwKAh==" }) + wire.blockStop(1),
    wire.textBlock(2, "Ich schaue ", "nach: 日本 🛒."),
    wire.toolBlock(3, "toolu_01", "find", "", '{"q": "sch', 'ö", "n": 9007199254740993}'),
    wire.toolBlock(4, "toolu_02", "find", ""),
  );
  const parts = [
    thought("The order… 🛒 7", { signature: "EqQBCg==" }),
    thought("", { redacted: "EmwKAh==" }),
    said("Ich schaue nach: 日本 🛒."),
    call("toolu_01", '{"q": "schö", "n": 9007199254740993}'),
    call("toolu_02", ""),
  ];

  test("comes as parts, deltas, stop and usage; arguments are the text as it came", async () => {
    const { outcome, deltas } = await answering(stream);
    expect(outcome).toEqual({ ok: true, parts, stop: "tool_use", usage: { inputTokens: 240, outputTokens: 25 } });
    expect(deltas).toEqual([
      { type: "thought", text: "The order… " },
      { type: "thought", text: "🛒 7" },
      { type: "text", text: "Ich schaue " },
      { type: "text", text: "nach: 日本 🛒." },
      { type: "tool_call", name: "find" },
      { type: "tool_call", name: "find" },
    ]);
    expect(clock.timers).toBe(0);
  });

  test("is the same wherever its bytes are cut, inside characters too", async () => {
    const bytes = Buffer.from(stream).length;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: bytes - 1 }), { maxLength: 60 }), async (cuts) => {
        const { outcome } = await answering({ body: stream, cuts });
        expect(outcome).toEqual({ ok: true, parts, stop: "tool_use", usage: { inputTokens: 240, outputTokens: 25 } });
      }),
      { numRuns: 40 },
    );
    const { outcome } = await answering({ body: stream, cuts: Array.from({ length: bytes }, (_, index) => index) });
    expect(outcome).toMatchObject({ ok: true, parts });
  });

  test("blocks that come in between one another are put together by index", async () => {
    const mixed =
      wire.blockStart(1, { type: "tool_use", id: "b", name: "find", input: {} }) +
      wire.blockStart(0, { type: "tool_use", id: "a", name: "find", input: {} }) +
      wire.blockDelta(1, { type: "input_json_delta", partial_json: '{"q":' }) +
      wire.blockDelta(0, { type: "input_json_delta", partial_json: '{"q":"a"}' }) +
      wire.blockStop(0) +
      wire.blockDelta(1, { type: "input_json_delta", partial_json: '"b"}' }) +
      wire.blockStop(1);
    const { outcome } = await answering(wire.messageOf("tool_use", mixed));
    expect(outcome).toMatchObject({ ok: true, parts: [call("a", '{"q":"a"}'), call("b", '{"q":"b"}')] });
  });

  test("arguments that max_tokens cut off are passed on cut off", async () => {
    const { outcome } = await answering(wire.messageOf("max_tokens", wire.toolBlock(0, "t", "find", '{"q": "half of')));
    expect(outcome).toMatchObject({ ok: true, stop: "max_tokens", parts: [call("t", '{"q": "half of')] });
  });

  test("an input that comes at once is taken", async () => {
    const { outcome } = await answering(wire.messageOf("tool_use", wire.blockStart(0, { type: "tool_use", id: "t", name: "find", input: { q: "a" } }) + wire.blockStop(0)));
    expect(outcome).toMatchObject({ parts: [call("t", '{"q":"a"}')] });
  });

  test("what is newer than this reader is passed over", async () => {
    const newer =
      wire.sse("message_mood", { type: "message_mood", mood: "fine" }) +
      wire.blockStart(0, { type: "hologram", id: "h" }) +
      wire.blockDelta(0, { type: "hologram_delta", beam: "x" }) +
      wire.blockStop(0) +
      wire.textBlock(1, "ok");
    expect((await answering(wire.messageOf("end_turn", newer))).outcome).toMatchObject({ ok: true, parts: [said("ok")] });
  });

  test.each([
    ["end_turn", "end_turn"],
    ["max_tokens", "max_tokens"],
    ["model_context_window_exceeded", "max_tokens"],
    ["stop_sequence", "stop_sequence"],
    ["refusal", "refusal"],
    ["pause_turn", "end_turn"],
    ["tool_use", "end_turn"],
    ["of next year", "end_turn"],
  ])("that stops by %s, without calls, stops by %s", async (reason, stop) => {
    expect((await answering(wire.messageOf(reason, wire.textBlock(0, "a")))).outcome).toMatchObject({ ok: true, stop });
  });

  test("usage that the last event tells replaces that of the first; where none is told it is counted from characters", async () => {
    const late = wire.sse("message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: 12, output_tokens: 5 } });
    expect((await answering(wire.messageStart + wire.textBlock(0, "a") + late)).outcome).toMatchObject({ ok: true, usage: { inputTokens: 242, outputTokens: 5 } });
    const bare = wire.sse("message_start", { type: "message_start", message: {} }) + wire.textBlock(0, "abcdefgh") + wire.sse("message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" } });
    expect((await answering(bare)).outcome).toMatchObject({ ok: true, usage: { inputTokens: 7, outputTokens: 2 } });
  });
});

describe("a request", () => {
  const ok = wire.messageOf("end_turn", wire.textBlock(0, "ok"));
  const sent = async (...history: Parameters<typeof requestOf>[0]) => {
    server.script({ body: ok });
    const { outcome } = await ask([...history]);
    expect(outcome).toMatchObject({ ok: true });
    return server.requests.at(-1)?.body["messages"];
  };

  test("carries model, limits, system, tools and what is configured beside them", async () => {
    server.script({ body: ok });
    const choice = { provider: "here", name: "claude-x", maxOutputTokens: 77, temperature: 0.5 };
    const extraBody = { thinking: { type: "enabled", budget_tokens: 1_024 } };
    await askModel(model({ extraBody, headers: { "X-Team": "blue" } }), requestOf([hello], { choice }));
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers).toMatchObject({ "x-team": "blue", authorization: `Bearer ${wire.anthropicKey}` });
    expect(server.requests[0]?.body).toEqual({
      model: "claude-x",
      max_tokens: 77,
      temperature: 0.5,
      system: "Be brief.",
      messages: [{ role: "user", content: [{ type: "text", text: "where is my order?" }] }],
      tools: [{ name: "find", description: "Finds things.", input_schema: findTool.input }],
      thinking: { type: "enabled", budget_tokens: 1_024 },
      stream: true,
    });
  });

  test("has the results of one answer in one message, directly behind it, and a message of the user after them", async () => {
    const parts = [thought("hm", { signature: "sig" }), thought("", { redacted: "xx" }), thought("of another", {}), said("Wait."), call("a", '{"n":9007199254740993}'), call("b", "")];
    expect(await sent(user("one"), user("two"), answer(...parts), results(told(0, "a", '{"x":1}'), told(1, "b", "no such thing", true)), user("and?"))).toEqual([
      { role: "user", content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sig" },
          { type: "redacted_thinking", data: "xx" },
          { type: "text", text: "Wait." },
          // Read back by a reader that rounds; that the digits are sent is seen below.
          { type: "tool_use", id: "a", name: "find", input: { n: 9007199254740992 } },
          { type: "tool_use", id: "b", name: "find", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: '{"x":1}' },
          { type: "tool_result", tool_use_id: "b", content: "no such thing", is_error: true },
          { type: "text", text: "and?" },
        ],
      },
    ]);
  });

  test("shows ids that no provider refuses: one too long, one of other characters, one empty, one used before", async () => {
    const ids = ["x".repeat(65), "functions.find:0", "", "twice", "twice"];
    const [one, other] = [answer(...ids.map((id) => call(id))), answer(call("twice"))];
    const messages = (await sent(hello, one, results(...ids.map((id, index) => told(index, id, "1"))), other, results(told(0, "twice", "2")))) as readonly {
      readonly content: readonly { readonly id?: string; readonly tool_use_id?: string }[];
    }[];
    const shown = messages.flatMap(({ content }) => content.flatMap(({ id }) => id ?? []));
    expect(shown).toHaveLength(6);
    expect(shown[3]).toBe("twice");
    for (const index of [0, 1, 2, 4, 5]) expect(shown[index]).toMatch(/^call_[0-9a-f]{26}$/);
    expect(new Set(shown).size).toBe(6);
    expect(messages.flatMap(({ content }) => content.flatMap(({ tool_use_id }) => tool_use_id ?? []))).toEqual(shown);
  });

  test("is refused by nobody for what a model or a tool made up: names, cut arguments, empty texts, halves of characters", async () => {
    const odd = [call("a", '{"q": "cut', "no such/tool!"), call("b", "[1]", ""), call("c", "null", "x".repeat(90))];
    const bad = results(told(0, "a", "", true, "no such/tool!"), told(1, "b", "", false, ""), told(2, "c", "\ud83d half", true, "x".repeat(90)));
    expect(await sent(user("  "), answer(said(" \n"), thought("", undefined)), user("\udc00"), answer(...odd), bad)).toEqual([
      { role: "user", content: [{ type: "text", text: "(no text)" }, { type: "text", text: "�" }] },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "no_such_tool_", input: {} },
          { type: "tool_use", id: "b", name: "unnamed", input: {} },
          { type: "tool_use", id: "c", name: "x".repeat(64), input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "(no text)", is_error: true },
          { type: "tool_result", tool_use_id: "b", content: "" },
          { type: "tool_result", tool_use_id: "c", content: "� half", is_error: true },
        ],
      },
    ]);
  });

  test("without tools and system names neither", async () => {
    server.script({ body: ok });
    await askModel(model(), requestOf([hello], { tools: [], system: " " }));
    expect(Object.keys(server.requests[0]?.body ?? {})).toEqual(["model", "max_tokens", "messages", "stream"]);
  });

  test("whose history lacks a result never leaves the machine", async () => {
    const { outcome } = await ask([hello, answer(call("a"))]);
    expect(outcome).toMatchObject({ ok: false, code: "refused_request", message: "history item 1: 1 calls without results behind them" });
    expect(server.requests).toEqual([]);
  });
});

describe("a failure", () => {
  const secretPrompt = "where is my order?";
  test.each<[string, WireReply, string, number | null]>([
    ["401", wire.anthropicError(401, "authentication_error", "invalid x-api-key"), "unauthorized", null],
    ["403", wire.anthropicError(403, "permission_error", "no"), "unauthorized", null],
    ["402", wire.anthropicError(402, "billing_error", "pay"), "unauthorized", null],
    ["429", wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "7" }), "rate_limited", 7_000],
    ["429 with a date", wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT" }), "rate_limited", 30_000],
    ["429 for two days", wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "172800" }), "rate_limited", 86_400_000],
    ["429 with nonsense", wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "soon" }), "rate_limited", null],
    ["529", wire.anthropicError(529, "overloaded_error", "Overloaded"), "overloaded", null],
    ["503 of a gateway", { status: 503, headers: { "content-type": "text/html" }, body: "<html>where is my order?</html>" }, "overloaded", null],
    ["500", wire.anthropicError(500, "api_error", "oops"), "overloaded", null],
    ["504", wire.anthropicError(504, "timeout_error", "slow"), "timeout", null],
    ["413", wire.anthropicError(413, "request_too_large", "big"), "context_too_long", null],
    ["400 too long", wire.anthropicError(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), "context_too_long", null],
    ["400", wire.anthropicError(400, "invalid_request_error", `messages.0.content: bad ${secretPrompt}`), "refused_request", null],
    ["404", wire.anthropicError(404, "not_found_error", "model: nope"), "refused_request", null],
  ])("%s is told by its code, and says nothing of key or prompt", async (_, reply, code, retryAfterMs) => {
    const { outcome } = await answering(reply);
    expect(outcome).toMatchObject({ ok: false, code, retryAfterMs, parts: [] });
    expect(JSON.stringify(outcome)).not.toContain(secretPrompt);
    expect(JSON.stringify(outcome)).not.toContain(wire.anthropicKey);
  });

  test("names the place, the kind and the request, which are of use to whoever configures it", async () => {
    const { outcome } = await answering(wire.anthropicError(400, "invalid_request_error", "tools.0.custom.input_schema: does not support oneOf at the top level"));
    expect(outcome).toMatchObject({
      message: "here refused the request: check the model's name and the tools' schemas (status 400, invalid_request_error, at tools.0.custom.input_schema, request req_011CS)",
    });
  });

  test("a wrong key is told without the key, by the server's own echo too", async () => {
    server.script({ body: "" });
    const { outcome } = await ask([hello], { apiKey: "sk-ant-wrong-key" });
    expect(outcome).toMatchObject({ code: "unauthorized" });
    expect(JSON.stringify(outcome)).not.toContain("sk-ant-wrong-key");
  });

  test("a busy provider is asked again when it says so, and answers", async () => {
    server.script(wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after-ms": "5" }), wire.anthropicError(529, "overloaded_error", "no", { "retry-after-ms": "5" }), {
      body: wire.messageOf("end_turn", wire.textBlock(0, "ok")),
    });
    const { outcome } = await ask([hello], { maxRetries: 2 });
    expect(outcome).toMatchObject({ ok: true, parts: [said("ok")] });
    expect(server.requests).toHaveLength(3);
  });

  test("a provider that asks for more time than half a minute is not waited for", async () => {
    server.script(wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "31" }));
    const { outcome } = await ask([hello], { maxRetries: 2 });
    expect(outcome).toMatchObject({ ok: false, code: "rate_limited", retryAfterMs: 31_000 });
    expect(server.requests).toHaveLength(1);
  });

  const begun = wire.messageStart + wire.textBlock(0, "half ") + wire.toolBlock(1, "t", "find", '{"q":"a"}') + wire.blockStart(2, { type: "tool_use", id: "u", name: "find", input: {} });
  const whatCame = { parts: [said("half "), call("t", '{"q":"a"}')], usage: { inputTokens: 240, outputTokens: 1 } };

  test.each(["cut", "end"] as const)("a stream that is cut off (%s) keeps what was whole, and leaves out the call that was not", async (after) => {
    expect((await answering({ body: begun, after })).outcome).toMatchObject({ ok: false, code: "cut_off", ...whatCame });
    expect((await answering({ body: `${begun}event: content_block_delta\ndata: {"type":"conte`, after })).outcome).toMatchObject({ ok: false, code: "cut_off", ...whatCame });
  });

  test("a line that breaks after the stop was told takes nothing away", async () => {
    const body = wire.messageStart + wire.textBlock(0, "all") + wire.messageDelta("end_turn");
    expect((await answering({ body, after: "cut" })).outcome).toMatchObject({ ok: true, parts: [said("all")], stop: "end_turn" });
  });

  test.each([
    ["overloaded_error", "overloaded"],
    ["rate_limit_error", "rate_limited"],
    ["api_error", "overloaded"],
    ["invalid_request_error", "refused_request"],
    ["curious_error", "cut_off"],
  ])("an error in the stream of type %s is %s", async (type, code) => {
    const { outcome } = await answering(begun + wire.sse("error", { type: "error", error: { type, message: secretPrompt } }));
    expect(outcome).toMatchObject({ ok: false, code, ...whatCame });
    expect(JSON.stringify(outcome)).not.toContain(secretPrompt);
  });

  test.each<[string, string]>([
    ["no JSON", wire.sse("content_block_delta", "{not json")],
    ["null", wire.sse("content_block_delta", "null")],
    ["a number", wire.sse("message_delta", "7")],
    ["a piece of a block that never began", wire.blockDelta(9, { type: "text_delta", text: "x" })],
    ["a piece that is no text", wire.blockDelta(0, { type: "text_delta", text: 7 })],
    ["a block twice", wire.blockStart(0, { type: "text", text: "" })],
    ["a block without a type", wire.blockStart(7, {})],
  ])("junk in a stream (%s) is malformed", async (_, junk) => {
    const { outcome } = await answering(wire.messageStart + wire.textBlock(0, "a") + junk + wire.messageDelta("end_turn"));
    expect(outcome).toMatchObject({ ok: false, code: "malformed", parts: [said("a")] });
  });

  test.each<[string, WireReply]>([
    ["a page", { headers: { "content-type": "text/html" }, body: "<html>sign in</html>" }],
    ["JSON", { headers: { "content-type": "application/json" }, body: '{"type":"message","content":[]}' }],
    ["nothing", { headers: { "content-type": "text/plain" }, body: "" }],
  ])("%s instead of a stream is malformed", async (_, reply) => {
    expect((await answering(reply)).outcome).toMatchObject({ ok: false, code: "malformed", message: "here did not answer with a stream of events: check its base_url" });
  });

  test("nobody at the address is unreachable", async () => {
    const { outcome } = await ask([hello], { baseUrl: "http://127.0.0.1:9" });
    expect(outcome).toMatchObject({ ok: false, code: "unreachable", message: "here cannot be reached: check its base_url and the network", parts: [] });
  });
});

describe("time", () => {
  test("a stream that falls silent is given up after the idle time, with what had come", async () => {
    server.script({ body: wire.messageStart + wire.textBlock(0, "half"), after: "hang" });
    const { promise: came, resolve } = Promise.withResolvers<void>();
    const asked = model().complete(requestOf([hello]), new AbortController().signal, () => resolve());
    await came;
    await clock.pass(4_999);
    expect(clock.timers).toBe(1);
    await clock.pass(1);
    expect(await asked).toMatchObject({ ok: false, code: "timeout", parts: [said("half")] });
    await server.left;
    expect(clock.timers).toBe(0);
  });

  test("every piece begins the idle time anew", async () => {
    const { promise: more, resolve: say } = Promise.withResolvers<string>();
    server.script({ body: wire.messageStart + wire.textBlock(0, "one"), more, after: "hang" });
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const asked = model().complete(requestOf([hello]), new AbortController().signal, (delta) => (delta.type === "text" && delta.text === "one" ? first : second).resolve());
    await first.promise;
    await clock.pass(4_000);
    say(wire.textBlock(1, "two"));
    await second.promise;
    await clock.pass(4_999);
    expect(clock.timers).toBe(1);
    await clock.pass(1);
    expect(await asked).toMatchObject({ ok: false, code: "timeout", parts: [said("one"), said("two")] });
  });

  test("a provider that does not begin is given up after the timeout", async () => {
    server.script({ body: "", silent: true });
    const asked = model().complete(requestOf([hello]), new AbortController().signal, () => undefined);
    await expect.poll(() => server.requests.length).toBe(1);
    await clock.pass(10_000);
    expect(await asked).toMatchObject({ ok: false, code: "timeout", parts: [] });
    await server.left;
  });

  test("an abort ends it at once and closes the connection; one before it asks nobody", async () => {
    server.script({ body: wire.messageStart + wire.textBlock(0, "half"), after: "hang" });
    const abort = new AbortController();
    const outcome = await model().complete(requestOf([hello]), abort.signal, () => abort.abort());
    expect(outcome).toMatchObject({ ok: false, code: "cancelled", parts: [said("half")] });
    await server.left;
    expect(clock.timers).toBe(0);
    const again = await askModel(model(), requestOf([hello]), AbortSignal.abort());
    expect(again.outcome).toMatchObject({ ok: false, code: "cancelled", parts: [] });
    expect(server.requests).toHaveLength(1);
  });

  test("an abort ends the wait before another try", async () => {
    server.script(wire.anthropicError(429, "rate_limit_error", "slow", { "retry-after": "20" }));
    const abort = new AbortController();
    const asked = model({ maxRetries: 1 }).complete(requestOf([hello]), abort.signal, () => undefined);
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort();
    expect(await asked).toMatchObject({ ok: false, code: "cancelled" });
    expect(server.requests).toHaveLength(1);
  });
});

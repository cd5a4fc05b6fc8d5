// Chat Completions over real HTTP, from servers that keep OpenAI's rules and from careless ones: what is asked, what comes back, and how it breaks.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HandClock } from "../../../../../../test/support/hand-clock.ts";
import { answer, askModel, call, findTool, requestOf, results, said, thought, told, user } from "../../../../../../test/support/model-requests.ts";
import * as wire from "../../../../../../test/support/openai-wire.ts";
import type { WireReply, WireServer } from "../../../../../../test/support/wire-server.ts";
import { sha256 } from "../../system/crypto.ts";
import { openAiModel, type OpenAiOptions } from "./model.ts";

let server: WireServer;
let other: WireServer;
let clock: HandClock;
beforeEach(async () => {
  [server, other] = await Promise.all([wire.startOpenAi(), wire.startOpenAi("template")]);
  clock = new HandClock(1_700_000_000_000);
});
afterEach(() => Promise.all([server.close(), other.close()]));

const model = (changes: Partial<OpenAiOptions> = {}) =>
  openAiModel({
    name: "here",
    apiKey: wire.openAiKey,
    baseUrl: `${server.url}/v1`,
    organization: null,
    project: null,
    headers: {},
    timeoutMs: 10_000,
    idleMs: 5_000,
    maxRetries: 0,
    extraBody: {},
    dialect: { tokensField: "max_completion_tokens", argumentsMustBeJson: false, streamUsage: true, returnThoughts: true },
    clock,
    hash: sha256,
    ...changes,
  });
/** Of the last request that the careless server got. */
const sentMessages = <T>(): readonly T[] => (other.requests.at(-1)?.body["messages"] ?? []) as readonly T[];
/** A server of somebody else, without a key. */
const compatible = (changes: Partial<OpenAiOptions> = {}) =>
  model({ apiKey: undefined, baseUrl: `${other.url}/v1`, dialect: { tokensField: "max_tokens", argumentsMustBeJson: true, streamUsage: true, returnThoughts: true }, ...changes });
const hello = user("where is my order?");
const answering = async (reply: string | WireReply, changes: Partial<OpenAiOptions> = {}) => {
  server.script(typeof reply === "string" ? { body: reply } : reply);
  return askModel(model(changes), requestOf([hello]));
};

describe("an answer", () => {
  const stream = wire.chatOf(
    "tool_calls",
    wire.content("Ich schaue ", "nach: 日本 🛒."),
    wire.callStart(0, "call_a", "find"),
    wire.callStart(1, "call_b", "find", '{"q"'),
    wire.callMore(0, '{"q": "sch'),
    wire.callMore(1, ': "b"}'),
    wire.callMore(0, 'ö", "n": 9007199254740993}'),
    wire.callStart(2, "call_c", "find", ""),
  );
  const parts = [said("Ich schaue nach: 日本 🛒."), call("call_a", '{"q": "schö", "n": 9007199254740993}'), call("call_b", '{"q": "b"}'), call("call_c", "")];

  test("comes as parts, deltas, stop and usage; calls in between one another are put together by index", async () => {
    const { outcome, deltas } = await answering(stream);
    expect(outcome).toEqual({ ok: true, parts, stop: "tool_use", usage: { inputTokens: 120, outputTokens: 30 } });
    expect(deltas).toEqual([
      { type: "text", text: "Ich schaue " },
      { type: "text", text: "nach: 日本 🛒." },
      { type: "tool_call", name: "find" },
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
        expect(outcome).toEqual({ ok: true, parts, stop: "tool_use", usage: { inputTokens: 120, outputTokens: 30 } });
      }),
      { numRuns: 40 },
    );
    const { outcome } = await answering({ body: stream, cuts: Array.from({ length: bytes }, (_, index) => index) });
    expect(outcome).toMatchObject({ ok: true, parts });
  });

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["tool_calls", "end_turn"],
    ["of next year", "end_turn"],
  ])("that finishes by %s, without calls, stops by %s", async (reason, stop) => {
    expect((await answering(wire.chatOf(reason, wire.content("a")))).outcome).toMatchObject({ ok: true, stop });
  });

  test("with calls asks for tools, whatever the server calls its end; cut by length it says so, with its arguments as they are", async () => {
    const asks = wire.callStart(0, "a", "find", '{"q": "half of');
    expect((await answering(wire.chatOf("stop", asks))).outcome).toMatchObject({ stop: "tool_use", parts: [call("a", '{"q": "half of')] });
    expect((await answering(wire.chatOf("length", asks))).outcome).toMatchObject({ stop: "max_tokens", parts: [call("a", '{"q": "half of')] });
  });

  test("that refuses is a refusal with its words", async () => {
    expect((await answering(wire.chatOf("stop", wire.delta({ refusal: "I won't " }), wire.delta({ refusal: "do that." })))).outcome).toMatchObject({
      stop: "refusal",
      parts: [said("I won't do that.")],
    });
  });

  test("without usage is counted from characters; without the last chunks it is whole once it is finished", async () => {
    const bare = wire.begin + wire.content("abcdefgh") + wire.finish("stop");
    const counted = { ok: true, parts: [said("abcdefgh")], usage: { inputTokens: 7, outputTokens: 2 } };
    expect((await answering(bare + wire.done)).outcome).toMatchObject(counted);
    expect((await answering(bare)).outcome).toMatchObject(counted);
    expect((await answering({ body: bare, after: "cut" })).outcome).toMatchObject(counted);
  });

  test("of several choices is the first", async () => {
    const two = wire.raw({ choices: [{ index: 1, delta: { content: "no" } }, { index: 0, delta: { content: "yes" } }] });
    expect((await answering(wire.chatOf("stop", two))).outcome).toMatchObject({ parts: [said("yes")] });
  });
});

describe("careless servers", () => {
  const asking = async (...pieces: readonly string[]) => {
    other.script({ body: wire.chatOf("tool_calls", ...pieces) });
    const { outcome } = await askModel(compatible(), requestOf([hello]));
    return outcome.parts;
  };

  test("that give every call the index 0, or none, are understood by their ids", async () => {
    const both = [call("a", '{"q":"a"}'), call("b", '{"q":"b"}')];
    expect(await asking(wire.callStart(0, "a", "find", '{"q":"a"}'), wire.callStart(0, "b", "find", '{"q":"b"}'))).toEqual(both);
    const unnumbered = (id: string, args: string): string => wire.piece({ id, function: { name: "find", arguments: args } });
    expect(await asking(unnumbered("a", '{"q":"a"}'), unnumbered("b", '{"q":"b"}'))).toEqual(both);
  });

  test("that say id and name again with every piece, or none at first, are understood", async () => {
    expect(await asking(wire.callStart(0, "a", "find", '{"q":'), wire.callStart(0, "a", "find", '"a"}'))).toEqual([call("a", '{"q":"a"}')]);
    expect(await asking(wire.piece({ index: 0, function: { arguments: "{}" } }), wire.piece({ index: 0, id: "a", function: { name: "find" } }))).toEqual([call("a")]);
    expect(await asking(wire.piece({ index: 0, id: null, function: { name: "find", arguments: null } }))).toEqual([call("", "")]);
  });

  test("that give one id to two calls are answered with two", async () => {
    const twice = [call("same", "{}"), call("same", "{}")];
    expect(await asking(wire.callStart(0, "same", "find", "{}"), wire.callStart(1, "same", "find", "{}"))).toEqual(twice);
    other.script({ body: wire.chatOf("stop", wire.content("ok")) });
    const { outcome } = await askModel(compatible(), requestOf([hello, answer(...twice), results(told(0, "same", "1"), told(1, "same", "2"))]));
    expect(outcome).toMatchObject({ ok: true });
  });

  test("that begin with the second call are put in order", async () => {
    expect(await asking(wire.callStart(1, "b", "find", "{}"), wire.callStart(0, "a", "find", "{}"))).toEqual([call("a"), call("b")]);
  });

  test("that give arguments as an object are read", async () => {
    expect(await asking(wire.piece({ index: 0, id: "a", function: { name: "find", arguments: { q: "a" } } }))).toEqual([call("a", '{"q":"a"}')]);
  });

  test("are given back what they attached, and thoughts under the name that they use", async () => {
    const parts = await asking(
      wire.delta({ reasoning_content: "The or" }),
      wire.delta({ reasoning_content: "der…" }),
      wire.delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x1" }] }),
      wire.delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x2" }] }),
      wire.piece({ index: 0, id: "a", type: "function", function: { name: "find", arguments: "{}" }, extra_content: { google: { thought_signature: "sig" } } }),
    );
    const details = [{ type: "reasoning.encrypted", data: "x1" }, { type: "reasoning.encrypted", data: "x2" }];
    expect(parts).toEqual([
      thought("The order…", { message: { reasoning_content: "The order…", reasoning_details: details } }),
      call("a", "{}", "find", { call: { extra_content: { google: { thought_signature: "sig" } } } }),
    ]);
    const history = [hello, answer(...parts), results(told(0, "a", "1"))];
    other.script({ body: wire.chatOf("stop", wire.content("ok")) });
    await askModel(compatible(), requestOf(history));
    const sent = sentMessages<unknown>()[2];
    expect(sent).toEqual({
      role: "assistant",
      content: null,
      reasoning_content: "The order…",
      reasoning_details: details,
      tool_calls: [{ id: "a", type: "function", function: { name: "find", arguments: "{}" }, extra_content: { google: { thought_signature: "sig" } } }],
    });
    const dialect = { tokensField: "max_tokens", argumentsMustBeJson: true, streamUsage: true, returnThoughts: false } as const;
    await askModel(compatible({ dialect }), requestOf(history));
    expect(sentMessages<unknown>()[2]).not.toHaveProperty("reasoning_content");
  });

  test("that send a thought under two names send one thought", async () => {
    expect(await asking(wire.delta({ reasoning: "hm", reasoning_content: "hm" }), wire.content("ok"))).toMatchObject([{ type: "thought", text: "hm" }, said("ok")]);
  });

  test("whose templates read arguments as JSON never see any that is none", async () => {
    other.script({ body: wire.chatOf("stop", wire.content("ok")) });
    const texts = ["", '{"q": "cut', "null", '{"n":9007199254740993}'];
    const history = [hello, answer(...texts.map((text, index) => call(`c${index}`, text))), results(...texts.map((_, index) => told(index, `c${index}`, "1")))];
    expect((await askModel(compatible(), requestOf(history))).outcome).toMatchObject({ ok: true });
    const calls = sentMessages<{ readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[] }>()[2]?.tool_calls;
    expect(calls?.map(({ function: { arguments: text } }) => text)).toEqual(["{}", "{}", "{}", '{"n":9007199254740993}']);
  });

  test("are asked in their own words: max_tokens, no key, no usage where they refuse to tell it", async () => {
    other.script({ body: wire.chatOf("stop", wire.content("ok")) });
    const dialect = { tokensField: "max_tokens", argumentsMustBeJson: true, streamUsage: false, returnThoughts: true } as const;
    await askModel(compatible({ dialect }), requestOf([hello], { tools: [], system: "" }));
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(other.requests[0]?.body).toEqual({ model: "m-1", max_tokens: 1_000, messages: [{ role: "user", content: "where is my order?" }], stream: true });
  });
});

describe("a request", () => {
  test("carries model, limits, system, tools and what is configured beside them", async () => {
    server.script({ body: wire.chatOf("stop", wire.content("ok")) });
    const choice = { provider: "here", name: "gpt-x", maxOutputTokens: 77, temperature: 0 };
    const changes = { extraBody: { reasoning_effort: "low" }, headers: { "X-Team": "blue" }, organization: "org-1", project: "proj-1" };
    await askModel(model(changes), requestOf([hello], { choice }));
    expect(server.requests[0]?.headers).toMatchObject({ "x-team": "blue", "openai-organization": "org-1", "openai-project": "proj-1" });
    expect(server.requests[0]?.body).toEqual({
      model: "gpt-x",
      max_completion_tokens: 77,
      temperature: 0,
      messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "where is my order?" }],
      tools: [{ type: "function", function: { name: "find", description: "Finds things.", parameters: findTool.input } }],
      reasoning_effort: "low",
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("has one message for each result, in the order of the calls, right behind them; arguments as the model wrote them", async () => {
    server.script({ body: wire.chatOf("stop", wire.content("ok")) });
    const parts = [thought("hm"), said("Wait."), call("a", '{"q": "cut'), call("b", "", "no such/tool")];
    const history = [user("one"), answer(said("")), user("two"), answer(...parts), results(told(0, "a", '{"x":1}'), told(1, "b", "no such tool", true, "no such/tool")), user("and?")];
    expect((await askModel(model(), requestOf(history))).outcome).toMatchObject({ ok: true });
    expect(server.requests[0]?.body["messages"]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "one\n\ntwo" },
      {
        role: "assistant",
        content: "Wait.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "find", arguments: '{"q": "cut' } },
          { id: "b", type: "function", function: { name: "no_such_tool", arguments: "" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: '{"x":1}' },
      { role: "tool", tool_call_id: "b", content: "Error: no such tool" },
      { role: "user", content: "and?" },
    ]);
  });

  test("whose history lacks a result never leaves the machine", async () => {
    expect((await askModel(model(), requestOf([hello, answer(call("a"))]))).outcome).toMatchObject({ ok: false, code: "refused_request" });
    expect(server.requests).toEqual([]);
  });
});

describe("a failure", () => {
  const secretPrompt = "where is my order?";
  test.each<[string, WireReply, string, number | null]>([
    ["401", wire.openAiError(401, "invalid_api_key", `Incorrect API key provided: ${wire.openAiKey}`), "unauthorized", null],
    ["403", wire.openAiError(403, null, "no"), "unauthorized", null],
    ["429", wire.openAiError(429, "rate_limit_exceeded", "slow", { "retry-after": "2.5" }), "rate_limited", 2_500],
    ["429 in ms", wire.openAiError(429, "rate_limit_exceeded", "slow", { "retry-after-ms": "120" }), "rate_limited", 120],
    ["429 for money", wire.openAiError(429, "insufficient_quota", "pay"), "rate_limited", null],
    ["503", wire.openAiError(503, null, "busy"), "overloaded", null],
    ["502 of a gateway", { status: 502, headers: { "content-type": "text/html" }, body: "<html>Bad Gateway</html>" }, "overloaded", null],
    ["400 too long", wire.openAiError(400, "context_length_exceeded", "x"), "context_too_long", null],
    ["400 too long in other words", wire.openAiError(400, null, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens"), "context_too_long", null],
    ["400", wire.openAiError(400, null, `bad: ${secretPrompt}`), "refused_request", null],
    ["404", wire.openAiError(404, "model_not_found", "nope"), "refused_request", null],
    ["422 of another shape", { status: 422, body: `{"detail":[{"msg":"${secretPrompt}"}]}` }, "refused_request", null],
  ])("%s is told by its code, and says nothing of key or prompt", async (_, reply, code, retryAfterMs) => {
    const { outcome } = await answering(reply);
    expect(outcome).toMatchObject({ ok: false, code, retryAfterMs, parts: [] });
    expect(JSON.stringify(outcome)).not.toContain(secretPrompt);
    expect(JSON.stringify(outcome)).not.toContain(wire.openAiKey);
  });

  test("names the field, the code and the request, which are of use to whoever configures it", async () => {
    const { outcome } = await answering(wire.openAiError(400, "invalid_function_parameters", "Invalid schema", {}, "tools[0].function.parameters"));
    expect(outcome).toMatchObject({
      message: "here refused the request: check the model's name and the tools' schemas (status 400, invalid_request_error, invalid_function_parameters, at tools[0].function.parameters, request req_9f)",
    });
  });

  test("a busy provider is asked again when it says so, but not after half a minute", async () => {
    server.script(wire.openAiError(429, null, "slow", { "retry-after-ms": "5" }), { body: wire.chatOf("stop", wire.content("ok")) });
    expect((await askModel(model({ maxRetries: 1 }), requestOf([hello]))).outcome).toMatchObject({ ok: true });
    expect(server.requests).toHaveLength(2);
    server.script(wire.openAiError(429, null, "slow", { "retry-after": "31" }));
    expect((await askModel(model({ maxRetries: 1 }), requestOf([hello]))).outcome).toMatchObject({ code: "rate_limited", retryAfterMs: 31_000 });
    expect(server.requests).toHaveLength(3);
  });

  const begun = wire.begin + wire.content("half ") + wire.callStart(0, "a", "find", "{}");
  test.each(["cut", "end"] as const)("a stream that is cut off (%s) keeps its text and leaves out calls, of which nobody knows whether they are whole", async (after) => {
    const cutOff = { ok: false, code: "cut_off", parts: [said("half ")], usage: { inputTokens: 7, outputTokens: 2 } };
    expect((await answering({ body: begun, after })).outcome).toMatchObject(cutOff);
    expect((await answering({ body: `${begun}data: {"choices":[{"del`, after })).outcome).toMatchObject(cutOff);
  });

  test("an error in the stream is told by its code", async () => {
    const inStream = (error: unknown) => answering(begun + wire.raw({ error }));
    expect((await inStream({ message: secretPrompt, type: "server_error", code: null })).outcome).toMatchObject({ code: "overloaded", parts: [said("half ")] });
    expect((await inStream({ message: "x", type: "rate_limit_error" })).outcome).toMatchObject({ code: "rate_limited" });
    const { outcome } = await inStream({ message: secretPrompt, code: 500 });
    expect(outcome).toMatchObject({ code: "cut_off" });
    expect(JSON.stringify(outcome)).not.toContain(secretPrompt);
  });

  test.each<[string, string]>([
    ["no JSON", wire.raw("{not json")],
    ["null", wire.raw("null")],
    ["a list", wire.raw("[]")],
    ["a text that is none", wire.delta({ content: { a: 1 } })],
    ["a tool call that is none", wire.piece("x" as never)],
  ])("junk in a stream (%s) is malformed", async (_, junk) => {
    expect((await answering(wire.begin + wire.content("a") + junk + wire.finish("stop"))).outcome).toMatchObject({ ok: false, code: "malformed", parts: [said("a")] });
  });

  test("chunks without choices, deltas or anything else are passed over", async () => {
    const odd = wire.raw({}) + wire.raw({ choices: null }) + wire.raw({ choices: [{}] }) + wire.raw({ choices: [{ delta: null }] }) + wire.raw({ choices: [7] }) + ": comment\n\n";
    expect((await answering(wire.chatOf("stop", odd, wire.content("ok")))).outcome).toMatchObject({ ok: true, parts: [said("ok")] });
  });

  test.each<[string, WireReply]>([
    ["a page", { headers: { "content-type": "text/html" }, body: "<html>sign in</html>" }],
    ["JSON", { headers: { "content-type": "application/json" }, body: '{"choices":[{"message":{"content":"a"}}]}' }],
  ])("%s instead of a stream is malformed", async (_, reply) => {
    expect((await answering(reply)).outcome).toMatchObject({ ok: false, code: "malformed", message: "here did not answer with a stream of events: check its base_url" });
  });

  test("nobody at the address is unreachable", async () => {
    expect((await answering("", { baseUrl: "http://127.0.0.1:9/v1" })).outcome).toMatchObject({ ok: false, code: "unreachable" });
  });

  test("more calls than can be is malformed", async () => {
    const many = Array.from({ length: 1_025 }, (_, index) => wire.callStart(index, `c${index}`, "find", "{}")).join("");
    expect((await answering(wire.chatOf("tool_calls", many))).outcome).toMatchObject({ ok: false, code: "malformed" });
  });
});

describe("time", () => {
  test("a stream that falls silent is given up after the idle time", async () => {
    server.script({ body: wire.begin + wire.content("half"), after: "hang" });
    const { promise: came, resolve } = Promise.withResolvers<void>();
    const asked = model().complete(requestOf([hello]), new AbortController().signal, () => resolve());
    await came;
    await clock.pass(5_000);
    expect(await asked).toMatchObject({ ok: false, code: "timeout", parts: [said("half")] });
    await server.left;
    expect(clock.timers).toBe(0);
  });

  test("an answer that is finished is whole although the line stays open", async () => {
    server.script({ body: wire.begin + wire.content("all") + wire.finish("stop"), after: "hang" });
    const { promise: came, resolve } = Promise.withResolvers<void>();
    const asked = model().complete(requestOf([hello]), new AbortController().signal, () => resolve());
    await came;
    await expect.poll(() => clock.timers).toBe(1);
    await clock.pass(5_000);
    expect(await asked).toMatchObject({ ok: true, parts: [said("all")], stop: "end_turn" });
  });

  test("an abort ends it at once and closes the connection", async () => {
    server.script({ body: wire.begin + wire.content("half"), after: "hang" });
    const abort = new AbortController();
    const outcome = await model().complete(requestOf([hello]), abort.signal, () => abort.abort());
    expect(outcome).toMatchObject({ ok: false, code: "cancelled", parts: [said("half")] });
    await server.left;
  });
});

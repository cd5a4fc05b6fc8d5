// Tools in the shapes of model providers: their names, their schemas, and what a model gets to read of its calls.
import { describe, expect, test } from "vitest";
import { createClient } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";
import { providerName } from "./model-names.ts";
import { loadModelTools, modelTools, runToolCall, toAnthropicTools, toOpenAiTools } from "./model-tools.ts";

describe("names", () => {
  test.each([
    ["payments.charge", "payments__charge"],
    ["echo", "echo"],
    ["code-run.v2_x", "code-run__v2_x"],
    [`${"a".repeat(31)}.${"b".repeat(31)}`, `${"a".repeat(31)}__${"b".repeat(31)}`],
  ])("%s is %s for a provider", (tool, name) => {
    expect(providerName(tool)).toBe(name);
  });

  test("names that would be too long, or read like others, end in a hash; all are safe and differ", () => {
    const tools = [
      "a__b",
      "a.b",
      "a_.b",
      "a._b",
      "a.b.c",
      "a__b.c",
      "a.b__c",
      `${"a".repeat(127)}1`,
      `${"a".repeat(127)}2`,
      "x".repeat(65),
      "x".repeat(64),
    ];
    const names = tools.map((tool) => providerName(tool));
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(tools.length);
    expect(names[0]).toMatch(/^a__b_[0-9a-f]{8}$/);
    // A name does not depend on which others are offered.
    expect(providerName("a__b")).toBe(names[0]);
  });
});

const schema = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;
const tools = modelTools([
  { tool: "payments.charge", description: "Charges a card", input: schema },
  { tool: "clock.now", description: "What time it is", input: {} },
]);

describe("lists", () => {
  test("as OpenAI takes them", () => {
    expect(toOpenAiTools(tools)).toEqual([
      { type: "function", function: { name: "payments__charge", description: "Charges a card", parameters: schema } },
      {
        type: "function",
        function: { name: "clock__now", description: "What time it is", parameters: { type: "object" } },
      },
    ]);
  });

  test("as Anthropic takes them", () => {
    expect(toAnthropicTools(tools)).toEqual([
      { name: "payments__charge", description: "Charges a card", input_schema: schema },
      { name: "clock__now", description: "What time it is", input_schema: { type: "object" } },
    ]);
  });

  test("a tool that takes no object cannot be offered", () => {
    const input = { type: "string" };
    expect(() => modelTools([{ tool: "a.b", description: "", input }])).toThrow("a.b takes no object");
  });

  test("from the runtime, those that are named or all", async () => {
    const seen: string[] = [];
    const client = createClient({
      url: "http://runtime.test",
      fetch: async (input) => {
        const place = (input as string).slice("http://runtime.test".length);
        seen.push(place);
        const name = /tools\/(.+)$/.exec(place)?.[1];
        if (name === undefined) return Response.json({ items: [{ tool: "a.b" }, { tool: "c.d" }], next_cursor: null });
        return Response.json({ tool: name, version: { description: `does ${name}`, spec: { input: schema } } });
      },
    });
    expect((await loadModelTools(client, ["a.b"])).items).toEqual([
      { tool: "a.b", name: "a__b", description: "does a.b", input: schema },
    ]);
    expect((await loadModelTools(client)).items.map(({ name }) => name)).toEqual(["a__b", "c__d"]);
    expect(seen).toEqual(["/v1/tools/a.b", "/v1/tools?limit=100", "/v1/tools/a.b", "/v1/tools/c.d"]);
  });
});

/** A client of one scripted answer, and the body that it sent. */
function answering(status: number, body: unknown) {
  const sent: string[] = [];
  const client = createClient({
    url: "http://runtime.test",
    retry: { attemptsMax: 1 },
    fetch: async (_input, init) => {
      sent.push(init?.body as string);
      if (status === 0) throw new TypeError("fetch failed");
      return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
    },
    ports: { newKey: () => "key-1" },
  });
  return { client, sent };
}

const done = '{"execution_id":"exec_1","status":"succeeded","output":{"n":12345678901234567890}}';
const openAi = (name: string, text: string) => ({ id: "call_1", function: { name, arguments: text } });

describe("calls", () => {
  test("of OpenAI: the arguments go out as they came, the output comes back digit for digit", async () => {
    const { client, sent } = answering(200, done);
    const call = openAi("payments__charge", '{"amount":98765432109876543210}');
    expect(await runToolCall(client, tools, call, { context: { workflow_id: "w1" } })).toEqual({
      role: "tool",
      tool_call_id: "call_1",
      content: '{"n":12345678901234567890}',
    });
    expect(sent).toEqual([
      '{"context":{"workflow_id":"w1"},"tool":"payments.charge","idempotency_key":"key-1","input":{"amount":98765432109876543210}}',
    ]);
  });

  test("of Anthropic", async () => {
    const { client, sent } = answering(200, done);
    const use = { type: "tool_use", id: "toolu_1", name: "payments__charge", input: { amount: 5 } };
    expect(await runToolCall(client, tools, use)).toEqual({
      type: "tool_result",
      tool_use_id: "toolu_1",
      content: '{"n":12345678901234567890}',
      is_error: false,
    });
    expect(sent).toEqual(['{"tool":"payments.charge","input":{"amount":5},"idempotency_key":"key-1"}']);
  });

  test("no arguments are an empty object", async () => {
    const { client, sent } = answering(200, done);
    await runToolCall(client, tools, openAi("clock__now", ""));
    expect(sent).toEqual(['{"tool":"clock.now","idempotency_key":"key-1","input":{}}']);
  });

  test.each([
    ["payments.charge", "{}", "tool_not_found"],
    ["delete_everything", "{}", "tool_not_found"],
    ["payments__charge", '{"amount":', "invalid_input"],
  ])("%s(%s) is answered without asking the runtime", async (name, text, code) => {
    const { client, sent } = answering(200, done);
    const { content } = await runToolCall(client, tools, openAi(name, text));
    expect(JSON.parse(content)).toMatchObject({ error: { code } });
    expect(sent).toEqual([]);
  });

  test("a refusal and a bad end are answers for the model", async () => {
    const error = { code: "forbidden", message: "payments above 1000 are not made", retryable: false };
    const { client } = answering(403, { error, execution_id: "exec_1" });
    const use = { id: "toolu_1", name: "payments__charge", input: { amount: 5_000 } };
    expect(await runToolCall(client, tools, use)).toEqual({
      type: "tool_result",
      tool_use_id: "toolu_1",
      content: '{"error":{"code":"forbidden","message":"payments above 1000 are not made"}}',
      is_error: true,
    });
  });

  test.each([
    [401, { error: { code: "key_revoked", message: "no" } }, "key_revoked"],
    [0, undefined, "unreachable"],
    [200, "<html>", "unreadable_answer"],
  ])("what a model can do nothing about is thrown (%i)", async (status, body, code) => {
    const { client } = answering(status, body);
    const error = await runToolCall(client, tools, openAi("clock__now", "{}")).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SignalboxApiError);
    expect(error).toMatchObject({ code });
  });
});

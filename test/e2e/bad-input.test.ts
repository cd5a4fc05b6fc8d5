// What callers and handlers get wrong: each mistake has a clear answer, costs its own call and nothing else.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ToolContext } from "@signalbox/worker";
import { door } from "../support/door.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
/** Runs from the first test to the last on the worker that all the others use. */
let bystander: Promise<Reply>;

const outputs: Readonly<Record<string, () => unknown>> = {
  loneSurrogate: () => ({ text: "left \ud800 right", ["key \udc00"]: 1 }),
  protoKey: () => JSON.parse('{"__proto__":{"polluted":1},"ok":true}') as unknown,
  cycle() {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    return cycle;
  },
  map: () => new Map([["a", 1]]),
  fiftyMegabytes: () => ({ text: "x".repeat(50 * 1024 * 1024) }),
  justOverTheLimit: () => "x".repeat(1024 * 1024 - 1),
  atTheLimit: () => "x".repeat(1024 * 1024 - 2),
  deep() {
    let value: unknown = 1;
    for (let level = 0; level < 100; level++) value = [value];
    return value;
  },
  nothing: () => undefined,
};

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  await stack.register(workerTool("mirror", "1.0.0", { input: {} }));
  await stack.register(workerTool("make"));
  await stack.register(workerTool("bystander", "1.0.0", { timeout: "5m" }));
  await stack.register(workerTool("optional", "1.0.0", { input: optionalLimit }));
  await stack.startWorker("w-bad", [
    {
      tool: "mirror",
      handler(args: unknown, ctx: ToolContext) {
        gates.note(args, ctx);
        return args;
      },
    },
    { tool: "make", handler: ({ what }: { readonly what: string }) => outputs[what]?.() },
    { tool: "optional", handler: (args: unknown) => ({ got: args }) },
    { tool: "bystander", handler: gates.hold },
  ]);
  bystander = admin.invoke({ tool: "bystander", input: { gate: "bystander" }, wait_ms: 300_000 });
  await gates.entered("bystander");
});
afterEach(nothingIsLost);
afterAll(async () => {
  await bystanderEnds();
  await finish(stack, gates);
});

/** The runtime takes calls, and the call beside still runs. */
async function nothingIsLost(): Promise<void> {
  const { status, body } = await admin.invoke({ tool: "mirror", input: { still: "here" } });
  expect([status, body.output]).toEqual([200, { still: "here" }]);
  const { ctx } = await gates.entered("bystander");
  expect(ctx.signal.aborted).toBe(false);
}

async function bystanderEnds(): Promise<void> {
  gates.open("bystander", { undisturbed: true });
  expect((await bystander).body).toMatchObject({ status: "succeeded", output: { undisturbed: true } });
}

const optionalLimit = {
  type: "object",
  properties: { limit: { type: "integer" }, page: { type: "integer", default: 20 } },
  additionalProperties: false,
};

function sent(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return admin.ask("POST", "/v1/executions", { body, headers });
}

test.each([
  ["cut off", '{"tool":"mirror","input":{"a":1'],
  ["a trailing comma", '{"tool":"mirror","input":{"a":1,}}'],
  ["two values", '{"tool":"mirror","input":{}}{}'],
  ["single quotes", "{'tool':'mirror'}"],
  ["NaN", '{"tool":"mirror","input":{"n":NaN}}'],
  ["nothing", ""],
  ["an array", '[{"tool":"mirror"}]'],
  ["a string", '"mirror"'],
  ["null", "null"],
])("malformed JSON or no object (%s) is invalid_input, and the body is not echoed", async (_name, body) => {
  const { status, body: told, text } = await sent(body);
  expect([status, told.error?.code, told.error?.retryable]).toEqual([400, "invalid_input", false]);
  if (body.length > 6) expect(text).not.toContain(body);
});

test("a body that is no UTF-8, or of another content type, is invalid_input", async () => {
  const bytes = Buffer.from('{"tool":"mirror","input":"\xff\xfe"}', "latin1");
  expect((await sent(bytes)).body.error?.code).toBe("invalid_input");
  const form = await sent("tool=mirror", { "content-type": "application/x-www-form-urlencoded" });
  expect([form.status, form.body.error?.code]).toEqual([400, "invalid_input"]);
});

test("a body of 1 MiB and one byte without a length up front is refused while it comes", async () => {
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from('{"tool":"mirror","input":"');
    for (let kib = 0; kib < 1024; kib++) yield Buffer.alloc(1024, 97);
    yield Buffer.from('"}');
  }
  const answer = await fetch(`${stack.url()}/v1/executions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.adminKey}`, "content-type": "application/json" },
    body: ReadableStream.from(body()),
    duplex: "half",
  } as RequestInit);
  expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
    413,
    "payload_too_large",
  ]);
});

test.each([
  ["/tool", { tool: 1, input: {} }],
  ["/tool", { input: {} }],
  ["/mode", { tool: "mirror", mode: "later" }],
  ["/wait_ms", { tool: "mirror", wait_ms: -1 }],
  ["/deadline_ms", { tool: "mirror", deadline_ms: "1s" }],
  ["/priority", { tool: "mirror", priority: "urgent" }],
  ["/context", { tool: "mirror", context: [] }],
  ["/idempotency_key", { tool: "mirror", idempotency_key: "" }],
  ["/limits", { tool: "mirror", limits: 5 }],
])("a wrong type at %s is named by its pointer", async (pointer, body) => {
  const answer = await admin.invoke(body);
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
  expect(answer.text).toContain(`"${pointer}"`);
});

test.each(["tools", "inputs", "idempotencyKey"])("an unknown field (%s) is refused by its name", async (field) => {
  const answer = await admin.invoke({ tool: "mirror", input: {}, [field]: 1 });
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
  expect(answer.text).toContain(door.unknownName(field));
});

test.each([
  ['{"tool":"mirror","input":{"__proto__":{"admin":true}}}', "__proto__"],
  ['{"tool":"mirror","__proto__":{"mode":"async"},"input":{}}', door.unknownName("__proto__")],
  ['{"tool":"mirror","input":[{"deep":{"\\u005f_proto__":1}}]}', "__proto__"],
])("a prototype key is refused wherever it stands: %s", async (body, named) => {
  const { status, body: told } = await sent(body);
  expect([status, told.error?.code]).toEqual([400, "invalid_input"]);
  expect(told.error?.message).toContain(named);
});

test("`constructor` and `prototype` are keys like any other", async () => {
  const input = { constructor: { prototype: { polluted: 1 } }, toString: "text" };
  expect((await admin.invoke({ tool: "mirror", input })).body.output).toEqual(input);
});

test("numbers past 2^53 keep their digits: to the worker as bigints, back to the caller, and in the record", async () => {
  const digits = ["9007199254740993", "-9007199254740993", "123456789012345678901234567890"];
  const answer = await sent(`{"tool":"mirror","input":{"ids":[${digits.join(",")}],"small":1.5}}`);
  expect(answer.status).toBe(200);
  expect(gates.entriesOf(answer.body.execution_id)[0]?.args).toEqual({
    ids: [9007199254740993n, -9007199254740993n, 123456789012345678901234567890n],
    small: 1.5,
  });
  const record = await admin.get(`/v1/executions/${answer.body.execution_id ?? ""}`);
  for (const { text } of [answer, record]) expect(text).toContain(`"output":{"ids":[${digits.join(",")}],"small":1.5}`);
});

test("a number with more digits than a double holds is no reason to fail", async () => {
  const answer = await sent('{"tool":"make","input":{"what":"nothing","pi":3.14159265358979323846264338}}');
  expect([answer.status, answer.body.status]).toEqual([200, "succeeded"]);
});

test("a number beyond every double is refused with its place, before any handler makes Infinity of it", async () => {
  const { status, body: told } = await sent('{"tool":"make","input":{"what":"nothing","huge":1e400}}');
  expect([status, told.error?.code]).toEqual([400, "invalid_input"]);
  expect(told.error?.details).toMatchObject({ reason: "number_range", pointer: "/input/huge" });
});

test.each([
  ["in a string", '{"tool":"mirror","input":{"text":"\\ud800"}}'],
  ["in a key", '{"tool":"mirror","input":{"\\udc00":1}}'],
  ["reversed", '{"tool":"mirror","input":["\\udc00\\ud800"]}'],
])("half of a surrogate pair %s is refused, and the place is named", async (_name, body) => {
  const { status, body: told } = await sent(body);
  expect([status, told.error?.code]).toEqual([400, "invalid_input"]);
  expect(told.error?.details).toMatchObject({ reason: "lone_surrogate", pointer: expect.stringContaining("/input") });
});

test("report 123: 20 000 levels in 40 KB are refused within milliseconds", async () => {
  const body = `{"tool":"mirror","input":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const startedAt = performance.now();
  const { status, body: told } = await sent(body);
  expect([status, told.error?.code, told.error?.details["reason"]]).toEqual([400, "invalid_input", "too_deep"]);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test("report 124: a schema of 100 000 levels is not registered, nor a legal JSON text with one level too many", async () => {
  const manifest = (levels: number, property: string): string => {
    const frame = JSON.stringify(workerTool("deep.schema", "1.0.0", { input: "SCHEMA" }));
    return frame.replace('"SCHEMA"', `${`{"${property}":`.repeat(levels)}{}${"}".repeat(levels)}`);
  };
  const ask = (text: string) => admin.ask("PUT", "/v1/tools", { body: text });
  const huge = await ask(manifest(100_000, "not"));
  expect([huge.status, huge.body.error?.code]).toEqual([413, "payload_too_large"]);
  const deep = await ask(manifest(30_000, "not"));
  expect([deep.status, deep.body.error?.code]).toEqual([400, "invalid_input"]);
  const legal = await ask(manifest(40, "not"));
  expect([legal.status, legal.body.error?.code]).toEqual([400, "invalid_input"]);
  expect((await admin.get("/v1/tools/deep.schema")).status).toBe(404);
});

test("report 117: half of a surrogate pair in an output is replaced, and that is said", async () => {
  const answer = await admin.invoke({ tool: "make", input: { what: "loneSurrogate" } });
  expect([answer.status, answer.body.output]).toEqual([200, { text: "left \ufffd right", "key \ufffd": 1 }]);
  expect(answer.body.execution?.["ill_formed_text_replaced"]).toBe(true);
  expect(answer.text).not.toMatch(/\\ud800|\\udc00/i);
});

test("report 121: `__proto__` in an output is a key like any other, and pollutes nobody", async () => {
  const answer = await admin.invoke({ tool: "make", input: { what: "protoKey" } });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain('"output":{"__proto__":{"polluted":1},"ok":true}');
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test.each(["cycle", "map"])("worst thing 10: an output that is not JSON (%s) fails its call alone", async (what) => {
  const { status, body } = await admin.invoke({ tool: "make", input: { what } });
  expect([status, body.error?.code, body.error?.retryable]).toEqual([502, "invalid_output", false]);
  expect(body.error?.details["tool_code"]).toBe("result_not_json");
});

test("worst thing 10: an output of 50 MB fails its call alone, and the limit is named", async () => {
  const { status, body } = await admin.invoke({ tool: "make", input: { what: "fiftyMegabytes" } });
  expect([status, body.error?.code]).toEqual([422, "resource_exceeded"]);
  expect(body.error?.details).toMatchObject({ resource: "output", limit: 1_048_576 });
});

test("an output of exactly 1 MiB is taken; one byte more is not", async () => {
  const full = await admin.invoke({ tool: "make", input: { what: "atTheLimit" } });
  expect([full.status, String(full.body.output).length]).toEqual([200, 1_048_574]);
  expect((await admin.call(full.body.execution_id)).output).toBe(full.body.output);
  const over = await admin.invoke({ tool: "make", input: { what: "justOverTheLimit" } });
  expect(over.body.error?.code).toBe("resource_exceeded");
});

test("an output that is nested too deep is invalid; none at all is null", async () => {
  const deep = await admin.invoke({ tool: "make", input: { what: "deep" } });
  expect([deep.status, deep.body.error?.code]).toEqual([502, "invalid_output"]);
  const nothing = await admin.invoke({ tool: "make", input: { what: "nothing" } });
  expect([nothing.status, nothing.body.output]).toEqual([200, null]);
});

test("reports 125 and 127: a null for an optional field counts as absent", async () => {
  const { status, body } = await admin.invoke({ tool: "optional", input: { limit: null, page: null } });
  expect([status, body.status]).toEqual([200, "succeeded"]);
  expect(body.output).toEqual({ got: { page: 20 } });
});

test.each([
  ["/v1/executions?limit=0", "limit"],
  ["/v1/executions?limit=ten", "limit"],
  ["/v1/executions?status=lost", "status"],
  ["/v1/executions?from=yesterday", "from"],
  ["/v1/executions?colour=red", door.unknownName("colour")],
  ["/v1/executions?cursor=garbage", "cursor"],
  ["/v1/audit?cursor=%00", "cursor"],
  ["/v1/tools?cursor=garbage", "cursor"],
])("a query that makes no sense is refused: %s", async (path, word) => {
  const answer = await admin.get(path);
  expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_input"]);
  expect(answer.text).toContain(word);
});

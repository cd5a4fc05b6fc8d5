// Requests and answers as messages: what they say in JSON, what is refused, and what keeps its digits.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { SignalboxError } from "@signalbox/protocol";
import { CreateKeyRequestSchema } from "@signalbox/protocol/v1/admin";
import {
  ExplainPolicyRequestSchema,
  PolicyExplanationSchema,
  SetPolicyDefaultRequestSchema,
  TestPoliciesRequestSchema,
} from "@signalbox/protocol/v1/policies";
import { ToolVersionSchema } from "@signalbox/protocol/v1/registry";
import { ErrorDetailSchema, ObligationsSchema } from "@signalbox/protocol/v1/shared";
import {
  InvokeRequestSchema,
  ListExecutionsResponseSchema,
  StreamEventSchema,
} from "@signalbox/protocol/v1/tool_runtime";
import { describe, expect, test } from "vitest";
import { json, message, textOf } from "../../../../../../test/support/grpc-door.ts";
import { planOf } from "./plan.ts";
import { readMessage } from "./read.ts";
import { writeMessage } from "./write.ts";

const invoke = planOf(InvokeRequestSchema);
const readInvoke = (bytes: Uint8Array): unknown => readMessage(invoke, bytes);

/** What a refusal says: the first place that it names, and its words. */
function refusal(act: () => unknown): readonly unknown[] {
  try {
    act();
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    const { fields, pointer, reason } = error.details ?? {};
    const [field] = (fields ?? []) as readonly { readonly pointer: string; readonly keyword: string }[];
    return [error.code, field?.pointer ?? pointer, field?.keyword ?? reason];
  }
  throw new Error("it was taken");
}

describe("a request", () => {
  test("says what the same request says in JSON", () => {
    const bytes = message(InvokeRequestSchema, {
      tool: "echo",
      input: Buffer.from('{"id":9007199254740993,"n":1.50}'),
      files: [
        { path: "a.txt", content: "hello" },
        { path: "b.txt", ref: "sha256:00" },
      ],
      context: json({ agent: "a" }),
      limits: { timeoutMs: 1_500n },
      mode: "async",
      waitMs: 0n,
      cancelOnDisconnect: false,
    });
    expect(JSON.stringify(readInvoke(bytes))).toBe(
      '{"tool":"echo","input":{"id":9007199254740993,"n":1.5},' +
        '"files":[{"path":"a.txt","content":"hello"},{"path":"b.txt","ref":"sha256:00"}],"context":{"agent":"a"},' +
        '"limits":{"timeout_ms":1500},"mode":"async","wait_ms":0,"cancel_on_disconnect":false}',
    );
  });

  test("lacks what was not set; what must be there and is the default is the default", () => {
    expect(readInvoke(new Uint8Array())).toEqual({ tool: "" });
    expect(readMessage(planOf(CreateKeyRequestSchema), message(CreateKeyRequestSchema, { label: "ci" }))).toEqual({
      label: "ci",
      principal: "",
    });
  });

  test("tells an empty list from none where that matters", () => {
    const read = (fields: MessageInitShape<typeof ExplainPolicyRequestSchema>) =>
      readMessage(planOf(ExplainPolicyRequestSchema), message(ExplainPolicyRequestSchema, fields));
    expect(read({ tool: "t" })).toEqual({ tool: "t" });
    expect(read({ tool: "t", roles: {} })).toEqual({ tool: "t", roles: [] });
    expect(read({ tool: "t", roles: { values: ["a", "b"] } })).toEqual({ tool: "t", roles: ["a", "b"] });
    const counts = { turn: 0n, windows: { values: { "10m": 3n } } };
    expect(JSON.stringify(read({ tool: "t", counts }))).toBe('{"tool":"t","counts":{"turn":0,"windows":{"10m":3}}}');
  });

  test("says null by a field of its own, so that nobody says it by saying nothing", () => {
    const read = (fields: MessageInitShape<typeof SetPolicyDefaultRequestSchema>) =>
      readMessage(planOf(SetPolicyDefaultRequestSchema), message(SetPolicyDefaultRequestSchema, fields));
    expect(read({})).toEqual({});
    expect(read({ noDecision: false })).toEqual({});
    expect(read({ noDecision: true })).toEqual({ decision: null });
    expect(read({ decision: "deny" })).toEqual({ decision: "deny" });
    expect(refusal(() => read({ decision: "deny", noDecision: true }))).toEqual(["invalid_input", "/decision", "not"]);
  });

  test("may come in pieces, as protobuf allows: the last of a field counts, parts of a message are put together", () => {
    const one = message(InvokeRequestSchema, { tool: "a", limits: { timeoutMs: 1n }, files: [{ path: "x" }] });
    const other = message(InvokeRequestSchema, { tool: "b", limits: { maxOutputBytes: 2n }, files: [{ path: "y" }] });
    const both = Buffer.concat([one, other]);
    expect(readInvoke(both)).toEqual({
      tool: "b",
      limits: { timeout_ms: 1, max_output_bytes: 2 },
      files: [{ path: "x" }, { path: "y" }],
    });
    const plain = fromBinary(InvokeRequestSchema, both);
    expect([plain.tool, plain.limits?.timeoutMs, plain.files.length]).toEqual(["b", 1n, 2]);
  });

  test("keeps an integer that a double would round, for whoever checks it to refuse it", () => {
    const bytes = message(InvokeRequestSchema, { tool: "a", waitMs: 9_007_199_254_740_993n });
    expect(readInvoke(bytes)).toEqual({ tool: "a", wait_ms: 9_007_199_254_740_993n });
  });

  test("a key __proto__ of a map is a key like any other", () => {
    const bytes = message(ExplainPolicyRequestSchema, {
      counts: { windows: { values: { ["__proto__"]: 1n, b: 2n } } },
    });
    const { counts } = readMessage(planOf(ExplainPolicyRequestSchema), bytes) as { counts: { windows: object } };
    expect(Object.entries(counts.windows)).toEqual([
      ["__proto__", 1],
      ["b", 2],
    ]);
    expect(({} as { b?: unknown }).b).toBeUndefined();
  });

  const field = (number: number, type: WireType) => new BinaryWriter().tag(number, type);

  test.each([
    ["an unknown number", field(99, WireType.Varint).int32(1).finish(), "/99", "additionalProperties"],
    [
      "an unknown number in a message",
      field(8, WireType.LengthDelimited).bytes(field(7, WireType.Varint).int32(1).finish()).finish(),
      "/limits/7",
      "additionalProperties",
    ],
    [
      "an unknown number in a list",
      field(6, WireType.LengthDelimited).bytes(field(9, WireType.Varint).int32(1).finish()).finish(),
      "/files/0/9",
      "additionalProperties",
    ],
    ["a number where text is due", field(1, WireType.Varint).int32(1).finish(), "/tool", "type"],
    ["text where a number is due", field(10, WireType.LengthDelimited).string("5").finish(), "/wait_ms", "type"],
    [
      "text that is no UTF-8",
      field(1, WireType.LengthDelimited)
        .bytes(Buffer.from([0xff, 0xfe]))
        .finish(),
      "/tool",
      "format",
    ],
    [
      "JSON that is no UTF-8",
      message(InvokeRequestSchema, { input: Buffer.from([0x22, 0xff, 0x22]) }),
      "/input",
      "format",
    ],
    ["JSON that is none", message(InvokeRequestSchema, { input: Buffer.from("{nope") }), undefined, "malformed"],
    ["no JSON at all", message(InvokeRequestSchema, { input: new Uint8Array() }), undefined, "malformed"],
    [
      "two JSON values",
      message(InvokeRequestSchema, { input: Buffer.from('{},"mode":"async"') }),
      undefined,
      "malformed",
    ],
    [
      "a key that stands twice",
      message(InvokeRequestSchema, { input: Buffer.from('{"a":1,"a":2}') }),
      "/input/a",
      "duplicate_key",
    ],
    [
      "__proto__",
      message(InvokeRequestSchema, { input: Buffer.from('{"__proto__":1}') }),
      "/input/__proto__",
      "proto_key",
    ],
    [
      "a number beyond all",
      message(InvokeRequestSchema, { input: Buffer.from("[1e400]") }),
      "/input/0",
      "number_range",
    ],
    ["half a pair", message(InvokeRequestSchema, { input: Buffer.from('["\\ud800"]') }), "/input/0", "lone_surrogate"],
  ])("is refused for %s, by its place", (_, bytes, place, keyword) => {
    expect(refusal(() => readInvoke(bytes))).toEqual(["invalid_input", place, keyword]);
  });

  test("may be as deep as over HTTP, where the body around it is one level", () => {
    const nested = (levels: number) => Buffer.from(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(readInvoke(message(InvokeRequestSchema, { input: nested(63) }))).toMatchObject({ tool: "" });
    expect(refusal(() => readInvoke(message(InvokeRequestSchema, { input: nested(64) })))).toEqual([
      "invalid_input",
      undefined,
      "too_deep",
    ]);
    const inList = (levels: number) =>
      readMessage(
        planOf(TestPoliciesRequestSchema),
        message(TestPoliciesRequestSchema, { policies: [nested(levels)] }),
      );
    expect(inList(62)).toHaveProperty("policies");
    expect(refusal(() => inList(63))[2]).toBe("too_deep");
  });

  test.each([
    ["a length beyond the end", Buffer.from([0x0a, 0x7f, 0x61])],
    ["a tag that is cut", Buffer.from([0x80])],
    ["field number 0", Buffer.from([0x00, 0x01])],
    ["a varint without end", Buffer.from([0x50, ...Array<number>(11).fill(0xff)])],
    ["an end of a group", Buffer.from([0x0c])],
  ])("that is no message is refused and not echoed: %s", (_, bytes) => {
    expect(refusal(() => readInvoke(bytes))[0]).toBe("invalid_input");
  });

  test("of chance is refused or read, and never anything else", () => {
    let seed = 1;
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    for (let round = 0; round < 5_000; round++) {
      const bytes = Uint8Array.from({ length: next() % 40 }, () => next() % 256);
      try {
        readInvoke(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(SignalboxError);
      }
    }
  });
});

describe("an answer", () => {
  const strays: string[] = [];
  const written = (schema: Parameters<typeof planOf>[0], text: string, from = ""): Uint8Array => {
    strays.length = 0;
    return writeMessage(planOf(schema), text, from, (what) => strays.push(what));
  };

  test("is the message that stands for its JSON; JSON inside stays the text that it was", () => {
    const data = '{"id":9007199254740993,"n":1.50 , "text":"\\u00e4"}';
    const bytes = written(StreamEventSchema, `{"seq":7,"ts":"2026-01-31T12:00:00.000Z","type":"log","data":${data}}`);
    const read = fromBinary(StreamEventSchema, bytes);
    expect([read.seq, read.ts, read.type, textOf(read.data), read.executionId]).toEqual([
      7n,
      "2026-01-31T12:00:00.000Z",
      "log",
      data,
      undefined,
    ]);
    expect(strays).toEqual([]);
  });

  test("tells absent, null and empty apart", () => {
    const read = (text: string) => fromBinary(ObligationsSchema, written(ObligationsSchema, text));
    expect(read('{"limits":{}}').egress).toBeUndefined();
    expect(read('{"limits":{},"egress":[]}').egress?.values).toEqual([]);
    expect(read('{"limits":{"cpu":0.5},"paths":{"read":["/a"]}}')).toMatchObject({
      limits: { cpu: 0.5 },
      paths: { read: { values: ["/a"] } },
    });
    expect(strays).toEqual([]);
    const page = fromBinary(
      ListExecutionsResponseSchema,
      written(ListExecutionsResponseSchema, '{"items":[],"next_cursor":null}'),
    );
    expect([page.items, page.nextCursor]).toEqual([[], undefined]);
    expect(strays).toEqual([]);
  });

  test("strings come out as they are, escapes and all", () => {
    const text = JSON.stringify({
      code: "x",
      message: 'say "ä\\😀"\n',
      type: "tool",
      retryable: true,
      request_id: "r",
    });
    const read = fromBinary(ErrorDetailSchema, written(ErrorDetailSchema, text));
    expect(read.message).toBe('say "ä\\😀"\n');
    expect(toBinary(ErrorDetailSchema, read)).toEqual(written(ErrorDetailSchema, text));
  });

  test.each([
    [
      "a field that the message lacks",
      '{"seq":1,"type":"log","data":{},"extra":{"deep":[1]}}',
      "StreamEvent has no field extra",
    ],
    ["null where none may be", '{"seq":1,"type":null,"data":{}}', "StreamEvent.type is null in the answer"],
    ["a field that is missing", '{"seq":1,"data":{}}', "StreamEvent wants type, which the answer lacks"],
    ["a number in place of text", '{"seq":1,"type":5,"data":{}}', "type is no string in the answer"],
    ["text in place of a number", '{"seq":"1","type":"log","data":{}}', "seq is no int in the answer"],
    ["a fraction in place of an integer", '{"seq":1.5,"type":"log","data":{}}', "seq is no int in the answer"],
  ])("that has %s is told, and the rest is written", (_, text, stray) => {
    const bytes = written(StreamEventSchema, text);
    expect(strays).toEqual([expect.stringContaining(stray)]);
    expect(textOf(fromBinary(StreamEventSchema, bytes).data)).toBe("{}");
  });

  test("has a field of some rpcs alone in their answers, and nowhere else", () => {
    const nothing = { lines: [], missing_permissions: [], rules: [], input_errors: null };
    const none = { decision: null, reason: null, code: null, deciding: null, approval: null, obligations: null };
    written(PolicyExplanationSchema, JSON.stringify({ ...nothing, ...none }), "Policies.Explain");
    expect(strays).toEqual([]);
    const version = { tool: "a", version: "1.0.0", warnings: ["w"], active: true };
    const inRegister = fromBinary(
      ToolVersionSchema,
      written(ToolVersionSchema, JSON.stringify(version), "Registry.Register"),
    );
    expect([inRegister.warnings, inRegister.active]).toEqual([["w"], true]);
    expect(strays).not.toContainEqual(expect.stringMatching(/warnings|active/));
    expect(strays).toContainEqual(expect.stringContaining("already_there"));
    written(ToolVersionSchema, JSON.stringify(version), "ToolRuntime.GetTool");
    expect(strays).toContainEqual(
      expect.stringContaining("ToolVersion.warnings is not said to come from ToolRuntime.GetTool"),
    );
    expect(strays).not.toContainEqual(expect.stringContaining("already_there"));
  });
});

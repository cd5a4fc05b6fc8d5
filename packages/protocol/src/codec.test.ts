// The Work codec: every message survives the wire, every bound is kept, and no bytes make it throw.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRuntime, decodeWorker, encodeRuntime, encodeWorker, type FromRuntime } from "./codec.ts";
import type { Invoke, Register, Result, RuntimeMessage, WorkerMessage } from "./work.ts";

const lease = { callId: "s1:a1:t1.1:0", fence: 7 };
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const register: Register = {
  type: "register",
  workerId: "payments-1",
  incarnation: "inc_1",
  imageDigest: "sha256:ab",
  pool: "eu",
  labels: { zone: "a", ["__proto__"]: "data" },
  handlers: [{ tool: "payments.charge", version: "1.0.0", maxConcurrency: 4, descriptorHash: "" }],
  backends: ["native"],
  capacity: 8,
  inFlight: [
    { ...lease, state: "accepted" },
    { callId: "c2", fence: 1, state: "running" },
    { callId: "c3", fence: 9_007_199_254_740_991, state: "done" },
  ],
};

const invoke: Invoke = {
  type: "invoke",
  ...lease,
  attempt: 2,
  idempotencyKey: "s1:a1:t1.1:0",
  tenant: "acme",
  project: "shop",
  principal: "agent:clerk",
  tool: "payments.charge",
  version: "1.0.0",
  argsJson: '{"amount":12345678901234567890.5,"who":"Zoë 🦊"}',
  contextJson: '{"workflow_id":"w1"}',
  files: [{ path: "in/a.csv", digest: "sha256:cd", bytes: 5_000_000_000 }],
  timeoutMs: 30_000,
  deadlineAtMs: 1_900_000_000_000,
  sideEffectClass: "non_idempotent_write",
  needsGo: true,
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

const workerMessages: readonly WorkerMessage[] = [
  register,
  { type: "heartbeat", load: 0.25, inFlight: [{ ...lease, state: "running" }] },
  { type: "heartbeat", load: 0, inFlight: [] },
  { ...register, freeMemoryBytes: 0 },
  { type: "heartbeat", load: 0, inFlight: [], freeMemoryBytes: Number.MAX_SAFE_INTEGER },
  { type: "accepted", ...lease },
  { type: "started", ...lease },
  { type: "output", ...lease, seq: 1, channel: "stdout", chunk: bytes(0, 255, 10) },
  { type: "output", ...lease, seq: 2, channel: "stderr", chunk: bytes() },
  { type: "output", ...lease, seq: 3, channel: "partial", chunk: bytes(1) },
  { type: "output", ...lease, seq: 4, channel: "log", chunk: bytes(2) },
  { type: "progress", ...lease, percent: 50.5, message: "half" },
  { type: "emit", ...lease, ordinal: 1, eventType: "charged", payloadJson: "null" },
  { type: "secret_request", ...lease, names: ["API_KEY"] },
  {
    type: "result",
    ...lease,
    status: "succeeded",
    outputJson: '{"ok":true}',
    usage: { durationMs: 1.5, cpuMs: 0.5, peakMemoryBytes: 4_294_967_297 },
  },
  {
    type: "result",
    ...lease,
    status: "failed",
    error: { code: "invalid_args", message: "no", retryable: true, detailsJson: '{"f":"amount"}' },
    usage: { durationMs: 0 },
  },
  { type: "result", ...lease, status: "cancelled", usage: { durationMs: 0 } },
  { type: "nack", ...lease, reason: "retry_elsewhere", code: "over_capacity", message: "" },
  { type: "nack", ...lease, reason: "reject", code: "unknown_tool", message: "no handler" },
  { type: "draining" },
];

const runtimeMessages: readonly RuntimeMessage[] = [
  {
    type: "registered",
    leaseTtlMs: 15_000,
    heartbeatMs: 5_000,
    resync: [
      { ...lease, verdict: "keep" },
      { callId: "c2", fence: 1, verdict: "drop" },
      { callId: "c3", fence: 2, verdict: "acked" },
    ],
    refused: [{ tool: "a", version: "1.0.0", reason: "not published" }],
  },
  invoke,
  {
    ...invoke,
    sideEffectClass: "read_only",
    needsGo: false,
    files: [],
    deadlineAtMs: 0,
    project: "",
    principal: "",
    traceparent: "",
  },
  { ...invoke, sideEffectClass: "idempotent_write" },
  { ...invoke, sideEffectClass: "irreversible_action" },
  { type: "go", ...lease },
  { type: "cancel", ...lease, graceMs: 5_000, reason: "cancel" },
  { type: "cancel", ...lease, graceMs: 0, reason: "timeout" },
  { type: "cancel", ...lease, graceMs: 0, reason: "lost" },
  { type: "secret_grant", ...lease, secrets: { API_KEY: "s3cr3t" }, refused: ["OTHER"] },
  { type: "result_ack", ...lease, verdict: "stored" },
  { type: "result_ack", ...lease, verdict: "lease_lost" },
  { type: "heartbeat_ack" },
  { type: "drain" },
  { type: "go_away", reason: "deploy", reconnectTo: "replica-2:9090" },
];

describe("what is said is what is heard", () => {
  test.each(workerMessages)("worker: %j", (message) => {
    expect(decodeWorker(encodeWorker(message))).toEqual(message);
  });

  test.each(runtimeMessages)("runtime: %j", (message) => {
    expect(decodeRuntime(encodeRuntime(message))).toEqual(message);
  });

  test("the bytes of a small message are pinned", () => {
    // frame field 3 (accepted), 7 bytes: call_id "c1", fence 300
    expect(encodeWorker({ type: "accepted", callId: "c1", fence: 300 })).toEqual(
      bytes(0x1a, 7, 0x0a, 2, 0x63, 0x31, 0x10, 0xac, 2),
    );
    // frame field 6 (result_ack), 8 bytes: call_id "c1", fence 1, verdict 2
    expect(decodeRuntime(bytes(0x32, 8, 0x0a, 2, 0x63, 0x31, 0x10, 1, 0x18, 2))).toEqual({
      type: "result_ack",
      callId: "c1",
      fence: 1,
      verdict: "lease_lost",
    });
  });

  test("labels and secrets called __proto__ are data", () => {
    const heard = decodeWorker(encodeWorker(register));
    expect(heard.type === "register" && Object.entries(heard.labels)).toEqual([
      ["zone", "a"],
      ["__proto__", "data"],
    ]);
  });
});

const callId = fc.stringMatching(/^[A-Za-z0-9_.:-]{1,40}$/);
const fence = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const word = fc.stringMatching(/^[a-z.]{1,20}$/);
const text = fc.string({ unit: "grapheme", maxLength: 60 });
const json = fc.json();
const anyResult: fc.Arbitrary<Result> = fc.oneof(
  fc.record({
    type: fc.constant("result" as const),
    callId,
    fence,
    status: fc.constant("succeeded" as const),
    outputJson: json,
    usage: fc.record({ durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }) }),
  }),
  fc.record({
    type: fc.constant("result" as const),
    callId,
    fence,
    status: fc.constantFrom("failed" as const, "cancelled" as const),
    error: fc.record({ code: word, message: text, retryable: fc.boolean(), detailsJson: json }),
    usage: fc.record({ durationMs: fc.nat(), cpuMs: fc.nat(), peakMemoryBytes: fc.maxSafeNat() }),
  }),
);
const anyInvoke: fc.Arbitrary<Invoke> = fc.record({
  type: fc.constant("invoke" as const),
  callId,
  fence,
  attempt: fc.integer({ min: 1, max: 0xffff_ffff }),
  idempotencyKey: callId,
  tenant: word,
  project: fc.oneof(word, fc.constant("")),
  principal: word,
  tool: word,
  version: word,
  argsJson: json,
  contextJson: json,
  files: fc.array(fc.record({ path: word, digest: word, bytes: fc.maxSafeNat() }), { maxLength: 3 }),
  timeoutMs: fc.integer({ min: 1, max: 86_400_000 }),
  deadlineAtMs: fc.maxSafeNat(),
  sideEffectClass: fc.constantFrom("read_only", "idempotent_write", "non_idempotent_write", "irreversible_action"),
  needsGo: fc.boolean(),
  traceparent: fc.oneof(word, fc.constant("")),
});

describe("properties", () => {
  test("any result and any invoke come through unchanged", () => {
    const results = fc.property(anyResult, (message) => {
      expect(decodeWorker(encodeWorker(message))).toEqual(message);
    });
    const invokes = fc.property(anyInvoke, (message) => {
      expect(decodeRuntime(encodeRuntime(message))).toEqual(message);
    });
    fc.assert(results, { numRuns: 500 });
    fc.assert(invokes, { numRuns: 500 });
  });

  test("garbage is malformed or a message, never an exception", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (garbage) => {
        expect(typeof decodeWorker(garbage).type).toBe("string");
        expect(typeof decodeRuntime(garbage).type).toBe("string");
      }),
      { numRuns: 2_000 },
    );
  });

  test("a real frame with bytes changed, cut or added is malformed or a message, never an exception", () => {
    const frames = [...workerMessages.map(encodeWorker), ...runtimeMessages.map(encodeRuntime)];
    fc.assert(
      fc.property(
        fc.constantFrom(...frames),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        fc.nat(),
        (frame, changes, cut) => {
          const broken = frame.slice(0, frame.length - (cut % 4));
          for (const [at, value] of changes) if (broken.length > 0) broken[at % broken.length] = value;
          expect(typeof decodeWorker(broken).type).toBe("string");
          expect(typeof decodeRuntime(broken).type).toBe("string");
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

/** A frame with one field: its number, then the message's bytes. */
const frame = (field: number, content: Uint8Array): Uint8Array => bytes((field << 3) | 2, content.length, ...content);
const text1 = (field: number, value: string): number[] => [(field << 3) | 2, value.length, ...utf8(value)];
const varint = (field: number, value: number): number[] => [field << 3, value];

describe("what makes no sense is malformed, and names its call if it can", () => {
  const named = { callId: "c1", fence: 5 };
  const head = [...text1(1, "c1"), ...varint(2, 5)];

  test.each<[string, Uint8Array, string]>([
    ["an empty frame", bytes(), "the frame holds no message this side knows"],
    ["a frame of a later version", frame(15, bytes(...head)), "the frame holds no message this side knows"],
    ["text", utf8("hello, world"), "the frame is no readable protobuf message"],
    ["no call id", frame(3, bytes(...varint(2, 5))), "call_id is missing or is no call id"],
    [
      "a call id of another alphabet",
      frame(3, bytes(...text1(1, "a b"), ...varint(2, 5))),
      "call_id is missing or is no call id",
    ],
    [
      "a call id of 257 characters",
      encodeWorker({ type: "accepted", callId: "x".repeat(257), fence: 1 }),
      "call_id is missing or is no call id",
    ],
    ["no fence", frame(3, bytes(...text1(1, "c1"))), "fence is not between 1 and 2^53 - 1"],
    [
      "a negative fence",
      frame(3, bytes(...text1(1, "c1"), 0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1)),
      "fence is not between 1 and 2^53 - 1",
    ],
    [
      "a fence of 2^53",
      frame(3, bytes(...text1(1, "c1"), 0x10, 128, 128, 128, 128, 128, 128, 128, 16)),
      "fence is not between 1 and 2^53 - 1",
    ],
  ])("%s", (_, broken, reason) => {
    expect(decodeWorker(broken)).toEqual({ type: "malformed", reason });
  });

  test("an event without a type is told beside it: the call goes on", () => {
    const broken = { ordinal: 1, eventType: "", payloadJson: "null", refused: "event_type is missing" };
    expect(decodeWorker(frame(7, bytes(...head, ...varint(3, 1))))).toEqual({ type: "emit", callId: "c1", fence: 5, ...broken });
  });

  test.each<[string, Uint8Array, string]>([
    [
      "an unknown channel",
      frame(5, bytes(...head, ...varint(3, 1), ...varint(4, 9))),
      "channel has the unknown value 9",
    ],
    ["a channel that is not set", frame(5, bytes(...head, ...varint(3, 1))), "channel has the unknown value 0"],
    ["a seq of 0", frame(5, bytes(...head, ...varint(4, 1))), "seq is not between 1 and 4294967295"],
    ["a success without output", frame(9, bytes(...head, ...varint(3, 1))), "a succeeded result has no output_json"],
    ["a success with empty output", frame(9, bytes(...head, ...varint(3, 1), 0x22, 0)), "output_json is missing"],
    ["a failure without an error", frame(9, bytes(...head, ...varint(3, 2))), "a failed result has no error"],
    ["an error without a code", frame(9, bytes(...head, ...varint(3, 2), 0x32, 0)), "error.code is missing"],
    [
      "text that is no UTF-8",
      frame(10, bytes(...head, ...varint(3, 1), 0x22, 2, 0xc3, 0x28)),
      "the frame is no readable protobuf message",
    ],
    ["a frame that ends too early", frame(9, bytes(...head, 0x22, 50)), "the frame is no readable protobuf message"],
  ])("%s", (_, broken, reason) => {
    expect(decodeWorker(broken)).toEqual({ type: "malformed", reason, lease: named });
  });

  test.each<[string, RuntimeMessage, string]>([
    ["an attempt of 0", { ...invoke, attempt: 0 }, "attempt is not between 1 and 4294967295"],
    ["no tenant", { ...invoke, tenant: "" }, "tenant is missing"],
    ["no arguments", { ...invoke, argsJson: "" }, "args_json is missing"],
    [
      "arguments over 1 MiB",
      { ...invoke, argsJson: `"${"x".repeat(1_048_576)}"` },
      "args_json has 1048578 bytes, more than 1048576",
    ],
    ["a time-out of more than a day", { ...invoke, timeoutMs: 86_400_001 }, "timeout_ms is not between 1 and 86400000"],
    ["a negative deadline", { ...invoke, deadlineAtMs: -1 }, "deadline_at_ms is not between 0 and 9007199254740991"],
    ["a tool's name of 129 characters", { ...invoke, tool: "t".repeat(129) }, "tool is longer than 128 characters"],
  ])("invoke with %s", (_, message, reason) => {
    expect(decodeRuntime(encodeRuntime(message))).toEqual({ type: "malformed", reason, lease });
  });

  test.each<[string, WorkerMessage, string]>([
    ["capacity 0", { ...register, capacity: 0 }, "capacity is not between 1 and 10000"],
    ["no worker id", { ...register, workerId: "" }, "worker_id is missing"],
    ["a load of NaN", { type: "heartbeat", load: Number.NaN, inFlight: [] }, "load is not between 0 and 1"],
    ["a load of 1.5", { type: "heartbeat", load: 1.5, inFlight: [] }, "load is not between 0 and 1"],
  ])("a worker with %s", (_, message, reason) => {
    expect(decodeWorker(encodeWorker(message))).toEqual({ type: "malformed", reason });
  });

  test("a result over 1 MiB is a failed one that names the limit, so that the call can fail and the stream live", () => {
    const outputJson = `"${"x".repeat(50_000_000)}"`;
    const huge = encodeWorker({ type: "result", ...lease, status: "succeeded", outputJson, usage: { durationMs: 1 } });
    expect(decodeWorker(huge)).toEqual({
      type: "result",
      ...lease,
      status: "failed",
      error: {
        code: "result_too_large",
        message: "the result has 50000002 bytes, more than 1048576: return a reference to it instead",
        retryable: false,
      },
      usage: { durationMs: 1 },
    });
  });

  test("the payload is never quoted", () => {
    const broken = frame(9, bytes(...head, 0x22, 20, ...utf8("hunter2")));
    expect(JSON.stringify(decodeWorker(broken))).not.toContain("hunter2");
  });
});

describe("text", () => {
  test("ill-formed output arrives as U+FFFD and says so", () => {
    // result: output_json is the string with the bytes ED A0 80, a surrogate on its own
    const content = bytes(...text1(1, "c1"), ...varint(2, 5), ...varint(3, 1), 0x22, 5, 0x22, 0xed, 0xa0, 0x80, 0x22);
    expect(decodeWorker(frame(9, content))).toEqual({
      type: "result",
      callId: "c1",
      fence: 5,
      status: "succeeded",
      outputJson: '"\ufffd\ufffd\ufffd"',
      illFormed: true,
      usage: { durationMs: 0 },
    });
  });

  test("what the worker replaced itself stays flagged", () => {
    const message: Result = {
      type: "result",
      ...lease,
      status: "succeeded",
      outputJson: '"\ufffd"',
      illFormed: true,
      usage: { durationMs: 1 },
    };
    expect(decodeWorker(encodeWorker(message))).toEqual(message);
  });

  test("a long message to people is cut, never in the middle of a character", () => {
    const nack = (message: string): WorkerMessage => ({ type: "nack", ...lease, reason: "reject", code: "x", message });
    expect(decodeWorker(encodeWorker(nack("y".repeat(3_000))))).toEqual(nack(`${"y".repeat(1_999)}…`));
    expect(decodeWorker(encodeWorker(nack(`${"y".repeat(1_998)}🦊🦊`)))).toEqual(nack(`${"y".repeat(1_998)}…`));
  });

  test("an invoke without context has an empty one", () => {
    const heard: FromRuntime = decodeRuntime(encodeRuntime({ ...invoke, contextJson: "" }));
    expect(heard.type === "invoke" && heard.contextJson).toBe("{}");
  });
});

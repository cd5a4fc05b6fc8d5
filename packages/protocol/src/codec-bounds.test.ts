// Every bound on what a Work message may hold: exactly that much is heard as it was said, and one more is malformed.
import { describe, expect, test } from "vitest";
import { decodeRuntime, decodeWorker, encodeRuntime, encodeWorker } from "./codec.ts";
import type { Invoke, Register, RuntimeMessage, WorkerMessage } from "./work.ts";

const lease = { callId: "c1", fence: 1 };
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const named = (count: number): Record<string, string> => Object.fromEntries(times(count, (at) => [`k${at}`, "v"]));
/** A JSON text of exactly so many bytes. */
const json = (bytes: number): string => `"${"x".repeat(bytes - 2)}"`;
const KiB = 1024;
const MiB = 1024 * KiB;

function register(more: Partial<Register>): Register {
  const none = { imageDigest: "", pool: "", labels: {}, handlers: [], backends: [], inFlight: [] };
  return { type: "register", workerId: "w", incarnation: "i", capacity: 1, ...none, ...more };
}

function invoke(more: Partial<Invoke>): Invoke {
  return {
    type: "invoke",
    ...lease,
    attempt: 1,
    idempotencyKey: "k",
    tenant: "acme",
    project: "shop",
    principal: "user:ann",
    tool: "echo",
    version: "1.0.0",
    argsJson: "{}",
    contextJson: "{}",
    files: [],
    timeoutMs: 1,
    deadlineAtMs: 0,
    sideEffectClass: "read_only",
    needsGo: false,
    traceparent: "",
    ...more,
  };
}

const handler = (tool: string, maxConcurrency = 1) => ({ tool, version: "1.0.0", maxConcurrency, descriptorHash: "" });
const held = (at: number) => ({ callId: `c${at}`, fence: 1, state: "running" as const });
const file = (path: string) => ({ path, digest: "sha256:ab", bytes: 1 });
const failed = (detailsJson: string): WorkerMessage => ({
  type: "result",
  ...lease,
  status: "failed",
  error: { code: "no", message: "no", retryable: false, detailsJson },
  usage: { durationMs: 0 },
});

describe("what a worker says", () => {
  test.each<[string, number, (size: number) => WorkerMessage, string]>([
    ["nameCharsMax", 128, (size) => register({ workerId: "w".repeat(size) }), "worker_id is longer than 128 characters"],
    ["labelsPerWorkerMax", 64, (size) => register({ labels: named(size) }), "labels has more than 64 entries"],
    [
      "labelCharsMax",
      256,
      (size) => register({ labels: { zone: "z".repeat(size) } }),
      "a value of labels is longer than 256 characters",
    ],
    [
      "backendsPerWorkerMax",
      32,
      (size) => register({ backends: times(size, (at) => `b${at}`) }),
      "backends has more than 32 entries",
    ],
    [
      "handlersPerWorkerMax",
      1_000,
      (size) => register({ handlers: times(size, (at) => handler(`t${at}`)) }),
      "handlers has more than 1000 entries",
    ],
    ["workerCapacityMax", 10_000, (size) => register({ capacity: size }), "capacity is not between 1 and 10000"],
    [
      "workerCapacityMax of one handler",
      10_000,
      (size) => register({ handlers: [handler("t", size)] }),
      "max_concurrency is not between 1 and 10000",
    ],
    [
      "inFlightPerWorkerMax",
      20_000,
      (size) => ({ type: "heartbeat", load: 0, inFlight: times(size, held) }),
      "in_flight has more than 20000 entries",
    ],
  ])("%s", (_name, most, make, reason) => {
    expect(decodeWorker(encodeWorker(make(most)))).toEqual(make(most));
    expect(decodeWorker(encodeWorker(make(most + 1)))).toEqual({ type: "malformed", reason });
  });

  test.each<[string, number, (size: number) => WorkerMessage, string]>([
    [
      "secretNamesPerCallMax, asked for",
      64,
      (size) => ({ type: "secret_request", ...lease, names: times(size, (at) => `S${at}`) }),
      "names has more than 64 entries",
    ],
    [
      "outputStreamBytesMax, in one piece",
      MiB,
      (size) => ({ type: "output", ...lease, seq: 1, channel: "stdout", chunk: new Uint8Array(size) }),
      "chunk has 1048577 bytes, more than 1048576",
    ],
    [
      "errorDetailsBytesMax",
      16 * KiB,
      (size) => failed(json(size)),
      "error.details_json has 16385 bytes, more than 16384",
    ],
  ])("about a call, %s", (_name, most, make, reason) => {
    expect(decodeWorker(encodeWorker(make(most)))).toEqual(make(most));
    expect(decodeWorker(encodeWorker(make(most + 1)))).toEqual({ type: "malformed", reason, lease });
  });

  test("eventPayloadBytesMax: one byte more is told beside the event, and is no fault of the call", () => {
    const emit = (size: number): WorkerMessage => ({ type: "emit", ...lease, ordinal: 1, eventType: "e", payloadJson: json(size) });
    expect(decodeWorker(encodeWorker(emit(256 * KiB)))).toEqual(emit(256 * KiB));
    expect(decodeWorker(encodeWorker(emit(256 * KiB + 1)))).toEqual({
      type: "emit",
      ...lease,
      ordinal: 1,
      eventType: "e",
      payloadJson: "null",
      refused: "payload_json has 262145 bytes, more than 262144",
    });
  });

  test("resultBytesMax: one byte more is no fault of the message, and ends the call by its limit", () => {
    const result = (size: number): WorkerMessage => ({
      type: "result",
      ...lease,
      status: "succeeded",
      outputJson: json(size),
      usage: { durationMs: 1 },
    });
    expect(decodeWorker(encodeWorker(result(MiB)))).toEqual(result(MiB));
    expect(decodeWorker(encodeWorker(result(MiB + 1)))).toMatchObject({
      type: "result",
      status: "failed",
      error: { code: "result_too_large" },
    });
  });

  test("errorMessageCharsMax: a longer message loses its tail", () => {
    const nack = (message: string): WorkerMessage => ({ type: "nack", ...lease, reason: "reject", code: "x", message });
    expect(decodeWorker(encodeWorker(nack("y".repeat(2_000))))).toEqual(nack("y".repeat(2_000)));
    expect(decodeWorker(encodeWorker(nack("y".repeat(2_001))))).toEqual(nack(`${"y".repeat(1_999)}…`));
  });
});

describe("what the runtime says", () => {
  test.each<[string, number, (size: number) => RuntimeMessage, string]>([
    ["nameCharsMax", 128, (size) => invoke({ tool: "t".repeat(size) }), "tool is longer than 128 characters"],
    [
      "inputBytesMax",
      MiB,
      (size) => invoke({ argsJson: json(size) }),
      "args_json has 1048577 bytes, more than 1048576",
    ],
    [
      "contextBytesMax",
      16 * KiB,
      (size) => invoke({ contextJson: json(size) }),
      "context_json has 16385 bytes, more than 16384",
    ],
    [
      "boxBytesMax",
      64 * KiB,
      (size) => invoke({ boxJson: json(size) }),
      "box_json has 65537 bytes, more than 65536",
    ],
    [
      "filesPerCallMax",
      1_000,
      (size) => invoke({ files: times(size, (at) => file(`f${at}`)) }),
      "files has more than 1000 entries",
    ],
    [
      "pathCharsMax",
      1_024,
      (size) => invoke({ files: [file("p".repeat(size))] }),
      "a file's path is longer than 1024 characters",
    ],
    [
      "runTimeoutMsMax",
      86_400_000,
      (size) => invoke({ timeoutMs: size }),
      "timeout_ms is not between 1 and 86400000",
    ],
    [
      "secretNamesPerCallMax, granted",
      64,
      (size) => ({ type: "secret_grant", ...lease, secrets: named(size), refused: [] }),
      "secrets has more than 64 entries",
    ],
    [
      "secretValueBytesMax",
      64 * KiB,
      (size) => ({ type: "secret_grant", ...lease, secrets: { API_KEY: "s".repeat(size) }, refused: [] }),
      "a value of secrets has 65537 bytes, more than 65536",
    ],
    [
      "secretValueBytesMax of text that takes two bytes a character",
      64 * KiB,
      (size) => ({
        type: "secret_grant",
        ...lease,
        secrets: { API_KEY: `${"é".repeat(32 * KiB)}${"s".repeat(size - 64 * KiB)}` },
        refused: [],
      }),
      "a value of secrets has 65537 bytes, more than 65536",
    ],
  ])("%s", (_name, most, make, reason) => {
    expect(decodeRuntime(encodeRuntime(make(most)))).toEqual(make(most));
    expect(decodeRuntime(encodeRuntime(make(most + 1)))).toEqual({ type: "malformed", reason, lease });
  });

  test("workMessageBytesMax: a frame of 64 MiB is read, and one byte more is not even looked at", () => {
    // An unknown field of the protocol's future, skipped by whoever does not know it, around a word that everybody knows.
    const around = (size: number): Uint8Array => {
      const frame = new Uint8Array(size);
      const go = encodeRuntime({ type: "go", ...lease });
      const head = [...go, (100 << 3) & 0x7f | 0x82, (100 << 3) >> 7];
      const filler = size - head.length - 4;
      frame.set([...head, (filler & 0x7f) | 0x80, ((filler >> 7) & 0x7f) | 0x80, ((filler >> 14) & 0x7f) | 0x80, filler >> 21]);
      return frame;
    };
    expect(decodeRuntime(around(64 * MiB))).toEqual({ type: "go", ...lease });
    expect(decodeRuntime(around(64 * MiB + 1))).toEqual({
      type: "malformed",
      reason: "the message has 67108865 bytes, more than 67108864",
      lease,
    });
  });
});

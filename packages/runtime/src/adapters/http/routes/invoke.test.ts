// Invoking over HTTP: what a request may say, the two places of its idempotency key, and how each end is answered.
import { describe, expect, test } from "vitest";
import { errorBody, SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import type { Heard, OpenDoor, Sent } from "../../../../../../test/support/http-door.ts";
import { scriptedCall, scriptedCallId } from "../../../../../../test/support/scripted-service.ts";
import type { InvokeAnswer, InvokeRequest } from "../../../service.ts";

type Fields = { pointer: string; keyword: string; message: string }[];
const errorOf = (heard: Heard) =>
  (heard.json as { error: { code: string; message: string; details: { fields?: Fields; [key: string]: unknown } } })
    .error;

const invoke = (door: OpenDoor, body: object, headers: Sent["headers"] = {}): Promise<Heard> =>
  door.ask("POST", "/v1/executions", {
    body: JSON.stringify({ tool: "echo", input: { message: "hi" }, ...body }),
    headers,
  });

const invoked = (door: OpenDoor): InvokeRequest =>
  door.service.reached.find(({ method }) => method === "invoke")?.args[0] as InvokeRequest;

const answering = (answer: Partial<InvokeAnswer>) => ({
  invoke: async (): Promise<InvokeAnswer> => ({
    call: scriptedCall(),
    progress: "settled",
    replayed: false,
    ...answer,
  }),
});

describe("what an invoke may say", () => {
  test("tool and input are enough", async () => {
    const door = await openDoor();
    expect((await invoke(door, {})).status).toBe(200);
    expect(invoked(door)).toEqual({ tool: "echo", input: { message: "hi" }, mode: "sync" });
  });

  test("all of it reaches the runtime under its own names", async () => {
    const door = await openDoor();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const heard = await invoke(
      door,
      {
        version: "^1.2.0",
        tenant: "acme",
        project: "web",
        input: null,
        context: { workflow_id: "w", agent: { deep: [1] } },
        limits: { timeout_ms: 300_000_000, max_output_bytes: 1 },
        mode: "async",
        stream: false,
        wait_ms: 0,
        deadline_ms: 2_678_400_000,
        cancel_on_disconnect: true,
        priority: "batch",
        idempotency_key: "order 7 é",
      },
      { traceparent },
    );
    expect(heard.status).toBe(202);
    expect(invoked(door)).toEqual({
      tool: "echo",
      version: "^1.2.0",
      tenant: "acme",
      project: "web",
      input: null,
      context: { workflow_id: "w", agent: { deep: [1] } },
      limits: { timeoutMs: 300_000_000, maxOutputBytes: 1 },
      mode: "async",
      waitMs: 0,
      deadlineMs: 2_678_400_000,
      cancelOnDisconnect: true,
      priority: "batch",
      idempotencyKey: "order 7 é",
      traceparent,
    });
  });

  test.each([
    [{ strange: 1 }, "/strange", "additionalProperties", "field /strange is not a known field"],
    [
      { limits: { timeout: 5 } },
      "/limits/timeout",
      "additionalProperties",
      "field /limits/timeout is not a known field",
    ],
    [{ "a/b~c": 1 }, "/a~1b~0c", "additionalProperties", "field /a~1b~0c is not a known field"],
    [{ tool: 7 }, "/tool", "type", "field /tool must be a string"],
    [{ tool: "" }, "/tool", "minLength", "field /tool must not be empty"],
    [{ tool: "x".repeat(129) }, "/tool", "maxLength", "field /tool must have at most 128 characters"],
    [{ tool: undefined }, "/tool", "required", "field /tool is required"],
    [{ tool: null }, "/tool", "type", "field /tool must be a string"],
    [{ input: undefined }, "/input", "required", "field /input is required"],
    [{ limits: [] }, "/limits", "type", "field /limits must be an object"],
    [{ limits: { timeout_ms: 0 } }, "/limits/timeout_ms", "minimum", "field /limits/timeout_ms must be at least 1"],
    [{ limits: { timeout_ms: -1 } }, "/limits/timeout_ms", "minimum", "field /limits/timeout_ms must be at least 1"],
    [{ limits: { timeout_ms: 1.5 } }, "/limits/timeout_ms", "type", "field /limits/timeout_ms must be a whole number"],
    [{ limits: { timeout_ms: "5" } }, "/limits/timeout_ms", "type", "field /limits/timeout_ms must be a whole number"],
    [
      { limits: { max_output_bytes: 0 } },
      "/limits/max_output_bytes",
      "minimum",
      "field /limits/max_output_bytes must be at least 1",
    ],
    [{ mode: "later" }, "/mode", "enum", 'field /mode must be one of "sync", "async"'],
    [{ stream: "yes" }, "/stream", "type", "field /stream must be true or false"],
    [{ wait_ms: -1 }, "/wait_ms", "minimum", "field /wait_ms must be at least 0"],
    [{ wait_ms: 300_001 }, "/wait_ms", "maximum", "field /wait_ms must be at most 300000"],
    [{ deadline_ms: 0 }, "/deadline_ms", "minimum", "field /deadline_ms must be at least 1"],
    [{ priority: 1 }, "/priority", "enum", 'field /priority must be one of "interactive", "normal", "batch"'],
    [{ idempotency_key: "" }, "/idempotency_key", "minLength", "field /idempotency_key must not be empty"],
    [
      { idempotency_key: "k".repeat(256) },
      "/idempotency_key",
      "maxLength",
      "field /idempotency_key must have at most 255 characters",
    ],
    [{ context: [1] }, "/context", "format", "field /context must be an object of at most 16384 bytes"],
    [{ context: "x" }, "/context", "format", "field /context must be an object of at most 16384 bytes"],
    [
      { context: { a: "x".repeat(16_384) } },
      "/context",
      "format",
      "field /context must be an object of at most 16384 bytes",
    ],
  ])("%j is refused at %s", async (body, pointer, keyword, message) => {
    const door = await openDoor();
    const heard = await invoke(door, body);
    expect(heard.status).toBe(400);
    const { code, message: words, details } = errorOf(heard);
    expect([code, words]).toEqual(["invalid_input", message]);
    expect(details.fields).toEqual([{ pointer, keyword, message: message.replace(`field ${pointer} `, "") }]);
    expect(door.service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test.each(["9007199254740993", "1e300"])("a number that no double holds is no limit: %s", async (digits) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      body: `{"tool":"echo","input":1,"limits":{"timeout_ms":${digits}}}`,
    });
    expect(heard.status).toBe(400);
    expect(errorOf(heard).details.fields?.[0]?.pointer).toBe("/limits/timeout_ms");
  });

  test("a long number is no context", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      body: '{"tool":"echo","input":1,"context":9007199254740993}',
    });
    expect([heard.status, errorOf(heard).details.fields?.[0]?.pointer]).toEqual([400, "/context"]);
  });

  test.each(["[]", "null", "7", '"echo"', "[{}]"])("a body of %s is no request", async (body) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body });
    expect([heard.status, errorOf(heard).message]).toEqual([400, "the body must be an object"]);
  });

  test("many faults are told together, the first of them in words, and their number is bounded", async () => {
    const door = await openDoor();
    const strange = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, i]));
    const heard = await invoke(door, { tool: 1, ...strange });
    const { message, details } = errorOf(heard);
    expect(message).toBe(
      "field /tool must be a string; field /f0 is not a known field; field /f1 is not a known field; and 28 more",
    );
    expect(details.fields).toHaveLength(20);
    expect(details["more_faults"]).toBe(11);
  });

  test("a stream is for who waits", async () => {
    const door = await openDoor();
    const heard = await invoke(door, { stream: true, mode: "async" });
    expect([heard.status, errorOf(heard).message]).toEqual([
      400,
      'field /stream does not go with mode "async"; follow GET /v1/executions/{id}/stream instead',
    ]);
  });

  test("a malformed traceparent is passed over", async () => {
    const door = await openDoor();
    expect((await invoke(door, {}, { traceparent: "junk" })).status).toBe(200);
    expect(invoked(door)).not.toHaveProperty("traceparent");
  });
});

describe("the idempotency key", () => {
  test("may come as a header", async () => {
    const door = await openDoor();
    await invoke(door, {}, { "idempotency-key": "order-7" });
    expect(invoked(door).idempotencyKey).toBe("order-7");
  });

  test("may come twice, if the two agree", async () => {
    const door = await openDoor();
    expect((await invoke(door, { idempotency_key: "k 1" }, { "idempotency-key": "k 1" })).status).toBe(200);
    expect(invoked(door).idempotencyKey).toBe("k 1");
  });

  test("is refused when the two disagree", async () => {
    const door = await openDoor();
    const heard = await invoke(door, { idempotency_key: "a" }, { "idempotency-key": "b" });
    expect([heard.status, errorOf(heard).message]).toEqual([
      400,
      "header Idempotency-Key must agree with the body's idempotency_key; send one of them, or the same in both",
    ]);
  });

  test.each(["", "k".repeat(256), "clé", "a\tb"])("is refused as the header %j", async (key) => {
    const door = await openDoor();
    const heard = await invoke(door, {}, { "idempotency-key": key });
    expect([heard.status, errorOf(heard).details.fields?.[0]?.pointer]).toEqual([400, "/Idempotency-Key"]);
  });

  test("is refused when two headers bring two", async () => {
    const door = await openDoor();
    const wire = door.wire();
    const body = '{"tool":"echo","input":1}';
    wire.send(
      "POST /v1/executions HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer alice-token\r\nContent-Type: application/json\r\n" +
        `Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(await wire.until("must be sent once")).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("names a replay in a header", async () => {
    const door = await openDoor(answering({ replayed: true }));
    expect((await invoke(door, { idempotency_key: "k" })).headers.get("idempotency-replayed")).toBe("true");
    const fresh = await openDoor();
    expect((await invoke(fresh, { idempotency_key: "k" })).headers.get("idempotency-replayed")).toBeNull();
  });
});

describe("how a call that was waited for is answered", () => {
  test("succeeded: 200 with the whole record", async () => {
    const door = await openDoor();
    const heard = await invoke(door, {});
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({
      execution_id: scriptedCallId,
      tool: "echo",
      version: "1.2.0",
      status: "succeeded",
      output: { message: "hi" },
      created_at: "2026-01-02T03:04:05.000Z",
      execution: {
        sandbox: "application",
        worker: "wrk_1",
        queued_ms: 2,
        start_ms: 3,
        duration_ms: 25,
        resources: { cpu_ms: 3 },
      },
    });
  });

  const toolError = errorBody("tool_error", "card declined", { tool_code: "declined" });
  test.each([
    ["failed", toolError, 422],
    ["failed", errorBody("invalid_output", "not what was promised"), 502],
    ["failed", errorBody("no_handler", "nobody serves it"), 503],
    ["failed", errorBody("indeterminate", "nobody knows", { may_have_executed: true }, false), 502],
    ["timed_out", errorBody("timeout", "30 s are over"), 504],
    ["denied", errorBody("approval_denied", "bob said no"), 403],
  ] as const)("%s: the status of its error, and the error's shape (%j)", async (state, error, status) => {
    const door = await openDoor(
      answering({ call: scriptedCall({ state, error, outputJson: '"raw"', outputHash: null }) }),
    );
    const heard = await invoke(door, {}, { "x-request-id": "r-1" });
    expect(heard.status).toBe(status);
    expect(heard.json).toEqual({
      error: {
        code: error.code,
        message: error.message,
        type: error.type,
        retryable: error.retryable,
        details: error.details ?? {},
        request_id: "r-1",
      },
      execution_id: scriptedCallId,
      status: state,
      execution: expect.objectContaining({
        worker: "wrk_1",
        limits: { timeout_ms: 30_000, max_output_bytes: 1_048_576 },
      }) as object,
    });
    expect(heard.text).not.toContain("raw");
  });

  test("failed with a time to wait: Retry-After", async () => {
    const error = errorBody("capacity_exhausted", "full", { retry_after_s: 3 });
    const door = await openDoor(answering({ call: scriptedCall({ state: "failed", error, outputJson: null }) }));
    expect((await invoke(door, {})).headers.get("retry-after")).toBe("3");
  });

  test("failed without a word: 500", async () => {
    const door = await openDoor(answering({ call: scriptedCall({ state: "failed", error: null, outputJson: null }) }));
    const heard = await invoke(door, {});
    expect([heard.status, errorOf(heard).code]).toEqual([500, "internal"]);
  });

  test("cancelled: 200, the status says it", async () => {
    const error = errorBody("cancelled", "alice cancelled it");
    const door = await openDoor(answering({ call: scriptedCall({ state: "cancelled", error, outputJson: null }) }));
    const heard = await invoke(door, {});
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({ status: "cancelled", execution_id: scriptedCallId });
  });

  test.each([
    ["parked", "awaiting_approval"],
    ["parked", "indeterminate"],
    ["waiting", "running"],
  ] as const)("%s (%s): 202 with the id and where to look", async (progress, state) => {
    const call = scriptedCall({ state, callId: "s1:v1:t1.1:0", outputJson: null, settledAt: null });
    const door = await openDoor(answering({ call, progress }));
    const heard = await invoke(door, {});
    expect(heard.status).toBe(202);
    expect(heard.json).toMatchObject({ status: state, execution_id: "s1:v1:t1.1:0" });
    expect(heard.headers.get("location")).toBe("/v1/executions/s1%3Av1%3At1.1%3A0");
  });

  test("refused with a record: the error carries its id", async () => {
    const door = await openDoor({
      invoke: async () => {
        throw new SignalboxError("forbidden", "no grant", {
          details: { missing: ["tool:invoke:echo"] },
          executionId: "exec_denied",
        });
      },
    });
    const heard = await invoke(door, {});
    expect(heard.status).toBe(403);
    expect(heard.json).toMatchObject({
      execution_id: "exec_denied",
      error: { details: { missing: ["tool:invoke:echo"] } },
    });
  });
});

describe("how a call that was not waited for is answered", () => {
  test("202 with the id", async () => {
    const door = await openDoor();
    const heard = await invoke(door, { mode: "async" });
    expect([heard.status, heard.json]).toMatchObject([202, { status: "queued", execution_id: scriptedCallId }]);
  });

  test("a replay of one that failed meanwhile is its record, not an error", async () => {
    const call = scriptedCall({ state: "failed", error: errorBody("tool_error", "no"), outputJson: null });
    const door = await openDoor(answering({ call, replayed: true }));
    const heard = await invoke(door, { mode: "async", idempotency_key: "k" });
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({ status: "failed", error: { code: "tool_error" } });
  });
});

// The gRPC door from outside: who is let in and in what order, how a refusal is told, a caller or a door that leaves.
import { once } from "node:events";
import { SignalboxError } from "@signalbox/protocol";
import { Admin, RuntimeStatusSchema } from "@signalbox/protocol/v1/admin";
import {
  ExecutionSchema,
  GetExecutionRequestSchema,
  InvokeRequestSchema,
  ToolRuntime,
} from "@signalbox/protocol/v1/tool_runtime";
import { describe, expect, test } from "vitest";
import {
  answerIn,
  asAlice,
  asBob,
  asVic,
  detailIn,
  json,
  message,
  openGrpcDoor,
  pathOf,
  textOf,
} from "../../../../../../test/support/grpc-door.ts";
import { codes, gather } from "../../../../../../test/support/grpc-caller.ts";
import { openRaw, standing } from "../../../../../../test/support/grpc-raw.ts";
import { scriptedCall, scriptedCallId } from "../../../../../../test/support/scripted-service.ts";

const { invoke, getExecution } = ToolRuntime.method;
const echo = message(InvokeRequestSchema, { tool: "echo", input: json({ n: 1 }) });
const readOne = message(GetExecutionRequestSchema, { executionId: scriptedCallId });

describe("who asks", () => {
  test("a call with its answer: the request reaches the runtime, the record comes back, the line tells of it", async () => {
    const { bytes, service, log, strays } = await openGrpcDoor();
    const answered = await bytes(invoke, [echo], { metadata: { ...asAlice, "x-request-id": "mine-1" } });
    const call = answerIn(ExecutionSchema, answered);
    expect([call.executionId, call.status, textOf(call.output)]).toEqual([scriptedCallId, "succeeded", '{"n":1}']);
    expect(answered.initial.get("x-request-id")).toEqual(["mine-1"]);
    const [authenticated, invoked] = service.reached;
    expect(authenticated).toMatchObject({ method: "authenticate", args: ["alice-token", "mine-1"] });
    expect(invoked).toMatchObject({ method: "invoke", args: [{ tool: "echo", input: { n: 1 }, mode: "sync" }] });
    expect(await log.line(({ message: said }) => said === "request")).toMatchObject({
      level: "info",
      request_id: "mine-1",
      tenant: "acme",
      principal: "user:alice",
      rpc: "ToolRuntime.Invoke",
      execution_id: scriptedCallId,
      status: 0,
      ms: expect.any(Number),
    });
    expect(log.lines).toHaveLength(1);
    expect(strays).toEqual([]);
  });

  test.each([
    ["no credential", {}, "unauthenticated"],
    ["a credential of another kind", { authorization: "Basic abc" }, "unauthenticated"],
    ["an unknown one", { authorization: "Bearer nobody" }, "unauthenticated"],
    ["an expired one", { authorization: "Bearer expired-token" }, "token_expired"],
    ["a revoked one", { authorization: "Bearer revoked-token" }, "key_revoked"],
  ])("%s is refused, whatever the request says", async (_, metadata, code) => {
    const { bytes, service } = await openGrpcDoor();
    const { status } = await bytes(invoke, [Buffer.from("garbage")], { metadata });
    expect([status.code, status.metadata.get("signalbox-error-code")]).toEqual([codes.UNAUTHENTICATED, [code]]);
    expect(detailIn(status).code).toBe(code);
    expect(service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test("without the scope nothing is decoded; the refusal is written down before it is told", async () => {
    const told: unknown[] = [];
    const onForbidden = async (asked: { principal: { name: string } }, scope: string, rpc: string) =>
      void told.push([asked.principal.name, scope, rpc]);
    const { bytes, service, log } = await openGrpcDoor({}, { onForbidden });
    const { status } = await bytes(invoke, [Buffer.from("garbage")], { metadata: asVic });
    expect([status.code, detailIn(status).code]).toEqual([codes.PERMISSION_DENIED, "forbidden"]);
    expect(JSON.parse(textOf(detailIn(status).details))).toEqual({
      reason: "missing_scope",
      missing_scope: "tools:invoke",
    });
    expect(told).toEqual([["user:vic", "tools:invoke", "ToolRuntime.Invoke"]]);
    expect(service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
    expect(await log.line(() => true)).toMatchObject({ principal: "user:vic", status: 7, code: "forbidden" });
  });

  test("nothing is read before somebody is let in", async () => {
    const gate = Promise.withResolvers<void>();
    const scripted = await openGrpcDoor();
    const { server } = await openGrpcDoor({
      authenticate: async (...args) => {
        await gate.promise;
        return scripted.service.authenticate(...args);
      },
    });
    const call = openRaw(`127.0.0.1:${server.port}`, pathOf(invoke), asAlice);
    call.send(Buffer.alloc(8 * 1024 * 1024));
    call.stream.end();
    // What flow control lets through; the rest waits on the caller's side.
    expect(await standing(() => call.bytesOut())).toBeLessThan(200_000);
    gate.resolve();
    expect((await call.read()).status).toBe(String(codes.RESOURCE_EXHAUSTED));
  });

  test("a harmless request id is kept; another one, or several, give way to a new one", async () => {
    const { bytes } = await openGrpcDoor();
    const idOf = async (sent: string): Promise<unknown> =>
      (await bytes(getExecution, [readOne], { metadata: { ...asAlice, "x-request-id": sent } })).initial.get(
        "x-request-id",
      )[0];
    expect(await idOf("job-7.a_b")).toBe("job-7.a_b");
    expect(await idOf("no spaces")).toMatch(/^req_[0-9A-Z]{26}$/);
    expect(await idOf("a".repeat(65))).toMatch(/^req_[0-9A-Z]{26}$/);
  });
});

describe("how a refusal is told", () => {
  test("status, text, trailers and typed detail say the same", async () => {
    const { bytes } = await openGrpcDoor({
      invoke: async () => {
        throw new SignalboxError("queue_full", "1000 calls wait; come back in a moment", {
          details: { retry_after_s: 1.2, depth: 9007199254740991 },
          executionId: "exec_X",
        });
      },
    });
    const { status, messages } = await bytes(invoke, [echo], { metadata: { ...asAlice, "x-request-id": "r1" } });
    expect(messages).toEqual([]);
    expect([status.code, status.details]).toEqual([codes.RESOURCE_EXHAUSTED, "1000 calls wait; come back in a moment"]);
    expect(["x-request-id", "signalbox-error-code", "retry-after"].map((name) => status.metadata.get(name))).toEqual([
      ["r1"],
      ["queue_full"],
      ["2"],
    ]);
    expect(detailIn(status)).toMatchObject({
      code: "queue_full",
      message: "1000 calls wait; come back in a moment",
      type: "limit",
      retryable: true,
      requestId: "r1",
      executionId: "exec_X",
    });
    expect(textOf(detailIn(status).details)).toBe('{"retry_after_s":1.2,"depth":9007199254740991}');
  });

  test("a call that failed is told as its error, with its record's id, status and measures", async () => {
    const error = { code: "tool_error", message: "the bank is busy", type: "tool", retryable: false } as const;
    const failed = scriptedCall({
      state: "failed",
      outputJson: null,
      error: { ...error, details: { tool_code: "busy" } },
    });
    const { bytes, strays } = await openGrpcDoor({
      invoke: async () => ({ call: failed, progress: "settled", replayed: false }),
    });
    const { status } = await bytes(invoke, [echo]);
    const detail = detailIn(status);
    expect([status.code, detail.code, detail.executionId, detail.status]).toEqual([
      codes.ABORTED,
      "tool_error",
      scriptedCallId,
      "failed",
    ]);
    expect(detail.execution).toMatchObject({ attempt: 1, worker: "wrk_1" });
    expect(strays).toEqual([]);
  });

  test("a call that was cancelled while its caller waited is CANCELLED; to who did not wait it is a record", async () => {
    const cancelled = scriptedCall({ state: "cancelled", outputJson: null });
    const { bytes } = await openGrpcDoor({
      invoke: async () => ({ call: cancelled, progress: "settled", replayed: true }),
    });
    const { status } = await bytes(invoke, [echo]);
    expect([status.code, detailIn(status).code, detailIn(status).status]).toEqual([
      codes.CANCELLED,
      "cancelled",
      "cancelled",
    ]);
    const later = await bytes(invoke, [message(InvokeRequestSchema, { tool: "echo", input: json({}), mode: "async" })]);
    expect(answerIn(ExecutionSchema, later).status).toBe("cancelled");
    expect(later.initial.get("idempotency-replayed")).toEqual(["true"]);
  });

  test("a call that is parked, or goes on, answers with its open record", async () => {
    const parked = scriptedCall({
      state: "awaiting_approval",
      outputJson: null,
      approvalId: "appr_1",
      settledAt: null,
    });
    const { bytes } = await openGrpcDoor({
      invoke: async () => ({ call: parked, progress: "parked", replayed: false }),
    });
    const answered = await bytes(invoke, [echo]);
    expect(answerIn(ExecutionSchema, answered)).toMatchObject({ status: "awaiting_approval", approvalId: "appr_1" });
    expect(answered.initial.get("idempotency-replayed")).toEqual([]);
  });

  test("another tenant's id, an unknown one and what is no id cannot be told apart", async () => {
    const { bytes } = await openGrpcDoor();
    const ask = async (executionId: string): Promise<unknown> => {
      const request = message(GetExecutionRequestSchema, { executionId });
      const { status } = await bytes(getExecution, [request], { metadata: { ...asBob, "x-request-id": "same" } });
      const { date: _, ...trailers } = status.metadata.toJSON();
      return [status.code, status.details, trailers];
    };
    const unknown = await ask("exec_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    expect(unknown).toMatchObject([codes.NOT_FOUND, expect.stringContaining("no such execution"), {}]);
    expect(await ask(scriptedCallId)).toEqual(unknown);
    expect(await ask("what-is-no-id")).toEqual(unknown);
  });

  test("the runtime's own fault says nothing of its cause; the log does", async () => {
    const { bytes, log } = await openGrpcDoor({
      getExecution: async () => {
        throw new Error("secret cause");
      },
    });
    const { status } = await bytes(getExecution, [readOne]);
    expect([status.code, detailIn(status).code]).toEqual([codes.INTERNAL, "internal"]);
    expect(JSON.stringify([status.details, status.metadata.toJSON()])).not.toContain("secret cause");
    const line = await log.line(({ level }) => level === "error");
    expect(line).toMatchObject({ message: "internal error", rpc: "ToolRuntime.GetExecution" });
  });

  const large = { a: "x".repeat(9_000) };
  test.each([
    ["large details", "short", large, "short"],
    [
      "a long message of letters that take nine bytes in a trailer",
      "語".repeat(3_000),
      {},
      "語".repeat(60).slice(0, 59),
    ],
    ["both", "ä".repeat(1_999), large, "ä"],
    ["line feeds and half a pair", "one\ntwo \ud800", {}, "one two \ufffd"],
  ])("%s: trailers stay within what clients take", async (_, said, details, start) => {
    const { bytes } = await openGrpcDoor({
      getExecution: async () => {
        throw new SignalboxError("conflict", said, { details });
      },
    });
    const { status } = await bytes(getExecution, [readOne]);
    expect(status.code).toBe(codes.ALREADY_EXISTS);
    expect(status.details.startsWith(start)).toBe(true);
    const headers = Object.entries({ ...status.metadata.toHttp2Headers(), "grpc-message": encodeURI(status.details) });
    // As HTTP/2 counts them: name, value and 32.
    const counted = headers.reduce((sum, [name, value]) => sum + name.length + String(value).length + 32, 0);
    expect(counted).toBeLessThan(8_192);
    const detail = detailIn(status);
    expect(detail.code).toBe("conflict");
    if (details === large) expect(textOf(detail.details)).toContain("omitted");
  });
});

describe("a caller that goes away", () => {
  /** Waits in the runtime until the caller is gone. */
  async function waiting() {
    const entered = Promise.withResolvers<AbortSignal>();
    const open = await openGrpcDoor({
      invoke: async ({ signal }) => {
        if (signal === undefined) throw new Error("a door hands over its signal");
        entered.resolve(signal);
        if (!signal.aborted) await once(signal, "abort");
        return { call: scriptedCall({ state: "running" }), progress: "waiting", replayed: false };
      },
    });
    return { ...open, entered: entered.promise };
  }

  test("is told to the runtime when it cancels, and in the log", async () => {
    const { caller, entered, log } = await waiting();
    const call = caller.open(pathOf(invoke), { metadata: asAlice });
    const ended = gather(call);
    call.write(echo);
    call.end();
    const signal = await entered;
    expect(signal.aborted).toBe(false);
    call.cancel();
    await once(signal, "abort").catch(() => undefined);
    expect((await ended).status.code).toBe(codes.CANCELLED);
    expect(await log.line(({ caller_gone }) => caller_gone === true)).toMatchObject({ rpc: "ToolRuntime.Invoke" });
    expect(log.lines).toHaveLength(1);
  });

  test("so is one whose deadline passes", async () => {
    const { bytes, entered } = await waiting();
    const { status } = await bytes(invoke, [echo], { deadlineMs: 150 });
    expect(status.code).toBe(codes.DEADLINE_EXCEEDED);
    const signal = await entered;
    if (!signal.aborted) await once(signal, "abort");
  });

  test("so is one whose connection breaks", async () => {
    const { caller, entered } = await waiting();
    const call = caller.open(pathOf(invoke), { metadata: asAlice });
    void gather(call);
    call.write(echo);
    call.end();
    const signal = await entered;
    caller.close();
    call.cancel();
    if (!signal.aborted) await once(signal, "abort");
  });

  test("an answer is not taken for the caller's leaving", async () => {
    let asked: AbortSignal | undefined;
    const { bytes } = await openGrpcDoor({
      invoke: async ({ signal }) => {
        asked = signal;
        return { call: scriptedCall(), progress: "settled", replayed: false };
      },
    });
    expect((await bytes(invoke, [echo])).status.code).toBe(codes.OK);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked?.aborted).toBe(false);
  });
});

describe("a door that closes", () => {
  test("refuses what comes, and lets what is in work end", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const { bytes, door } = await openGrpcDoor({
      invoke: async () => {
        entered.resolve();
        await gate.promise;
        return { call: scriptedCall(), progress: "settled", replayed: false };
      },
    });
    const slow = bytes(invoke, [echo]);
    await entered.promise;
    const closed = door.close(10_000);
    const { status } = await bytes(invoke, [echo]);
    expect([status.code, detailIn(status).code, status.metadata.get("retry-after")]).toEqual([
      codes.UNAVAILABLE,
      "draining",
      ["1"],
    ]);
    gate.resolve();
    expect((await slow).status.code).toBe(codes.OK);
    await closed;
  });

  test("cuts what lasts longer than the grace", async () => {
    const entered = Promise.withResolvers<void>();
    const { bytes, door } = await openGrpcDoor({
      invoke: () => {
        entered.resolve();
        return new Promise(() => undefined);
      },
    });
    const stuck = bytes(invoke, [echo]);
    await entered.promise;
    await door.close(20);
    expect(detailIn((await stuck).status).code).toBe("draining");
  });

  test("closes at once when nothing is open", async () => {
    const { door } = await openGrpcDoor();
    await door.close(60_000);
  });
});

test("an answer without a message of its own: the status", async () => {
  const { bytes, strays } = await openGrpcDoor();
  const status = answerIn(RuntimeStatusSchema, await bytes(Admin.method.getStatus, [new Uint8Array()]));
  expect(status).toMatchObject({ version: "0.1.0", replica: "r1", ready: true, calls: { queued: 2n }, workers: 1 });
  expect(strays).toEqual([]);
});

// What gRPC has of its own, against the real runtime: the same stream as SSE, many calls on one stream, callers that leave, and a runtime that leaves.
import { create, fromBinary } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import { Admin } from "@signalbox/protocol/v1/admin";
import {
  ExecutionSchema,
  FollowExecutionRequestSchema,
  InvokeManyRequestSchema,
  InvokeManyResponseSchema,
  InvokeRequestSchema,
  StreamEventSchema,
  ToolRuntime,
} from "@signalbox/protocol/v1/tool_runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { codes, gather, type Answered } from "../support/grpc-caller.ts";
import { answerIn, detailIn, json, message, pathOf, textOf } from "../support/grpc-door.ts";
import { callerAt } from "../support/grpc-rest.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

const { invoke, invokeStream, invokeMany, followExecution } = ToolRuntime.method;
const gates = createGates();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
  for (const tool of ["talk", "hold", "mirror", "asked"]) await stack.register(workerTool(tool, "1.0.0", { events: ["charged"] }));
  await stack.publish({ name: "asks", match: { tools: ["asked"] }, then: ask("finance") });
  await stack.startWorker(
    "w-grpc",
    [
      {
        tool: "talk",
        async handler(args: { readonly gate: string }, ctx) {
          ctx.output("stdout", "grün \n");
          ctx.output("stderr", 'quoted "\\" text');
          ctx.progress(40, "on the way");
          ctx.log("a line");
          ctx.emit("charged", { n: 12345678901234567890n });
          await gates.hold(args, ctx);
          return { big: 98765432109876543210n };
        },
      },
      { tool: "hold", handler: gates.hold },
      { tool: "asked", handler: () => "done" },
      { tool: "mirror", handler: (args: unknown) => args },
    ],
    { capacity: 64 },
  );
});
afterAll(() => finish(stack, gates));

const asAdmin = () => ({ metadata: { authorization: `Bearer ${stack.adminKey}` } });
const caller = () => callerAt(stack.grpc());
const follow = (executionId: string, afterSeq?: number): Uint8Array =>
  message(FollowExecutionRequestSchema, {
    executionId,
    ...(afterSeq === undefined ? {} : { afterSeq: BigInt(afterSeq) }),
  });

type Heard = readonly [seq: number, type: string, data: string];

const heardOverGrpc = ({ messages }: Answered): Heard[] =>
  messages.map((bytes) => {
    const { seq, type, data } = fromBinary(StreamEventSchema, bytes);
    return [Number(seq), type, textOf(data)];
  });

/** As the frames say it; the text of the data is cut out of its line, so that every digit is compared. */
async function heardOverSse(executionId: string, afterSeq = 0): Promise<Heard[]> {
  const url = `${stack.url()}/v1/executions/${executionId}/stream?after_seq=${afterSeq}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${stack.adminKey}` } });
  const frames = (await answer.text()).split("\n\n").filter((frame) => frame.startsWith("id: "));
  return frames.map((frame) => {
    const [, seq = "", type = "", data = ""] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
    return [Number(seq), type, /^\{"seq":\d+,"ts":"[^"]+","data":(.*)\}$/.exec(data)?.[1] ?? data];
  });
}

describe("STR-06: SSE and gRPC tell the same events, under the same numbers, in the same text", () => {
  test("while the call runs, after its end, and from the middle on", async () => {
    const { body } = await stack.admin.invoke({ tool: "talk", input: { gate: "str-06" }, mode: "async" });
    const id = body.execution_id ?? "";
    await gates.entered("str-06");
    const live = Promise.all([
      heardOverSse(id),
      caller()
        .ask(pathOf(followExecution), [follow(id)], asAdmin())
        .then(heardOverGrpc),
    ]);
    gates.open("str-06");
    const [sse, grpc] = await live;
    expect(grpc).toEqual(sse);
    expect(grpc.map(([seq, type]) => [seq, type])).toEqual([
      [1, "start"],
      [2, "stdout"],
      [3, "stderr"],
      [4, "progress"],
      [5, "log"],
      [6, "emit"],
      [7, "done"],
    ]);
    expect(grpc[1]?.[2]).toBe('{"text":"grün \\n"}');
    expect(grpc[5]?.[2]).toContain("12345678901234567890");
    expect(grpc[6]?.[2]).toContain('"output":{"big":98765432109876543210}');
    for (const afterSeq of [0, 3, 6, 7]) {
      const late = await caller().ask(pathOf(followExecution), [follow(id, afterSeq)], asAdmin());
      expect(heardOverGrpc(late)).toEqual(await heardOverSse(id, afterSeq));
      expect(heardOverGrpc(late)).toEqual(sse.filter(([seq]) => seq > afterSeq));
    }
  });

  test("a reader whose key is revoked in mid-call hears nothing that comes later", async () => {
    const reader = await stack.makeKey({ principal: "service:reader", scopes: ["calls:read"] });
    const { body } = await stack.admin.invoke({ tool: "talk", input: { gate: "str-key" }, mode: "async" });
    await gates.entered("str-key");
    const call = caller().open(pathOf(followExecution), { metadata: { authorization: `Bearer ${reader.secret}` } });
    const heard = gather(call);
    const begun = new Promise<void>((resolve) => {
      let count = 0;
      call.on("data", () => void (++count === 6 && resolve()));
    });
    call.write(follow(body.execution_id ?? ""));
    call.end();
    await begun;
    await stack.admin.delete(`/v1/keys/${reader.keyId}`);
    gates.open("str-key");
    const told = await heard;
    expect([told.status.code, heardOverGrpc(told).map(([, type]) => type)]).toEqual([codes.UNAUTHENTICATED, ["start", "stdout", "stderr", "progress", "log", "emit"]]);
  });

  test("a call that fails, and one that waits for people", async () => {
    const failed = caller().ask(
      pathOf(invokeStream),
      [message(InvokeRequestSchema, { tool: "talk", input: json({ gate: "str-fail" }) })],
      asAdmin(),
    );
    const { callId } = await gates.entered("str-fail");
    gates.fail("str-fail", new Error("no such order"));
    const told = await failed;
    expect(told.initial.get("signalbox-execution-id")).toEqual([callId]);
    expect(heardOverGrpc(told)).toEqual(await heardOverSse(callId));
    expect(heardOverGrpc(told).at(-1)?.[1]).toBe("error");

    const asked = caller().open(pathOf(invokeStream), asAdmin());
    const answered = gather(asked);
    const named = new Promise<string>((resolve) => {
      asked.once("metadata", (metadata: Metadata) => resolve(String(metadata.get("signalbox-execution-id")[0])));
    });
    asked.write(message(InvokeRequestSchema, { tool: "asked", input: json({}) }));
    asked.end();
    const id = await named;
    const { approval_id: approvalId } = await stack.admin.until(id, ["awaiting_approval"]);
    const person = await stack.person("pia", "finance");
    await person.rest.decide(approvalId ?? "", "approve");
    const heard = heardOverGrpc(await answered);
    expect(heard.map(([, type]) => type)).toEqual(["approval", "start", "done"]);
    expect(heard).toEqual(await heardOverSse(id));
  });
});

describe("many calls on one stream", () => {
  test("of 500 each has its own answer; keys, refusals and failures among them are told as they are alone", async () => {
    const many = (ref: string, fields: object): Uint8Array =>
      message(InvokeManyRequestSchema, {
        ref,
        request: create(InvokeRequestSchema, { tool: "mirror", input: json({ ref }), ...fields }),
      });
    const requests = Array.from({ length: 500 }, (_, at) => many(`r${at}`, {}));
    requests.push(
      many("key-1", { idempotencyKey: "many", input: json({ n: 1 }) }),
      many("key-2", { idempotencyKey: "many", input: json({ n: 1 }) }),
      many("nope", { tool: "nope" }),
      many("bad", { input: Buffer.from("{") }),
    );
    const { messages, status } = await caller().ask(pathOf(invokeMany), requests, asAdmin());
    expect(status.code).toBe(codes.OK);
    const answers = new Map(
      messages.map((bytes) => {
        const answer = fromBinary(InvokeManyResponseSchema, bytes);
        return [answer.ref, answer] as const;
      }),
    );
    expect(answers.size).toBe(504);
    for (let at = 0; at < 500; at++) {
      const { outcome } = answers.get(`r${at}`) ?? {};
      expect(outcome?.case === "execution" && textOf(outcome.value.output)).toBe(`{"ref":"r${at}"}`);
    }
    const idOf = (ref: string): unknown => {
      const { outcome } = answers.get(ref) ?? {};
      return outcome?.case === "execution" ? outcome.value.executionId : outcome?.value?.code;
    };
    expect(idOf("key-1")).toMatch(/^exec_/);
    expect(idOf("key-2")).toBe(idOf("key-1"));
    expect(new Set(["key-1", "key-2"].map((ref) => answers.get(ref)?.replayed))).toEqual(new Set([false, true]));
    expect([idOf("nope"), idOf("bad")]).toEqual(["tool_not_found", "invalid_input"]);
    const record = await stack.admin.call(String(idOf("r7")));
    expect(record["request_id"]).toBe(answers.get("r7")?.requestId);
  });
});

describe("a caller that goes away", () => {
  const begin = (gate: string, cancelOnDisconnect: boolean): Uint8Array =>
    message(InvokeRequestSchema, { tool: "hold", input: json({ gate }), cancelOnDisconnect });

  test.each([
    ["by cancelling", undefined],
    ["by its deadline", 400],
  ])("%s stops its call if it has asked for that, and not otherwise", async (how, deadlineMs) => {
    const options = deadlineMs === undefined ? asAdmin() : { ...asAdmin(), deadlineMs };
    const calls = [true, false].map((cancels) => {
      const call = caller().open(pathOf(invoke), options);
      const answered = gather(call);
      call.write(begin(`${how} ${cancels}`, cancels));
      call.end();
      return { call, answered };
    });
    const stopped = await gates.entered(`${how} true`);
    const kept = await gates.entered(`${how} false`);
    if (deadlineMs === undefined) for (const { call } of calls) call.cancel();
    const statuses = await Promise.all(calls.map(async ({ answered }) => (await answered).status.code));
    const gone = deadlineMs === undefined ? codes.CANCELLED : codes.DEADLINE_EXCEEDED;
    expect(statuses).toEqual([gone, gone]);
    await stack.admin.until(stopped.callId, ["cancelled"]);
    expect(kept.ctx.signal.aborted).toBe(false);
    gates.open(`${how} false`);
    await stack.admin.until(kept.callId, ["succeeded"]);
  });
});

test("a runtime that drains ends what runs, and tells who follows the rest to come back", async () => {
  const followed = (id: string, afterSeq?: number) =>
    caller().ask(pathOf(followExecution), [follow(id, afterSeq)], asAdmin());
  const begin = async (tool: string, input: object) =>
    (await stack.admin.invoke({ tool, input, mode: "async" })).body.execution_id ?? "";
  await stack.register(workerTool("nobody.serves"));
  const running = await begin("hold", { gate: "drain" });
  const waiting = await begin("nobody.serves", {});
  await gates.entered("drain");
  const [ofRunning, ofWaiting] = [followed(running), followed(waiting)];
  const idle = caller().open(pathOf(invokeMany), asAdmin());
  const idleEnded = gather(idle);
  await new Promise((resolve) => idle.once("metadata", resolve));
  const { runtime } = stack;
  runtime.signal("SIGTERM");
  await expect.poll(async () => (await stack.admin.get("/readyz")).status).toBe(503);
  const refused = await caller().ask(
    pathOf(invoke),
    [message(InvokeRequestSchema, { tool: "mirror", input: json({}) })],
    asAdmin(),
  );
  expect([refused.status.code, detailIn(refused.status).code]).toEqual([codes.UNAVAILABLE, "draining"]);
  gates.open("drain");
  expect(heardOverGrpc(await ofRunning).map(([, type]) => type)).toEqual(["start", "done"]);
  for (const { status } of [await ofWaiting, await idleEnded])
    expect([status.code, detailIn(status).code]).toEqual([codes.UNAVAILABLE, "draining"]);
  expect(await runtime.ended).toEqual({ code: 0, signal: null });

  await stack.start();
  expect(heardOverGrpc(await followed(running, 1)).map(([, type]) => type)).toEqual(["done"]);
  const goesOn = followed(waiting);
  await stack.startWorker("w-later", [{ tool: "nobody.serves", handler: () => "at last" }]);
  expect(heardOverGrpc(await goesOn).at(-1)?.[1]).toBe("done");
});

test("health says that every service serves; the status needs a key, and says the same as over REST", async () => {
  const check = async (service: string): Promise<unknown> => {
    const name = Buffer.from(service);
    const request = Buffer.concat([Buffer.from([0x0a, name.byteLength]), name]);
    const { messages } = await caller().ask("/grpc.health.v1.Health/Check", [request]);
    return [...(messages[0] ?? [])];
  };
  for (const name of ["ToolRuntime", "Approvals", "Policies", "Registry", "Admin"])
    expect(await check(`signalbox.v1.${name}`)).toEqual([0x08, 1]);
  const refused = await caller().ask(pathOf(Admin.method.getStatus), [new Uint8Array()]);
  expect(refused.status.code).toBe(codes.UNAUTHENTICATED);
});

test("an answer of a mebibyte comes whole", async () => {
  const input = { text: "x".repeat(1_048_500) };
  const request = message(InvokeRequestSchema, { tool: "echo", input: json(input) });
  const answered = await caller().ask(pathOf(invoke), [request], asAdmin());
  expect(JSON.parse(textOf(answerIn(ExecutionSchema, answered).output))).toEqual(input);
});

// Many calls on one stream: each answered under its own name, none harmed by another, and no more in work than is allowed.
import { create, fromBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { SignalboxError } from "@signalbox/protocol";
import {
  InvokeManyRequestSchema,
  InvokeManyResponseSchema,
  InvokeRequestSchema,
  ToolRuntime,
  type InvokeManyResponse,
} from "@signalbox/protocol/v1/tool_runtime";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { InvokeAnswer, InvokeRequest } from "../../../service.ts";
import { codes, gather, type Answered } from "../../../../../../test/support/grpc-caller.ts";
import {
  asAlice,
  asVic,
  detailIn,
  json,
  message,
  openGrpcDoor,
  pathOf,
  textOf,
} from "../../../../../../test/support/grpc-door.ts";
import { openRaw, standing } from "../../../../../../test/support/grpc-raw.ts";
import { scriptedCall } from "../../../../../../test/support/scripted-service.ts";

const { invokeMany } = ToolRuntime.method;
type Fields = MessageInitShape<typeof InvokeManyRequestSchema>;
const one = (ref: string, more: MessageInitShape<typeof InvokeRequestSchema> = {}, rest: Fields = {}): Uint8Array => {
  const request = create(InvokeRequestSchema, { tool: "echo", input: json({ ref }), ...more });
  return message(InvokeManyRequestSchema, { ref, request, ...rest });
};

const answersIn = ({ messages }: { readonly messages: readonly Uint8Array[] }): InvokeManyResponse[] =>
  messages.map((bytes) => fromBinary(InvokeManyResponseSchema, bytes));
const byName = ([a = ""]: readonly unknown[], [b = ""]: readonly unknown[]): number => (String(a) < String(b) ? -1 : 1);
const brief = (answered: Answered): unknown[] =>
  answersIn(answered)
    .map(({ ref, outcome, statusCode }) => [
      ref,
      statusCode,
      outcome.case === "execution" ? textOf(outcome.value.output) : outcome.value?.code,
    ])
    .sort(byName);

test("each request has its answer under its own name, and the stream ends when all are answered", async () => {
  const { bytes, service, strays, log } = await openGrpcDoor();
  const answered = await bytes(invokeMany, [
    one("a"),
    one("b", { mode: "async" }),
    one("c", {}, { requestId: "mine" }),
  ]);
  expect(brief(answered)).toEqual([
    ["a", 0, '{"ref":"a"}'],
    ["b", 0, ""],
    ["c", 0, '{"ref":"c"}'],
  ]);
  expect(answered.status.code).toBe(codes.OK);
  const ids = answersIn(answered).map(({ ref, requestId }) => [ref, requestId]);
  expect(ids).toContainEqual(["c", "mine"]);
  expect(new Set(ids.map(([, id]) => id)).size).toBe(3);
  expect(service.reached.filter(({ method }) => method === "authenticate")).toHaveLength(4);
  expect(service.reached.find(({ asked }) => asked?.requestId === "mine")).toMatchObject({ method: "invoke" });
  // One line for each request, and one for the stream.
  await log.line(({ request_id }) => request_id === answered.initial.get("x-request-id")[0]);
  expect(
    log.lines.map(({ message: said, status, execution_id }) => [said, status, execution_id !== undefined]),
  ).toEqual([
    ["request", 0, true],
    ["request", 0, true],
    ["request", 0, true],
    ["request", 0, false],
  ]);
  expect(strays).toEqual([]);
});

test("an empty stream is well and ends", async () => {
  const { bytes } = await openGrpcDoor();
  const answered = await bytes(invokeMany, []);
  expect([answered.messages, answered.status.code]).toEqual([[], codes.OK]);
});

test("answers come as calls end, not as they were asked for", async () => {
  const gates = new Map([["slow", Promise.withResolvers<void>()]]);
  const { caller } = await openGrpcDoor({
    invoke: async (_asked, request) => {
      await gates.get(nameIn(request))?.promise;
      return settled(request);
    },
  });
  const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
  const first = new Promise<string>((resolve) => {
    call.once("data", (bytes: Buffer) => resolve(fromBinary(InvokeManyResponseSchema, bytes).ref));
  });
  const answered = gather(call);
  for (const request of [one("slow"), one("fast")]) call.write(request);
  expect(await first).toBe("fast");
  call.end();
  gates.get("slow")?.resolve();
  expect(answersIn(await answered).map(({ ref }) => ref)).toEqual(["fast", "slow"]);
});

const nameIn = ({ input }: InvokeRequest): string => (input as { readonly ref: string }).ref;
const settled = (request: InvokeRequest): InvokeAnswer => ({
  call: scriptedCall({ outputJson: JSON.stringify(request.input) }),
  progress: "settled",
  replayed: false,
});

describe("a request that is wrong costs itself alone", () => {
  const field = (number: number, type: WireType) => new BinaryWriter().tag(number, type);
  const named = (rest: Uint8Array): Uint8Array =>
    Buffer.concat([field(1, WireType.LengthDelimited).string("bad").finish(), rest]);

  test.each([
    ["garbage behind its name", named(Buffer.from([0x12, 0x7f])), "bad", "invalid_input"],
    ["a field that is not known", named(field(77, WireType.Varint).int32(1).finish()), "bad", "invalid_input"],
    ["garbage from the start", Buffer.from([0xff, 0xff, 0xff]), "", "invalid_input"],
    ["nothing", new Uint8Array(), "", "invalid_input"],
    ["no request", named(new Uint8Array()), "bad", "invalid_input"],
    ["a tool with no name", one("bad", { tool: "" }), "bad", "invalid_input"],
    ["input that is no JSON", one("bad", { input: Buffer.from("{") }), "bad", "invalid_input"],
    ["a megabyte too much", one("bad", { input: json("x".repeat(1_048_576)) }), "bad", "payload_too_large"],
    ["a name that is too long", one("n".repeat(129)), "n".repeat(128), "invalid_input"],
  ])("%s", async (_, bad, ref, code) => {
    const { bytes } = await openGrpcDoor();
    const answered = await bytes(invokeMany, [one("1"), bad, one("2")]);
    expect(answered.status.code).toBe(codes.OK);
    const status = code === "payload_too_large" ? codes.RESOURCE_EXHAUSTED : codes.INVALID_ARGUMENT;
    expect(brief(answered)).toEqual(
      [
        ["1", 0, '{"ref":"1"}'],
        ["2", 0, '{"ref":"2"}'],
        [ref, status, code],
      ].sort(byName),
    );
  });

  test("a refusal and a failed call are told as Invoke would tell them", async () => {
    const error = { code: "tool_error", message: "no", type: "tool", retryable: false } as const;
    const { bytes, strays } = await openGrpcDoor({
      invoke: async (_asked, request) => {
        if (nameIn(request) === "refused")
          throw new SignalboxError("queue_full", "later", { details: { retry_after_s: 1 }, executionId: "exec_1" });
        return {
          call: scriptedCall({ state: "failed", outputJson: null, error }),
          progress: "settled",
          replayed: true,
        };
      },
    });
    const [failed, refused] = answersIn(await bytes(invokeMany, [one("failed"), one("refused")])).toSorted((a, b) =>
      a.ref < b.ref ? -1 : 1,
    );
    expect(failed).toMatchObject({
      statusCode: codes.ABORTED,
      replayed: true,
      outcome: { case: "error", value: { code: "tool_error", status: "failed", execution: { attempt: 1 } } },
    });
    expect(refused).toMatchObject({
      statusCode: codes.RESOURCE_EXHAUSTED,
      outcome: { case: "error", value: { code: "queue_full", executionId: "exec_1", retryable: true } },
    });
    expect(refused?.outcome.value).toMatchObject({ requestId: refused?.requestId });
    expect(strays).toEqual([]);
  });

  test("details of any size are told here, where no trailer bounds them", async () => {
    const { bytes } = await openGrpcDoor({
      invoke: async () => {
        throw new SignalboxError("conflict", "no", { details: { large: "x".repeat(12_000) } });
      },
    });
    const [answer] = answersIn(await bytes(invokeMany, [one("a")]));
    if (answer?.outcome.case !== "error") throw new Error("it is refused");
    expect(textOf(answer.outcome.value.details)).toHaveLength(12_012);
  });
});

test("a stream is for who may call, and a key of many calls names none of them", async () => {
  const { bytes } = await openGrpcDoor();
  const vic = await bytes(invokeMany, [one("a")], { metadata: asVic });
  expect(detailIn(vic.status).code).toBe("forbidden");
  const keyed = await bytes(invokeMany, [one("a")], { metadata: { ...asAlice, "idempotency-key": "k" } });
  expect(detailIn(keyed.status)).toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining("each request"),
  });
});

test("a credential that ends while the stream is open calls nothing more", async () => {
  const scripted = await openGrpcDoor();
  let revoked = false;
  const { caller, service } = await openGrpcDoor({
    authenticate: async (token, id) => scripted.service.authenticate(revoked ? "revoked-token" : token, id),
  });
  const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
  const answered = gather(call);
  const first = new Promise((resolve) => call.once("data", resolve));
  call.write(one("before"));
  await first;
  revoked = true;
  call.end(one("after"));
  expect(brief(await answered)).toEqual([
    ["after", codes.UNAUTHENTICATED, "key_revoked"],
    ["before", 0, '{"ref":"before"}'],
  ]);
  expect(service.reached.filter(({ method }) => method === "invoke")).toHaveLength(1);
});

/** Calls that wait until they are let go, and how many of them wait at once. */
function crowd() {
  const gate = Promise.withResolvers<void>();
  const count = { entered: 0 };
  const invoke = async (_asked: unknown, request: InvokeRequest): Promise<InvokeAnswer> => {
    count.entered++;
    await gate.promise;
    return settled(request);
  };
  return { invoke, count, letGo: gate.resolve };
}

describe("no more in work than is allowed", () => {
  test("1 000 calls at once, and the next ones wait on the caller's side until some are answered", async () => {
    const { invoke, count, letGo } = crowd();
    const { caller, log } = await openGrpcDoor({ invoke });
    const warnings: unknown[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", onWarning);
    const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
    const answered = gather(call);
    for (let at = 0; at < 1_200; at++) call.write(one(`r${at}`));
    call.end();
    expect(await standing(() => count.entered, 1_000)).toBe(1_000);
    letGo();
    const { messages, status } = await answered;
    expect([new Set(answersIn({ messages }).map(({ ref }) => ref)).size, status.code]).toEqual([1_200, codes.OK]);
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
    expect(log.lines.filter(({ execution_id }) => execution_id !== undefined)).toHaveLength(1_200);
  });

  test("and no more bytes of requests than is allowed", async () => {
    const { invoke, count, letGo } = crowd();
    const { caller } = await openGrpcDoor({ invoke });
    const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
    const answered = gather(call);
    for (let at = 0; at < 25; at++)
      call.write(one(`r${at}`, { input: json({ ref: `r${at}`, pad: "x".repeat(900_000) }) }));
    call.end();
    // 16 MiB hold 18 of them, and the nineteenth goes over.
    expect(await standing(() => count.entered, 19)).toBe(19);
    letGo();
    expect((await answered).messages).toHaveLength(25);
  });

  test("a caller that sends and does not read is not read from for ever", async () => {
    let entered = 0;
    const { server } = await openGrpcDoor({
      invoke: async () => {
        entered++;
        return settled({ tool: "echo", mode: "sync", input: "y".repeat(20_000) });
      },
    });
    const call = openRaw(`127.0.0.1:${server.port}`, pathOf(invokeMany), asAlice);
    for (let at = 0; at < 1_600; at++) call.send(one(`r${at}`));
    call.stream.end();
    // As many answers wait as may, and some have found room on their way.
    expect(await standing(() => entered, 1_000)).toBeLessThan(1_200);
    const { messages, status } = await call.read();
    expect([messages.length, status]).toEqual([1_600, "0"]);
  });
});

test("a caller that goes away takes its signal from all its calls", async () => {
  const signals: AbortSignal[] = [];
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const { caller } = await openGrpcDoor({
    invoke: async ({ signal }) => {
      if (signal !== undefined && signals.push(signal) === 2) resolve();
      return new Promise(() => undefined);
    },
  });
  const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
  const answered = gather(call);
  for (const ref of ["a", "b"]) call.write(one(ref));
  await both;
  call.cancel();
  await answered;
  await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test("a door that closes ends an idle stream at once, and refuses further requests of a busy one", async () => {
  const { invoke, count, letGo } = crowd();
  const { caller, door } = await openGrpcDoor({ invoke });
  const open = (): { answered: Promise<Answered>; call: ReturnType<typeof caller.open> } => {
    const call = caller.open(pathOf(invokeMany), { metadata: asAlice });
    return { call, answered: gather(call) };
  };
  const idle = open();
  await new Promise((resolve) => idle.call.once("metadata", resolve));
  const busy = open();
  busy.call.write(one("before"));
  await expect.poll(() => count.entered).toBe(1);
  const closed = door.close(10_000);
  expect(detailIn((await idle.answered).status).code).toBe("draining");
  busy.call.write(one("after"));
  letGo();
  const { messages, status } = await busy.answered;
  await closed;
  expect(answersIn({ messages }).map(({ ref }) => ref)).toContain("before");
  expect(detailIn(status).code).toBe("draining");
});

// Following a call over gRPC: the events in their order, readers that are slow, leave or come back, and a runtime that leaves.
import { fromBinary } from "@bufbuild/protobuf";
import {
  FollowExecutionRequestSchema,
  InvokeRequestSchema,
  StreamEventSchema,
  ToolRuntime,
} from "@signalbox/protocol/v1/tool_runtime";
import { SignalboxError } from "@signalbox/protocol";
import { expect, test } from "vitest";
import type { CallFollower } from "../../../service.ts";
import type { Batch, StreamEvent } from "../../../stream/types.ts";
import { codes, gather, type Answered } from "../../../../../../test/support/grpc-caller.ts";
import {
  asAlice,
  asBob,
  detailIn,
  json,
  message,
  openGrpcDoor,
  pathOf,
  textOf,
} from "../../../../../../test/support/grpc-door.ts";
import { openRaw, standing } from "../../../../../../test/support/grpc-raw.ts";
import { scriptedAt, scriptedCall, scriptedCallId } from "../../../../../../test/support/scripted-service.ts";

const { invokeStream, followExecution } = ToolRuntime.method;
const follow = (afterSeq?: bigint): Uint8Array =>
  message(FollowExecutionRequestSchema, {
    executionId: scriptedCallId,
    ...(afterSeq === undefined ? {} : { afterSeq }),
  });
const begin = (more: object = {}): Uint8Array =>
  message(InvokeRequestSchema, { tool: "echo", input: json({}), ...more });

const empty: Batch = { gap: null, events: [], end: null, leaving: false };
const log = (seq: number, text = "x"): StreamEvent => ({
  seq,
  at: scriptedAt + seq,
  type: "log",
  dataJson: JSON.stringify({ text }),
});
const end = (seq: number, state: "succeeded" | "failed" = "succeeded"): Batch["end"] => ({
  seq,
  at: scriptedAt + seq,
  call: scriptedCall({ state }),
});

/** Gives these batches in turn, then waits until it is closed; counts what is asked of it. */
function scriptedFollower(batches: readonly (Batch | Promise<Batch>)[], over = false) {
  const closed = Promise.withResolvers<Batch>();
  const did = { asked: 0, closed: 0, abandoned: 0 };
  const follower: CallFollower = {
    over,
    next: () => Promise.resolve(batches[did.asked++] ?? closed.promise),
    close() {
      did.closed++;
      closed.resolve(empty);
    },
    abandon: () => void did.abandoned++,
  };
  return { follower, did, whenClosed: closed.promise };
}

const told = ({ messages }: Answered): unknown[] =>
  messages.map((bytes) => {
    const { seq, ts, type, data, executionId } = fromBinary(StreamEventSchema, bytes);
    return [Number(seq), ts, type, textOf(data), executionId];
  });

test("events in their order, the first names the call, the end is the last", async () => {
  const { follower, did } = scriptedFollower([
    { ...empty, events: [log(1), log(2, "y")] },
    empty,
    { ...empty, gap: { from: 3, to: 6 }, events: [log(7)] },
    { ...empty, end: end(8) },
  ]);
  const { bytes, strays } = await openGrpcDoor({ follow: async () => follower });
  const answered = await bytes(followExecution, [follow()]);
  const ts = (seq: number): string => new Date(scriptedAt + seq).toISOString();
  expect(told(answered)).toEqual([
    [1, ts(1), "log", '{"text":"x"}', scriptedCallId],
    [2, ts(2), "log", '{"text":"y"}', undefined],
    [6, undefined, "gap", '{"from":3,"to":6}', undefined],
    [7, ts(7), "log", '{"text":"x"}', undefined],
    [8, ts(8), "done", expect.stringContaining(`"execution_id":"${scriptedCallId}"`), undefined],
  ]);
  expect([answered.status.code, did.closed > 0, did.abandoned]).toEqual([codes.OK, true, 0]);
  expect(answered.initial.get("signalbox-execution-id")).toEqual([scriptedCallId]);
  expect(strays).toEqual([]);
});

test("a call that did not succeed ends its stream with `error`, and the rpc well", async () => {
  const { follower } = scriptedFollower([{ ...empty, end: end(3, "failed") }]);
  const { bytes } = await openGrpcDoor({ follow: async () => follower });
  const answered = await bytes(followExecution, [follow()]);
  expect(told(answered)).toEqual([
    [3, expect.any(String), "error", expect.stringContaining('"status":"failed"'), scriptedCallId],
  ]);
  expect(answered.status.code).toBe(codes.OK);
});

test("who comes back goes on behind what it has; who has everything hears nothing more", async () => {
  const asked: unknown[] = [];
  const { bytes } = await openGrpcDoor({
    follow: async (_asked, id, afterSeq, how) => {
      asked.push([id, afterSeq, how]);
      return scriptedFollower([{ ...empty, end: end(9) }], afterSeq === 9).follower;
    },
  });
  expect((await bytes(followExecution, [follow(8n)])).messages).toHaveLength(1);
  const over = await bytes(followExecution, [follow(9n)]);
  expect([over.messages, over.status.code]).toEqual([[], codes.OK]);
  expect(asked).toEqual([
    [scriptedCallId, 8, undefined],
    [scriptedCallId, 9, undefined],
  ]);
  const wrong = await bytes(followExecution, [follow(-1n)]);
  expect(detailIn(wrong.status).code).toBe("invalid_input");
  const foreign = await bytes(followExecution, [follow()], { metadata: asBob });
  expect(foreign.status.code).toBe(codes.OK); // as this scripted runtime has it
});

test("a foreign call cannot be followed", async () => {
  const { bytes } = await openGrpcDoor();
  const { status } = await bytes(followExecution, [follow()], { metadata: asBob });
  expect([status.code, detailIn(status).code]).toEqual([codes.NOT_FOUND, "execution_not_found"]);
});

test("an invocation that is followed is made without waiting, and named before its first event", async () => {
  const first = Promise.withResolvers<Batch>();
  const { follower } = scriptedFollower([first.promise, { ...empty, end: end(2) }]);
  const { caller, service } = await openGrpcDoor({ follow: async () => follower });
  const call = caller.open(pathOf(invokeStream), { metadata: asAlice });
  const named = new Promise<unknown>((resolve) => {
    call.once("metadata", (metadata: { get(name: string): unknown }) =>
      resolve(metadata.get("signalbox-execution-id")),
    );
  });
  const answered = gather(call);
  call.write(begin());
  call.end();
  expect(await named).toEqual([scriptedCallId]);
  first.resolve({ ...empty, events: [log(1)] });
  expect(told(await answered)).toHaveLength(2);
  expect(service.reached.map(({ method, args }) => [method, args.at(-1)])).toEqual([
    ["authenticate", expect.anything()],
    ["invoke", expect.objectContaining({ mode: "async" })],
    ["follow", { answering: true }],
  ]);
});

test("mode async does not go with a stream", async () => {
  const { bytes } = await openGrpcDoor();
  const { status } = await bytes(invokeStream, [begin({ mode: "async" })]);
  expect([status.code, textOf(detailIn(status).details)]).toEqual([
    codes.INVALID_ARGUMENT,
    expect.stringContaining('"/mode"'),
  ]);
});

test.each([
  [true, 1],
  [false, 0],
])(
  "a reader that goes away before the end: cancel_on_disconnect %s abandons the call %i times",
  async (cancels, times) => {
    const { follower, did, whenClosed } = scriptedFollower([{ ...empty, events: [log(1)] }]);
    const { caller, log: lines } = await openGrpcDoor({ follow: async () => follower });
    const call = caller.open(pathOf(invokeStream), { metadata: asAlice });
    const ended = gather(call);
    call.once("data", () => call.cancel());
    call.write(begin({ cancelOnDisconnect: cancels }));
    call.end();
    await whenClosed;
    await ended;
    expect(did.abandoned).toBe(times);
    expect(await lines.line(({ caller_gone }) => caller_gone === true)).toMatchObject({ execution_id: scriptedCallId });
  },
);

test("a reader that has the end and goes away cancels nothing", async () => {
  const { follower, did } = scriptedFollower([{ ...empty, end: end(1) }]);
  const { bytes } = await openGrpcDoor({ follow: async () => follower });
  await bytes(invokeStream, [begin({ cancelOnDisconnect: true })]);
  expect(did.abandoned).toBe(0);
});

test("a runtime that leaves says so, and how to go on", async () => {
  const { follower, did } = scriptedFollower([
    { ...empty, events: [log(1)] },
    { ...empty, leaving: true },
  ]);
  const { bytes } = await openGrpcDoor({ follow: async () => follower });
  const answered = await bytes(invokeStream, [begin({ cancelOnDisconnect: true })]);
  expect(told(answered)).toHaveLength(1);
  const detail = detailIn(answered.status);
  expect([answered.status.code, detail.code, detail.message]).toEqual([
    codes.UNAVAILABLE,
    "draining",
    expect.stringContaining("follow the call again"),
  ]);
  expect([did.abandoned, did.closed > 0]).toEqual([0, true]);
});

test("a reader whose key has ended is told so, and cancels nobody's call", async () => {
  const refused = Promise.reject<Batch>(new SignalboxError("key_revoked", "the API key was revoked; ask for a new one"));
  refused.catch(() => undefined);
  const { follower, did } = scriptedFollower([{ ...empty, events: [log(1)] }, refused]);
  const { bytes, strays } = await openGrpcDoor({ follow: async () => follower });
  const answered = await bytes(invokeStream, [begin({ cancelOnDisconnect: true })]);
  expect([answered.status.code, detailIn(answered.status).code]).toEqual([codes.UNAUTHENTICATED, "key_revoked"]);
  expect([told(answered).length, did.abandoned, did.closed > 0, strays]).toEqual([1, 0, true, []]);
});

test("trouble of the runtime in mid-stream ends the rpc as its own fault and cancels nobody's call", async () => {
  const broken = Promise.reject<Batch>(new Error("disk"));
  broken.catch(() => undefined);
  const { follower, did } = scriptedFollower([{ ...empty, events: [log(1)] }, broken]);
  const { bytes } = await openGrpcDoor({ follow: async () => follower });
  const answered = await bytes(invokeStream, [begin({ cancelOnDisconnect: true })]);
  expect([answered.status.code, told(answered).length, did.abandoned]).toEqual([codes.INTERNAL, 1, 0]);
});

test("a reader that does not read is not read for: batches are asked for no faster than it takes them", async () => {
  // 64 KiB each: more than the windows of the connection hold after some.
  const large = log(1, "x".repeat(64 * 1024));
  const batches = Array.from({ length: 400 }, (_, place) => ({ ...empty, events: [{ ...large, seq: place + 1 }] }));
  const { follower, did } = scriptedFollower([...batches, { ...empty, end: end(401) }]);
  const { server } = await openGrpcDoor({ follow: async () => follower });
  const call = openRaw(`127.0.0.1:${server.port}`, pathOf(followExecution), asAlice);
  call.send(follow());
  call.stream.end();
  expect(await standing(() => did.asked)).toBeLessThan(100);
  const { messages, status } = await call.read();
  expect([messages.length, status]).toEqual([401, "0"]);
});

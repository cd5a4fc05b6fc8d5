// The gRPC load against a small server: answers find their calls whatever order they come in, and what is no success is an error.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, status, type ServerDuplexStream, type ServerUnaryCall } from "@grpc/grpc-js";
import {
  ExecutionSchema,
  InvokeManyRequestSchema,
  InvokeManyResponseSchema,
  InvokeRequestSchema,
} from "@signalbox/protocol/v1/tool_runtime";
import { ErrorDetailSchema } from "@signalbox/protocol/v1/shared";
import { afterEach, expect, test } from "vitest";
import { openGrpc } from "./load-grpc.ts";
import type { GrpcDoor } from "./slice.ts";

const bytes = (buffer: Buffer): Buffer => buffer;
const method = (name: string, isStream: boolean) => ({
  path: `/signalbox.v1.ToolRuntime/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

let server: Server | undefined;
afterEach(() => server?.forceShutdown());

async function serve(implementation: {
  readonly invoke?: (input: string, call: ServerUnaryCall<Buffer, Buffer>) => Buffer | { readonly code: number };
  readonly many?: (stream: ServerDuplexStream<Buffer, Buffer>) => void;
}): Promise<Omit<GrpcDoor, "rpc">> {
  const { invoke, many } = implementation;
  server = new Server();
  server.addService({ Invoke: method("Invoke", false), InvokeMany: method("InvokeMany", true) }, {
    Invoke: (call: ServerUnaryCall<Buffer, Buffer>, answer: (error: object | null, value?: Buffer) => void) => {
      const { input } = fromBinary(InvokeRequestSchema, call.request);
      const said = invoke?.(Buffer.from(input ?? []).toString("utf8"), call) ?? { code: status.UNIMPLEMENTED };
      if (Buffer.isBuffer(said)) answer(null, said);
      else answer(said);
    },
    InvokeMany: (stream: ServerDuplexStream<Buffer, Buffer>) => many?.(stream),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server?.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return { via: "grpc", address: `127.0.0.1:${port}`, key: "k1", tool: "t", version: "1.0.0", inputJson: '{"text":"a"}' };
}

const execution = (state: string): Buffer =>
  Buffer.from(toBinary(ExecutionSchema, create(ExecutionSchema, { executionId: "exec_1", tool: "t", version: "1.0.0", status: state })));
const answerTo = (ref: string, state: string): Buffer =>
  Buffer.from(
    toBinary(InvokeManyResponseSchema, create(InvokeManyResponseSchema, { ref, outcome: { case: "execution", value: { executionId: "exec_1", status: state } } })),
  );

test("a call by itself carries key and input; a success is none of the other ends", async () => {
  const seen: unknown[] = [];
  const ends = ["succeeded", "failed"];
  const door = await serve({
    invoke: (input, call) => {
      seen.push([input, call.metadata.get("authorization")]);
      const end = ends.shift();
      return end === undefined ? { code: status.RESOURCE_EXHAUSTED } : execution(end);
    },
  });
  const open = openGrpc({ ...door, rpc: "Invoke" }, 1);
  const call = open.callers[0];
  expect([await call?.(), await call?.(), await call?.()]).toEqual([undefined, "unexpected_answer", "RESOURCE_EXHAUSTED"]);
  expect(seen[0]).toEqual(['{"text":"a"}', ["Bearer k1"]]);
  await open.close();
});

test("answers on one stream find their calls, the last one first", async () => {
  const refs: string[] = [];
  const ends: Record<string, string> = { "0": "succeeded", "1": "failed", "2": "succeeded" };
  const door = await serve({
    many: (stream) =>
      stream.on("data", (message: Buffer) => {
        const { ref, request } = fromBinary(InvokeManyRequestSchema, message);
        expect(request).toMatchObject({ tool: "t", version: "1.0.0" });
        refs.push(ref);
        if (refs.length === 3) for (const one of refs.toReversed()) stream.write(answerTo(one, ends[one] ?? ""));
      }),
  });
  const open = openGrpc({ ...door, rpc: "InvokeMany" }, 3);
  expect(await Promise.all(open.callers.map((call) => call()))).toEqual([undefined, "unexpected_answer", undefined]);
  await open.close();
});

test("a refused call on a stream is told by its code, and a stream that ends fails all that wait and all that come", async () => {
  const door = await serve({
    many: (stream) =>
      stream.on("data", (message: Buffer) => {
        const { ref } = fromBinary(InvokeManyRequestSchema, message);
        if (ref === "1") return void stream.emit("error", { code: status.UNAVAILABLE, details: "gone" });
        const error = create(ErrorDetailSchema, { code: "queue_full" });
        stream.write(Buffer.from(toBinary(InvokeManyResponseSchema, create(InvokeManyResponseSchema, { ref, outcome: { case: "error", value: error } }))));
      }),
  });
  const open = openGrpc({ ...door, rpc: "InvokeMany" }, 2);
  const [first, second] = open.callers;
  expect(await first?.()).toBe("queue_full");
  expect(await second?.()).toBe("UNAVAILABLE");
  expect(await first?.()).toBe("UNAVAILABLE");
  await open.close();
});

// What a request over gRPC may be: its size, its form, its metadata, and the rules that it shares with REST.
import { gzipSync } from "node:zlib";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Metadata } from "@grpc/grpc-js";
import { Admin, FreezeRequestSchema, ListKeysRequestSchema } from "@signalbox/protocol/v1/admin";
import { Policies, PublishPolicyRequestSchema } from "@signalbox/protocol/v1/policies";
import { RegisterRequestSchema, Registry } from "@signalbox/protocol/v1/registry";
import {
  CancelRequestSchema,
  InvokeRequestSchema,
  ListExecutionsRequestSchema,
  ToolRuntime,
} from "@signalbox/protocol/v1/tool_runtime";
import { describe, expect, test } from "vitest";
import { codes, gather } from "../../../../../../test/support/grpc-caller.ts";
import { openRaw } from "../../../../../../test/support/grpc-raw.ts";
import {
  asAlice,
  detailIn,
  json,
  message,
  openGrpcDoor,
  pathOf,
  textOf,
} from "../../../../../../test/support/grpc-door.ts";

const { invoke, cancel, listExecutions } = ToolRuntime.method;
const echo = message(InvokeRequestSchema, { tool: "echo", input: json({ n: 1 }) });

describe("hostile requests", () => {
  test.each([
    ["garbage", [Buffer.from([0xff, 0xff, 0xff])]],
    ["a field of a newer client", [new BinaryWriter().tag(4_000, WireType.Varint).int32(1).finish()]],
    ["no message", []],
    ["two messages", [echo, echo]],
  ])("%s is invalid_input with its detail", async (_, requests) => {
    const { bytes, service } = await openGrpcDoor();
    const { status } = await bytes(invoke, requests);
    expect([status.code, detailIn(status).code]).toEqual([codes.INVALID_ARGUMENT, "invalid_input"]);
    expect(service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test("a request of 1 MiB is read; of one byte more it is refused, and nothing of it reaches the runtime", async () => {
    const { bytes, service } = await openGrpcDoor();
    const padded = (size: number): Uint8Array => {
      const bare = message(InvokeRequestSchema, { tool: "echo", input: json("") }).byteLength;
      // The length of the input is said in more bytes than that of "".
      const text = "a".repeat(size - bare - 2);
      return message(InvokeRequestSchema, { tool: "echo", input: json(text) });
    };
    const full = padded(1_048_576);
    expect(full.byteLength).toBe(1_048_576);
    expect((await bytes(invoke, [full])).status.code).toBe(codes.OK);
    const reached = service.reached.length;
    const { status } = await bytes(invoke, [padded(1_048_577)]);
    expect([status.code, detailIn(status).code]).toEqual([codes.RESOURCE_EXHAUSTED, "payload_too_large"]);
    expect(service.reached.slice(reached).map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test("a manifest of 256 KiB is read, one byte more is not", async () => {
    const { bytes } = await openGrpcDoor();
    const frame = JSON.stringify({ kind: "Tool", text: "" });
    const padded = (size: number): Uint8Array =>
      message(RegisterRequestSchema, {
        manifest: Buffer.from(frame.replace('""', `"${"a".repeat(size - frame.length)}"`)),
      });
    expect((await bytes(Registry.method.register, [padded(262_144)])).status.code).toBe(codes.OK);
    const over = await bytes(Registry.method.register, [padded(262_145)]);
    expect([over.status.code, detailIn(over.status).code]).toEqual([codes.RESOURCE_EXHAUSTED, "payload_too_large"]);
    const huge = await bytes(Registry.method.register, [padded(2_000_000)]);
    expect(detailIn(huge.status).code).toBe("payload_too_large");
  });

  test("a message that is far too large is refused at its first bytes, and ends its rpc alone", async () => {
    const { bytes, server } = await openGrpcDoor();
    const mib = 1024 * 1024;
    const near = await bytes(invoke, [Buffer.alloc(4 * mib)]);
    expect(detailIn(near.status).code).toBe("payload_too_large");
    const far = openRaw(`127.0.0.1:${server.port}`, pathOf(invoke), asAlice);
    // Only its head is ever sent.
    const head = Buffer.alloc(5);
    head.writeUInt32BE(4 * mib + 1, 1);
    far.stream.write(head);
    expect((await far.read()).status).toBe(String(codes.RESOURCE_EXHAUSTED));
    const zipped = openRaw(`127.0.0.1:${server.port}`, pathOf(invoke), { ...asAlice, "grpc-encoding": "gzip" });
    const bomb = gzipSync(Buffer.alloc(64 * mib));
    const zippedHead = Buffer.alloc(5, 1);
    zippedHead.writeUInt32BE(bomb.byteLength, 1);
    zipped.stream.end(Buffer.concat([zippedHead, bomb]));
    expect((await zipped.read()).status).toBe(String(codes.RESOURCE_EXHAUSTED));
    expect((await bytes(invoke, [echo])).status.code).toBe(codes.OK);
  });

  test.each([
    ["empty", ""],
    ["longer than any path", "x".repeat(16_385)],
  ])("a name that would be a part of the path and is %s does not reach the runtime", async (_, executionId) => {
    const { bytes, service } = await openGrpcDoor();
    const { status } = await bytes(cancel, [message(CancelRequestSchema, { executionId })]);
    expect([status.code, textOf(detailIn(status).details)]).toEqual([
      codes.INVALID_ARGUMENT,
      expect.stringContaining("/execution_id"),
    ]);
    expect(service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test("a request that never ends is not waited for without end", async () => {
    const { caller } = await openGrpcDoor({}, { bounds: { requestWaitMs: 50 } });
    const call = caller.open(pathOf(invoke), { metadata: asAlice });
    call.write(echo);
    const { status } = await gather(call);
    expect([status.code, detailIn(status).message]).toEqual([
      codes.INVALID_ARGUMENT,
      "the request did not arrive within 50 ms",
    ]);
  });

  test("an idempotency key stands in the metadata or in the request, and both must agree", async () => {
    const { bytes, service } = await openGrpcDoor();
    const ask = async (inMetadata: string, inRequest?: string) =>
      bytes(
        invoke,
        [
          message(InvokeRequestSchema, {
            tool: "echo",
            input: json({}),
            ...(inRequest === undefined ? {} : { idempotencyKey: inRequest }),
          }),
        ],
        {
          metadata: { ...asAlice, "idempotency-key": inMetadata },
        },
      );
    expect((await ask("k1")).status.code).toBe(codes.OK);
    expect(service.reached.at(-1)?.args).toMatchObject([{ idempotencyKey: "k1" }]);
    expect((await ask("k1", "k1")).status.code).toBe(codes.OK);
    const { status } = await ask("k1", "k2");
    expect([status.code, textOf(detailIn(status).details)]).toEqual([
      codes.INVALID_ARGUMENT,
      expect.stringContaining("/Idempotency-Key"),
    ]);
    const other = await bytes(Admin.method.freeze, [message(FreezeRequestSchema, {})]);
    expect(other.status.code).toBe(codes.OK);
    const key = await bytes(Admin.method.createKey, [new Uint8Array()], {
      metadata: { ...asAlice, "idempotency-key": "k" },
    });
    expect(textOf(detailIn(key.status).details)).toContain("/Idempotency-Key");
  });

  test("two idempotency keys in the metadata are refused, whichever way they are sent; in the request a comma is a character", async () => {
    const { caller, bytes, service } = await openGrpcDoor();
    const two = new Metadata();
    for (const [name, value] of Object.entries(asAlice)) two.set(name, value);
    two.add("idempotency-key", "a");
    two.add("idempotency-key", "b");
    const asItIs = (some: Buffer): Buffer => some;
    const call = caller.client.makeBidiStreamRequest<Uint8Array, Buffer>(pathOf(invoke), (some) => Buffer.from(some), asItIs, two);
    const apart = gather(call);
    call.write(echo);
    call.end();
    const joined = bytes(invoke, [echo], { metadata: { ...asAlice, "idempotency-key": "a, b" } });
    for (const { status } of await Promise.all([apart, joined])) {
      expect(detailIn(status)).toMatchObject({ code: "invalid_input" });
      expect(JSON.parse(textOf(detailIn(status).details))).toMatchObject({ fields: [{ pointer: "/Idempotency-Key", keyword: "maxItems" }] });
    }
    expect(service.reached.map(({ method }) => method)).toEqual(["authenticate", "authenticate"]);
    const inRequest = message(InvokeRequestSchema, { tool: "echo", input: json({}), idempotencyKey: "a, b" });
    expect((await bytes(invoke, [inRequest])).status.code).toBe(codes.OK);
    expect(service.reached.at(-1)?.args).toMatchObject([{ idempotencyKey: "a, b" }]);
  });

  test.each([[9_223_372_036_854_775_807n], [-9_223_372_036_854_775_808n], [300_001n], [-1n]])("a wait of %s ms is refused with its bound", async (waitMs) => {
    const { bytes } = await openGrpcDoor();
    const { status } = await bytes(invoke, [message(InvokeRequestSchema, { tool: "echo", input: json({}), waitMs })]);
    const bound = waitMs > 0 ? { keyword: "maximum", message: "must be at most 300000" } : { keyword: "minimum", message: "must be at least 0" };
    expect(JSON.parse(textOf(detailIn(status).details))).toEqual({ fields: [{ pointer: "/wait_ms", ...bound }] });
  });

  test("a traceparent goes along; a malformed one is passed over", async () => {
    const { bytes, service } = await openGrpcDoor();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await bytes(invoke, [echo], { metadata: { ...asAlice, traceparent } });
    expect(service.reached.at(-1)?.args).toMatchObject([{ traceparent }]);
    await bytes(invoke, [echo], { metadata: { ...asAlice, traceparent: "00-zz" } });
    expect(service.reached.at(-1)?.args[0]).not.toHaveProperty("traceparent");
  });

  test("what a query says in REST is checked by the same rules", async () => {
    const { bytes, service } = await openGrpcDoor();
    const list = (fields: Parameters<typeof message<typeof ListExecutionsRequestSchema>>[1]) =>
      bytes(listExecutions, [message(ListExecutionsRequestSchema, fields)]);
    expect((await list({ limit: 1_000n, from: "2026-01-31T12:00:00Z", status: "failed" })).status.code).toBe(codes.OK);
    expect(service.reached.at(-1)?.args).toEqual([{ limit: 100, from: 1_769_860_800_000, status: "failed" }]);
    for (const fields of [{ limit: 0n }, { limit: -5n }, { from: "yesterday" }, { status: "lost" }, { cursor: "" }])
      expect(detailIn((await list(fields)).status).code).toBe("invalid_input");
    expect((await bytes(Admin.method.listKeys, [message(ListKeysRequestSchema, {})])).status.code).toBe(codes.OK);
  });

  test("documents come as JSON, or as YAML where that is said", async () => {
    const { bytes, service } = await openGrpcDoor();
    const publish = (document: string, contentType?: string) =>
      bytes(Policies.method.publish, [
        message(PublishPolicyRequestSchema, {
          document: Buffer.from(document),
          dryRun: true,
          ...(contentType === undefined ? {} : { contentType }),
        }),
      ]);
    expect((await publish("kind: Policy\n", "application/yaml")).status.code).toBe(codes.OK);
    expect(service.reached.at(-1)?.args).toEqual([{ kind: "Policy" }, { dryRun: true }]);
    expect((await publish('{"kind":"Policy"}')).status.code).toBe(codes.OK);
    for (const [document, type] of [
      ["kind: Policy\n", undefined],
      ["", undefined],
      ["{}", "text/plain"],
    ] as const)
      expect(detailIn((await publish(document, type)).status).code).toBe("invalid_input");
  });
});

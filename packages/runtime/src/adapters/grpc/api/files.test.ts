// A file in pieces: counted, stored as it comes, and refused without harm.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { SignalboxError } from "@signalbox/protocol";
import { PutFileRequestSchema, StoredFileSchema, ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";
import { expect, test } from "vitest";
import { codes, gather } from "../../../../../../test/support/grpc-caller.ts";
import {
  answerIn,
  asAlice,
  asVic,
  detailIn,
  message,
  openGrpcDoor,
  pathOf,
} from "../../../../../../test/support/grpc-door.ts";
import { openRaw, standing } from "../../../../../../test/support/grpc-raw.ts";

const { putFile } = ToolRuntime.method;
const piece = (bytes: Uint8Array): Uint8Array => message(PutFileRequestSchema, { chunk: bytes });
const ref = `sha256:${"ab".repeat(32)}`;

test("pieces of any size, none at all included, are one file", async () => {
  const { bytes, strays } = await openGrpcDoor();
  const sizes = async (...pieces: readonly number[]): Promise<unknown> => {
    const stored = answerIn(
      StoredFileSchema,
      await bytes(
        putFile,
        pieces.map((size) => piece(Buffer.alloc(size, 7))),
      ),
    );
    return [stored.digest, stored.bytes];
  };
  expect(await sizes(1_000_000, 0, 1_048_576, 3)).toEqual([ref, 2_048_579n]);
  expect(await sizes()).toEqual([ref, 0n]);
  expect(strays).toEqual([]);
});

test("the bytes arrive as they were sent, in their order", async () => {
  const got: number[] = [];
  const { bytes } = await openGrpcDoor({
    putFile: async (_asked, content) => {
      for await (const chunk of content) got.push(...chunk);
      return { ref, bytes: got.length };
    },
  });
  await bytes(putFile, [piece(Uint8Array.of(0, 255)), piece(Uint8Array.of(10, 13)), piece(Uint8Array.of(0x80))]);
  expect(got).toEqual([0, 255, 10, 13, 0x80]);
});

test.each([
  ["a piece of 1 MiB and a byte", [piece(Buffer.alloc(1_048_577))], "payload_too_large"],
  ["a piece far over 1 MiB", [piece(Buffer.alloc(1_048_576 + 4_096))], "payload_too_large"],
  ["garbage", [Buffer.from([0xff, 0xff])], "invalid_input"],
  ["an unknown field", [new BinaryWriter().tag(5, WireType.Varint).int32(1).finish()], "invalid_input"],
])("%s is refused, and the status arrives", async (_, requests, code) => {
  const { bytes } = await openGrpcDoor();
  const { status } = await bytes(putFile, [piece(Buffer.alloc(10)), ...requests, piece(Buffer.alloc(500_000))]);
  expect(detailIn(status).code).toBe(code);
});

test("a piece over the bound is told in units people read, and no byte of it is stored", async () => {
  let taken = 0;
  const { bytes } = await openGrpcDoor({
    putFile: async (_asked, content) => {
      for await (const chunk of content) taken += chunk.byteLength;
      return { ref, bytes: taken };
    },
  });
  const { status } = await bytes(putFile, [piece(Buffer.alloc(1_048_576)), piece(Buffer.alloc(1_048_577))]);
  expect(detailIn(status).message).toBe("a piece of a file has at most 1 MiB; send it in smaller pieces");
  expect(taken).toBe(1_048_576);
});

test("a file that grows too large is refused while it comes", async () => {
  let taken = 0;
  const { caller } = await openGrpcDoor({
    putFile: async (_asked, content) => {
      for await (const chunk of content) taken += chunk.byteLength;
      return { ref, bytes: taken };
    },
  });
  const call = caller.open(pathOf(putFile), { metadata: asAlice });
  const answered = gather(call);
  let going = true;
  void answered.then(() => (going = false));
  const large = piece(Buffer.alloc(1_048_576));
  // What is written after the end is told of to nobody.
  while (going) await Promise.race([answered, new Promise((resolve) => call.write(large, resolve))]);
  const { status } = await answered;
  expect([status.code, detailIn(status).code]).toEqual([codes.RESOURCE_EXHAUSTED, "payload_too_large"]);
  expect(taken).toBe(32 * 1_048_576);
});

test("who may neither call nor register stores nothing, and nothing of it is read", async () => {
  const { bytes, service } = await openGrpcDoor();
  const { status } = await bytes(putFile, [piece(Buffer.alloc(100))], { metadata: asVic });
  expect(detailIn(status).code).toBe("forbidden");
  expect(service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
});

test("a refusal of the store is told although the caller is still sending", async () => {
  const { caller } = await openGrpcDoor({
    putFile: async () => {
      throw new SignalboxError("ledger_unavailable", "the disk is full");
    },
  });
  const call = caller.open(pathOf(putFile), { metadata: asAlice });
  const answered = gather(call);
  for (let sent = 0; sent < 20; sent++) call.write(piece(Buffer.alloc(100_000)));
  expect(detailIn((await answered).status).code).toBe("ledger_unavailable");
});

test("a caller that goes away in the middle leaves no open hand", async () => {
  const ended = Promise.withResolvers<unknown>();
  const first = Promise.withResolvers<void>();
  const { caller, log } = await openGrpcDoor({
    putFile: async (_asked, content) => {
      try {
        for await (const chunk of content) if (chunk.byteLength > 0) first.resolve();
      } catch (error) {
        ended.resolve(error);
        throw error;
      }
      throw new Error("the file ended as if it were whole");
    },
  });
  const call = caller.open(pathOf(putFile), { metadata: asAlice });
  void gather(call);
  call.write(piece(Buffer.alloc(10)));
  await first.promise;
  call.cancel();
  expect(await ended.promise).toMatchObject({ name: "CallerGone" });
  expect(await log.line(({ caller_gone }) => caller_gone === true)).toMatchObject({ rpc: "ToolRuntime.PutFile" });
  expect(log.lines).toHaveLength(1);
});

test("a file that comes too slowly is not waited for without end", async () => {
  const { caller } = await openGrpcDoor({}, { bounds: { requestWaitMs: 50 } });
  const call = caller.open(pathOf(putFile), { metadata: asAlice });
  call.write(piece(Buffer.alloc(10)));
  const { status } = await gather(call);
  expect([status.code, detailIn(status).message]).toEqual([
    codes.INVALID_ARGUMENT,
    "the file did not arrive within 50 ms",
  ]);
});

test("a store that is slow is not sent to faster than it takes", async () => {
  const gate = Promise.withResolvers<void>();
  const { server } = await openGrpcDoor({
    putFile: async (_asked, content) => {
      let bytes = 0;
      for await (const chunk of content) {
        await gate.promise;
        bytes += chunk.byteLength;
      }
      return { ref, bytes };
    },
  });
  const call = openRaw(`127.0.0.1:${server.port}`, pathOf(putFile), asAlice);
  for (let at = 0; at < 30; at++) call.send(piece(Buffer.alloc(1_000_000)));
  call.stream.end();
  // What grpc-js reads ahead, and the windows.
  expect(await standing(() => call.bytesOut())).toBeLessThan(20_000_000);
  gate.resolve();
  expect((await call.read()).status).toBe("0");
});

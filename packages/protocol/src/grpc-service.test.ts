// The Work service as grpc-js sees it.
import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Work, WorkerBatchSchema } from "./gen/signalbox/v1/work_pb.ts";
import { grpcMethod, workService } from "./grpc-service.ts";

const { connect } = workService;

test("path and kind", () => {
  expect(connect.path).toBe("/signalbox.v1.Work/Connect");
  expect([connect.requestStream, connect.responseStream]).toEqual([true, true]);
});

const started = { type: "started", callId: "c1", fence: 2 } as const;
const grant = { type: "secret_grant", callId: "c1", fence: 2, secrets: { A: "b" }, refused: [] } as const;

test("batches go through as Buffers, in order", () => {
  const bytes = connect.requestSerialize([started, { type: "draining" }]);
  expect(Buffer.isBuffer(bytes)).toBe(true);
  expect(connect.requestDeserialize(bytes)).toEqual([started, { type: "draining" }]);
  expect(connect.responseDeserialize(connect.responseSerialize([grant]))).toEqual([grant]);
  expect(connect.requestDeserialize(Buffer.alloc(0))).toEqual([]);
});

test("a batch is what the proto says", () => {
  const read = fromBinary(WorkerBatchSchema, connect.requestSerialize([started, { type: "draining" }]));
  expect(read.frames.map(({ message }) => message.case)).toEqual(["started", "draining"]);
});

const unknownFrame = { type: "malformed", reason: "the frame holds no message this side knows" };

test("a frame that cannot be read or written costs itself alone", () => {
  const half = connect.requestSerialize([started, { ...started, fence: 1.5 }, started]);
  expect(connect.requestDeserialize(half)).toEqual([started, unknownFrame, started]);
});

test("garbage ends no stream, and what was read before it stands", () => {
  const broken = { type: "malformed", reason: "the batch of frames is no readable protobuf message" };
  expect(connect.responseDeserialize(Buffer.from([255]))).toEqual([broken]);
  const cut = connect.requestSerialize([started, started]).subarray(0, -1);
  expect(connect.requestDeserialize(cut)).toEqual([started, broken]);
});

test("a method that the service lacks is named", () => {
  expect(() => grpcMethod(Work, "nothing", undefined as never)).toThrow("signalbox.v1.Work has no method nothing");
});

// The Work service as grpc-js sees it.
import { expect, test } from "vitest";
import { Work } from "./gen/signalbox/v1/work_pb.ts";
import { grpcMethod, workService } from "./grpc-service.ts";

const { connect } = workService;

test("path and kind", () => {
  expect(connect.path).toBe("/signalbox.v1.Work/Connect");
  expect([connect.requestStream, connect.responseStream]).toEqual([true, true]);
});

test("messages go through as Buffers", () => {
  const bytes = connect.requestSerialize({ type: "started", callId: "c1", fence: 2 });
  expect(Buffer.isBuffer(bytes)).toBe(true);
  expect(connect.requestDeserialize(bytes)).toEqual({ type: "started", callId: "c1", fence: 2 });
  const grant = { type: "secret_grant", callId: "c1", fence: 2, secrets: { A: "b" }, refused: [] } as const;
  expect(connect.responseDeserialize(connect.responseSerialize(grant))).toEqual(grant);
});

test("neither garbage nor a message of ours that cannot be written ends the stream", () => {
  expect(connect.requestDeserialize(Buffer.from("garbage")).type).toBe("malformed");
  expect(connect.responseDeserialize(Buffer.from([255])).type).toBe("malformed");
  const half = connect.requestSerialize({ type: "started", callId: "c1", fence: 1.5 });
  expect(connect.requestDeserialize(half)).toEqual({
    type: "malformed",
    reason: "the frame holds no message this side knows",
  });
});

test("a method that the service lacks is named", () => {
  expect(() => grpcMethod(Work, "nothing", undefined as never)).toThrow("signalbox.v1.Work has no method nothing");
});

// What the floor's server and worker say to each other: JSON text in gRPC messages, written and read by hand.
import type { ServiceDefinition } from "@grpc/grpc-js";

/** Both directions carry the same frame: the worker sends back what it got. */
export interface Frame {
  readonly callId: string;
  readonly fence: number;
  readonly payload: unknown;
}

export const workPath = "/bench.Floor/Work";

export function writeFrame(frame: Frame): Buffer {
  return Buffer.from(JSON.stringify(frame));
}

export function readFrame(bytes: Buffer): Frame {
  return JSON.parse(bytes.toString("utf8")) as Frame;
}

export const floorService = {
  work: {
    path: workPath,
    requestStream: true,
    responseStream: true,
    requestSerialize: writeFrame,
    requestDeserialize: readFrame,
    responseSerialize: writeFrame,
    responseDeserialize: readFrame,
  },
} satisfies ServiceDefinition;

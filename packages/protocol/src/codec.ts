// The Work protocol's messages as bytes and back; reading never throws, it says "malformed" instead.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { FrameError, fenceOf } from "./codec-checks.ts";
import { fromRuntimeFrame, toRuntimeFrame } from "./codec-runtime.ts";
import { fromWorkerFrame, toWorkerFrame } from "./codec-worker.ts";
import { RuntimeFrameSchema, WorkerFrameSchema } from "./gen/signalbox/v1/work_pb.ts";
import { isCallId } from "./ids.ts";
import { limits } from "./limits.ts";
import type { Lease, Malformed, RuntimeMessage, WorkerMessage } from "./work.ts";

/** What a worker can hear: a transport hands over `malformed` where it could not read what the runtime said. */
export type FromRuntime = RuntimeMessage | Malformed;

/** The fields of both frames whose messages are about one call. */
const workerCallFields = { from: 3, to: 10 };
const runtimeCallFields = { from: 2, to: 6 };

/**
 * Throws RangeError when a number cannot stand on the wire (a fence that is no integer, say): a fault of the caller.
 * A `malformed` message has no content to send and becomes an empty frame, which the other side reads as malformed.
 */
export function encodeWorker(message: WorkerMessage): Uint8Array<ArrayBuffer> {
  if (message.type === "malformed") return new Uint8Array(0);
  return toBinary(WorkerFrameSchema, { $typeName: "signalbox.v1.WorkerFrame", message: toWorkerFrame(message) });
}

/** Never throws. */
export function decodeWorker(bytes: Uint8Array): WorkerMessage {
  try {
    checkSize(bytes);
    return fromWorkerFrame(fromBinary(WorkerFrameSchema, bytes).message);
  } catch (error) {
    return malformed(bytes, error, workerCallFields);
  }
}

/** Throws like {@link encodeWorker}. */
export function encodeRuntime(message: FromRuntime): Uint8Array<ArrayBuffer> {
  if (message.type === "malformed") return new Uint8Array(0);
  return toBinary(RuntimeFrameSchema, {
    $typeName: "signalbox.v1.RuntimeFrame",
    message: toRuntimeFrame(message),
  });
}

/** Never throws. */
export function decodeRuntime(bytes: Uint8Array): FromRuntime {
  try {
    checkSize(bytes);
    return fromRuntimeFrame(fromBinary(RuntimeFrameSchema, bytes).message);
  } catch (error) {
    return malformed(bytes, error, runtimeCallFields);
  }
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > limits.workMessageBytesMax) {
    throw new FrameError(`the message has ${bytes.length} bytes, more than ${limits.workMessageBytesMax}`);
  }
}

function malformed(bytes: Uint8Array, error: unknown, fields: { from: number; to: number }): Malformed {
  // The parser's own words are kept out: they could quote the payload into a log.
  const reason = error instanceof FrameError ? error.message : "the frame is no readable protobuf message";
  const lease = findLease(bytes, fields);
  return lease === undefined ? { type: "malformed", reason } : { type: "malformed", reason, lease };
}

/**
 * The call that a broken frame names. Only the two first fields of the last message about a call are looked at, as
 * a protobuf reader takes the last one, so that the rest may be as broken as it likes.
 */
function findLease(bytes: Uint8Array, fields: { from: number; to: number }): Lease | undefined {
  let found: Lease | undefined;
  try {
    const frame = new BinaryReader(bytes);
    while (frame.pos < frame.len) {
      const [field, type] = frame.tag();
      if (type === WireType.LengthDelimited && field >= fields.from && field <= fields.to) {
        const length = frame.uint32();
        found = readLease(bytes.subarray(frame.pos, frame.pos + length));
        frame.pos += length;
      } else {
        frame.skip(type, field);
      }
    }
  } catch {
    // Unreadable from here on; what was found before still names the call.
  }
  return found;
}

function readLease(bytes: Uint8Array): Lease | undefined {
  let callId = "";
  let fence: bigint | undefined;
  try {
    const message = new BinaryReader(bytes);
    while (message.pos < message.len && (callId === "" || fence === undefined)) {
      const [field, type] = message.tag();
      if (field === 1 && type === WireType.LengthDelimited) callId = message.string();
      else if (field === 2 && type === WireType.Varint) fence = BigInt(message.int64());
      else message.skip(type, field);
    }
    return fence !== undefined && isCallId(callId) ? { callId, fence: fenceOf(fence) } : undefined;
  } catch {
    return undefined;
  }
}

// Turns a generated protobuf service into the service definition that grpc-js takes, with our codecs in place of its own.
import type { DescService } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { decodeRuntime, decodeWorker, encodeRuntime, encodeWorker, type FromRuntime } from "./codec.ts";
import { Work } from "./gen/signalbox/v1/work_pb.ts";
import type { Malformed, WorkerMessage } from "./work.ts";

/** How one method's messages become bytes. What `decode…` throws ends the gRPC call, so the codecs of streams must not throw. */
export interface MethodCodec<Request, Response> {
  encodeRequest(request: Request): Uint8Array<ArrayBuffer>;
  decodeRequest(bytes: Uint8Array): Request;
  encodeResponse(response: Response): Uint8Array<ArrayBuffer>;
  decodeResponse(bytes: Uint8Array): Response;
}

/** grpc-js's MethodDefinition, by shape: this package does without grpc-js. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(request: Request): Buffer;
  requestDeserialize(bytes: Buffer): Request;
  responseSerialize(response: Response): Buffer;
  responseDeserialize(bytes: Buffer): Response;
}

export function grpcMethod<Request, Response>(
  service: DescService,
  localName: string,
  codec: MethodCodec<Request, Response>,
): GrpcMethod<Request, Response> {
  const method = service.method[localName];
  if (method === undefined) throw new TypeError(`${service.typeName} has no method ${localName}`);
  return {
    path: `/${service.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: (request) => asBuffer(codec.encodeRequest(request)),
    requestDeserialize: (bytes) => codec.decodeRequest(bytes),
    responseSerialize: (response) => asBuffer(codec.encodeResponse(response)),
    responseDeserialize: (bytes) => codec.decodeResponse(bytes),
  };
}

/** The Work service, for `server.addService` and `client.makeBidiStreamRequest`: each network message is a batch of frames. */
export const workService: { readonly connect: GrpcMethod<readonly WorkerMessage[], readonly FromRuntime[]> } = {
  connect: grpcMethod(Work, "connect", {
    encodeRequest: (messages) => encodeBatch(messages, encodeWorker),
    decodeRequest: (bytes) => decodeBatch(bytes, decodeWorker),
    encodeResponse: (messages) => encodeBatch(messages, encodeRuntime),
    decodeResponse: (bytes) => decodeBatch(bytes, decodeRuntime),
  }),
};

/** The only field of a batch: its frames. */
const framesField = 1;

/**
 * grpc-js ends the stream when a serializer throws. One message that we built wrongly must not take the others along:
 * it goes out as an empty frame, and the other side says that it is malformed.
 */
function encodeBatch<T>(messages: readonly T[], encode: (message: T) => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const message of messages) writer.tag(framesField, WireType.LengthDelimited).bytes(frameOf(message, encode));
  return writer.finish();
}

function frameOf<T>(message: T, encode: (message: T) => Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  try {
    return encode(message);
  } catch {
    return new Uint8Array(0);
  }
}

/** Never throws: a frame that cannot be read becomes `malformed` by itself, and so does the rest of a broken batch. */
function decodeBatch<T>(bytes: Uint8Array, decode: (frame: Uint8Array) => T | Malformed): readonly (T | Malformed)[] {
  const messages: (T | Malformed)[] = [];
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === framesField && type === WireType.LengthDelimited) messages.push(decode(reader.bytes()));
      else reader.skip(type, field);
    }
  } catch {
    messages.push({ type: "malformed", reason: "the batch of frames is no readable protobuf message" });
  }
  return messages;
}

/** The same memory, seen as the Buffer that grpc-js asks for. */
function asBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

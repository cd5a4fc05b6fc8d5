// Turns a generated protobuf service into the service definition that grpc-js takes, with our codecs in place of its own.
import type { DescService } from "@bufbuild/protobuf";
import { decodeRuntime, decodeWorker, encodeRuntime, encodeWorker, type FromRuntime } from "./codec.ts";
import { Work } from "./gen/signalbox/v1/work_pb.ts";
import type { WorkerMessage } from "./work.ts";

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

/** The Work service, for `server.addService` and `client.makeBidiStreamRequest`. */
export const workService: { readonly connect: GrpcMethod<WorkerMessage, FromRuntime> } = {
  connect: grpcMethod(Work, "connect", {
    encodeRequest: orEmptyFrame(encodeWorker),
    decodeRequest: decodeWorker,
    encodeResponse: orEmptyFrame(encodeRuntime),
    decodeResponse: decodeRuntime,
  }),
};

/**
 * grpc-js ends the stream when a serializer throws. One message that we built wrongly must not take the others along:
 * it goes out as an empty frame, and the other side says that it is malformed.
 */
function orEmptyFrame<T>(encode: (message: T) => Uint8Array<ArrayBuffer>): (message: T) => Uint8Array<ArrayBuffer> {
  return (message) => {
    try {
      return encode(message);
    } catch {
      return new Uint8Array(0);
    }
  };
}

/** The same memory, seen as the Buffer that grpc-js asks for. */
function asBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// A caller over gRPC: the published messages on grpc-js, and the typed error that comes with a status.
import { Client, credentials, Metadata, type ClientReadableStream, type ServiceError } from "@grpc/grpc-js";
import {
  create,
  fromBinary,
  toBinary,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ErrorDetailSchema, type ErrorDetail } from "@signalbox/protocol/v1/shared";

/** An rpc as the generated services have it: `ToolRuntime.method.invoke`. */
interface Rpc<In extends DescMessage, Out extends DescMessage> {
  readonly parent: { readonly typeName: string };
  readonly name: string;
  readonly input: In;
  readonly output: Out;
}

// #region caller
export class Caller {
  readonly #client: Client;
  readonly #metadata = new Metadata();

  constructor(address: string, key: string) {
    // Beyond this machine: credentials.createSsl().
    this.#client = new Client(address, credentials.createInsecure());
    this.#metadata.set("authorization", `Bearer ${key}`);
  }

  /** @throws ServiceError with the runtime's own code in its detail */
  ask<In extends DescMessage, Out extends DescMessage>(rpc: Rpc<In, Out>, request: MessageInitShape<In>) {
    return new Promise<MessageShape<Out>>((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/${rpc.parent.typeName}/${rpc.name}`,
        (message: MessageShape<In>) => Buffer.from(toBinary(rpc.input, message)),
        (bytes) => fromBinary(rpc.output, bytes),
        create(rpc.input, request),
        this.#metadata,
        (error, answer) => (answer === undefined ? reject(error ?? new Error("no answer")) : resolve(answer)),
      );
    });
  }
  // #endregion caller

  /** What the rpc tells, as it comes. */
  follow<In extends DescMessage, Out extends DescMessage>(
    rpc: Rpc<In, Out>,
    request: MessageInitShape<In>,
  ): ClientReadableStream<MessageShape<Out>> {
    return this.#client.makeServerStreamRequest(
      `/${rpc.parent.typeName}/${rpc.name}`,
      (message: MessageShape<In>) => Buffer.from(toBinary(rpc.input, message)),
      (bytes) => fromBinary(rpc.output, bytes),
      create(rpc.input, request),
      this.#metadata,
    );
  }

  /** Sends the requests at once and gives the answers as they come. */
  many<In extends DescMessage, Out extends DescMessage>(
    rpc: Rpc<In, Out>,
    requests: readonly MessageInitShape<In>[],
  ): AsyncIterable<MessageShape<Out>> {
    const call = this.#client.makeBidiStreamRequest(
      `/${rpc.parent.typeName}/${rpc.name}`,
      (message: MessageShape<In>) => Buffer.from(toBinary(rpc.input, message)),
      (bytes) => fromBinary(rpc.output, bytes),
      this.#metadata,
    );
    for (const request of requests) call.write(create(rpc.input, request));
    call.end();
    return call as AsyncIterable<MessageShape<Out>>;
  }

  close(): void {
    this.#client.close();
  }
}

// #region detail
/** What went wrong in the runtime's own words; undefined where the trouble is the connection's. */
export function detailOf(error: ServiceError): ErrorDetail | undefined {
  // A google.rpc.Status, whose field 3 is a list of Any.
  const [packed] = error.metadata.get("grpc-status-details-bin");
  if (!(packed instanceof Buffer)) return undefined;
  const reader = new BinaryReader(packed);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 3) return fromBinary(ErrorDetailSchema, fromBinary(AnySchema, reader.bytes()).value);
    reader.skip(type, field);
  }
  return undefined;
}
// #endregion detail

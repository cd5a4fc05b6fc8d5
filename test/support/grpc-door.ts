// Opens the gRPC door over a scripted service on a free port, and speaks to it in messages or in bare bytes.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ErrorDetailSchema, type ErrorDetail } from "@signalbox/protocol/v1/shared";
import type { Metadata } from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import { createApiDoor, type ApiDoor, type ApiDoorOptions } from "../../packages/runtime/src/adapters/grpc/api/door.ts";
import { addReflection } from "../../packages/runtime/src/adapters/grpc/api/reflection.ts";
import { startGrpcServer, type GrpcServer } from "../../packages/runtime/src/adapters/grpc/server.ts";
import type { Service } from "../../packages/runtime/src/service.ts";
import { GrpcCaller, type Answered, type CallOptions } from "./grpc-caller.ts";
import { gatheredLog } from "./http-door.ts";
import { scriptedAt, scriptedService, type ScriptedService } from "./scripted-service.ts";

export interface OpenGrpcDoor {
  readonly service: ScriptedService;
  readonly door: ApiDoor;
  readonly server: GrpcServer;
  readonly caller: GrpcCaller;
  readonly log: ReturnType<typeof gatheredLog>;
  /** What answers and their messages differed in. */
  readonly strays: readonly string[];
  /** With alice's token unless told otherwise. */
  bytes(method: DescMethod, requests: readonly Uint8Array[], options?: CallOptions): Promise<Answered>;
}

export const asAlice = { authorization: "Bearer alice-token" } as const;
export const asVic = { authorization: "Bearer vic-token" } as const;
export const asBob = { authorization: "Bearer bob-token" } as const;

export async function openGrpcDoor(
  replaced: Partial<Service> = {},
  options: Partial<Omit<ApiDoorOptions, "service">> = {},
): Promise<OpenGrpcDoor> {
  const service = scriptedService(replaced);
  const log = gatheredLog();
  const strays: string[] = [];
  const door = createApiDoor({
    service,
    log,
    now: () => scriptedAt,
    onStray: (what) => strays.push(what),
    ...options,
  });
  const server = await startGrpcServer({
    host: "127.0.0.1",
    port: 0,
    serviceNames: door.serviceNames,
    services: [door.add, addReflection],
  });
  const caller = new GrpcCaller(`127.0.0.1:${server.port}`);
  onTestFinished(async () => {
    caller.close();
    await server.stop(0);
  });
  return {
    service,
    door,
    server,
    caller,
    log,
    strays,
    bytes: (method, requests, { metadata = asAlice, ...more } = {}) =>
      caller.ask(pathOf(method), requests, { metadata, ...more }),
  };
}

export const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** One message as bytes. */
export function message<Desc extends DescMessage>(desc: Desc, fields: MessageInitShape<Desc>): Uint8Array {
  return toBinary(desc, create(desc, fields));
}

/** @throws Error when there was not exactly one */
export function answerIn<Desc extends DescMessage>(desc: Desc, { messages, status }: Answered): MessageShape<Desc> {
  const [one, ...more] = messages;
  if (one === undefined || more.length > 0)
    throw new Error(`${messages.length} messages, and the status ${status.code} ${status.details}`);
  return fromBinary(desc, one);
}

/** The typed detail of a status. @throws Error when it has none */
export function detailIn({ metadata }: { readonly metadata: Metadata }): ErrorDetail {
  const [packed] = metadata.get("grpc-status-details-bin");
  if (!(packed instanceof Buffer)) throw new Error("the status has no typed detail");
  const reader = new BinaryReader(packed);
  for (;;) {
    const [field, type] = reader.tag();
    if (field === 3) return fromBinary(ErrorDetailSchema, fromBinary(AnySchema, reader.bytes()).value);
    reader.skip(type, field);
  }
}

export const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
export const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("utf8");

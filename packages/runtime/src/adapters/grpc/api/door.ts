// The services for callers on a gRPC server: the same handlers, rules and words as the HTTP door has.
import type { MethodDefinition, Server, UntypedServiceImplementation } from "@grpc/grpc-js";
import { makeId } from "@signalbox/protocol";
import type { Service } from "../../../service.ts";
import type { Gate } from "../../http/admission.ts";
import { noLog } from "../../http/log.ts";
import type { DoorLog } from "../../http/log.ts";
import { pooledRandom } from "../../http/request-id.ts";
import { Exchange } from "./exchange.ts";
import type { ApiDoorParts, RawCall } from "./exchange.ts";
import { answerAttach } from "./attach.ts";
import { answerPutFile } from "./files.ts";
import { apiLimits } from "./limits.ts";
import type { ApiLimits } from "./limits.ts";
import { answerMany } from "./many.ts";
import { narrowReceiving } from "./receiving.ts";
import { rpcs, services } from "./rpcs.ts";
import type { Rpc } from "./rpcs.ts";
import { answerStreamSession } from "./session-stream.ts";
import { answerFollow, answerInvokeStream } from "./stream.ts";
import { answerInvoke, answerOnce } from "./unary.ts";
import type { OnStray } from "./write.ts";

export interface ApiDoorOptions {
  readonly service: Service;
  readonly log?: DoorLog;
  /** Wall clock, ms since 1970; for the time part of request ids. */
  readonly now?: () => number;
  readonly random?: (bytes: number) => Uint8Array;
  /** As in {@link Gate}; nobody is told when it is left out. */
  readonly onForbidden?: Gate["onForbidden"];
  /** Told where an answer and its message differ, which is a fault of this program; written to the log when left out. */
  readonly onStray?: OnStray;
  readonly bounds?: Partial<ApiLimits>;
}

export interface ApiDoor {
  /** Full names, for the health service. */
  readonly serviceNames: readonly string[];
  add(server: Server): void;
  /** Takes no new rpc, lets those in work end, and cuts those that last longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Rpcs whose way is another than "one message in, the route's answer out". */
const ownWays: Readonly<Record<string, (door: ApiDoorParts, exchange: Exchange) => Promise<void>>> = {
  "ToolRuntime.Invoke": answerInvoke,
  "ToolRuntime.InvokeStream": answerInvokeStream,
  "ToolRuntime.InvokeMany": answerMany,
  "ToolRuntime.FollowExecution": answerFollow,
  "ToolRuntime.PutFile": answerPutFile,
  "Sessions.StreamSession": answerStreamSession,
  "Sessions.Attach": answerAttach,
};

export function createApiDoor(options: ApiDoorOptions): ApiDoor {
  const {
    service,
    log = noLog,
    now = Date.now,
    random = pooledRandom(),
    onForbidden = async () => undefined,
  } = options;
  const door: ApiDoorParts = {
    service,
    log,
    onForbidden,
    onStray: options.onStray ?? strayLog(log),
    newRequestId: () => makeId("req", now(), random(10)),
    bounds: { ...apiLimits, ...options.bounds },
    open: new Set(),
    onIdle: () => undefined,
    closing: false,
  };
  return {
    serviceNames: services.map(({ typeName }) => typeName),
    add(server) {
      for (const { name } of services)
        addService(
          server,
          door,
          rpcs.filter((rpc) => rpc.service === name),
        );
    },
    close: (graceMs) => close(door, graceMs),
  };
}

function addService(server: Server, door: ApiDoorParts, own: readonly Rpc[]): void {
  const definition: Record<string, MethodDefinition<Buffer, Uint8Array>> = {};
  const handlers: UntypedServiceImplementation = {};
  for (const rpc of own) {
    definition[rpc.name] = rawMethod(rpc.path);
    const answer = ownWays[rpc.name] ?? answerOnce;
    handlers[rpc.name] = (call: RawCall) => {
      narrowReceiving(call, door.bounds.receivedBytesMax);
      const exchange = new Exchange(door, rpc, call);
      answer(door, exchange).catch((error: unknown) => exchange.fail(error));
    };
  }
  server.addService(definition, handlers);
}

/** Nothing is decoded here, so nothing can go wrong that grpc-js would tell in its own words. */
function rawMethod(path: string): MethodDefinition<Buffer, Uint8Array> {
  const asItIs = (bytes: Buffer): Buffer => bytes;
  return {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength),
    responseDeserialize: asItIs,
  };
}

/** Once for each: a field that has no place would fill the log otherwise. */
function strayLog(log: DoorLog): OnStray {
  const told = new Set<string>();
  return (what) => {
    if (told.has(what)) return;
    told.add(what);
    log.error({ what }, "an answer and its gRPC message differ");
  };
}

async function close(door: ApiDoorParts, graceMs: number): Promise<void> {
  door.closing = true;
  for (const exchange of door.open) exchange.onClosing();
  if (door.open.size === 0) return;
  await new Promise<void>((resolve) => {
    const cut = setTimeout(() => {
      for (const exchange of door.open) exchange.cut();
    }, graceMs);
    door.onIdle = () => {
      clearTimeout(cut);
      resolve();
    };
  });
}

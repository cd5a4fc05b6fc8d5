// Calls over gRPC on one connection, as a client has it: an rpc each, or all of them on one stream.
//
// Messages are put together once and answers are looked at as bytes, as the HTTP load does with its text: the load process
// shares the cores with what is measured, and what a client spends on messages is not asked here.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import {
  InvokeManyRequestSchema,
  InvokeManyResponseSchema,
  InvokeRequestSchema,
} from "@signalbox/protocol/v1/tool_runtime";
import type { Caller, Callers } from "./callers.ts";
import type { GrpcDoor } from "./slice.ts";

const answerTimeoutMs = 30_000;
/** The field `status` of an Execution, with its tag and length. */
const succeeded = Buffer.from("\x22\x09succeeded");
/** Tag of the field `ref`: the first one of requests and answers on a stream. */
const refTag = 0x0a;
const service = "/signalbox.v1.ToolRuntime";

export function openGrpc(door: GrpcDoor, concurrency: number): Callers {
  const client = new Client(door.address, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_http_proxy": 0,
  });
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${door.key}`);
  const request = create(InvokeRequestSchema, {
    tool: door.tool,
    version: door.version,
    input: Buffer.from(door.inputJson),
  });
  const open = door.rpc === "Invoke" ? openUnary : openMany;
  const { callers, end } = open(client, metadata, request, concurrency);
  return {
    callers,
    async close() {
      end();
      client.close();
    },
  };
}

type Invoke = ReturnType<typeof create<typeof InvokeRequestSchema>>;

interface Lanes {
  readonly callers: readonly Caller[];
  end(): void;
}

const asBytes = (bytes: Buffer): Buffer => bytes;

function openUnary(client: Client, metadata: Metadata, request: Invoke, concurrency: number): Lanes {
  const bytes = Buffer.from(toBinary(InvokeRequestSchema, request));
  const call: Caller = () =>
    new Promise((resolve) => {
      const deadline = Date.now() + answerTimeoutMs;
      client.makeUnaryRequest(`${service}/Invoke`, asBytes, asBytes, bytes, metadata, { deadline }, (error, answer) => {
        if (error !== null) resolve(codeOf(error));
        else resolve(answer?.includes(succeeded) === true ? undefined : "unexpected_answer");
      });
    });
  return { callers: Array.from({ length: concurrency }, () => call), end: () => undefined };
}

function openMany(client: Client, metadata: Metadata, request: Invoke, concurrency: number): Lanes {
  const rest = Buffer.from(toBinary(InvokeManyRequestSchema, create(InvokeManyRequestSchema, { request })));
  const stream: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    `${service}/InvokeMany`,
    asBytes,
    asBytes,
    metadata,
  );
  const waiting = new Map<string, (code: string | undefined) => void>();
  let broken: string | undefined;
  let made = 0;
  stream.on("data", (answer: Buffer) => {
    const ref = refOf(answer);
    waiting.get(ref)?.(answer.includes(succeeded) ? undefined : answerCode(answer));
    waiting.delete(ref);
  });
  stream.on("error", (error: ServiceError) => {
    broken = codeOf(error);
    for (const tell of waiting.values()) tell(broken);
    waiting.clear();
  });
  const call: Caller = () =>
    new Promise((resolve) => {
      if (broken !== undefined) return resolve(broken);
      const ref = String(made++);
      waiting.set(ref, resolve);
      stream.write(Buffer.concat([Buffer.from([refTag, ref.length]), Buffer.from(ref), rest]));
    });
  return { callers: Array.from({ length: concurrency }, () => call), end: () => stream.end() };
}

/** Of an answer that names it first, as the field's number has it. */
function refOf(answer: Buffer): string {
  return answer[0] === refTag ? answer.toString("latin1", 2, 2 + (answer[1] ?? 0)) : fromBinary(InvokeManyResponseSchema, answer).ref;
}

function answerCode(answer: Buffer): string {
  const { outcome } = fromBinary(InvokeManyResponseSchema, answer);
  return outcome.case === "error" ? outcome.value.code : "unexpected_answer";
}

function codeOf({ code }: ServiceError): string {
  return status[code] ?? `grpc_${code}`;
}

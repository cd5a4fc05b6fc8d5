// What tests ask through REST, asked through gRPC: the rpc that stands for the route, its answer told as REST would tell it.
import { fromBinary } from "@bufbuild/protobuf";
import type { DescMethod } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { errorTable, isErrorCode, stringifyWithBigInts } from "@signalbox/protocol";
import { ErrorDetailSchema } from "@signalbox/protocol/v1/shared";
import { ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";
import { GrpcCaller, type Answered } from "./grpc-caller.ts";
import { nameOf, rpcFor } from "./grpc-rpcs.ts";
import { encode, jsonOf, rawFields, reflect, strayByte, type RawFields } from "./grpc-wire.ts";
import { apiDocument, parsed, restOver, type AskOptions, type Reply, type Rest } from "./rest.ts";

/** Connections by address; a runtime that starts again has another one. */
const callers = new Map<string, GrpcCaller>();

export function callerAt(address: string): GrpcCaller {
  const known = callers.get(address);
  if (known !== undefined) return known;
  const caller = new GrpcCaller(address);
  callers.set(address, caller);
  return caller;
}

export function closeCallers(): void {
  for (const caller of callers.values()) caller.close();
  callers.clear();
}

/** @param web the other door, for what has no rpc: health and metrics */
export function createGrpcRest(address: () => string, key: string, web: Rest): Rest {
  const ask: Rest["ask"] = async (verb, target, options = {}) => {
    const [path = "", query = ""] = target.split("?");
    if (!path.startsWith("/v1/")) return web.ask(verb, target, options);
    if (/\/(?=\/|$)/.test(path.slice(1))) return noSuchPath;
    const { method, params } = rpcFor(verb, path);
    const { rpc, message } = requestOf(method, params, query, options);
    const metadata = metadataOf(key, options.headers ?? {});
    const answered = await callerAt(address()).ask(
      `/${rpc.parent.typeName}/${rpc.name}`,
      rpc.methodKind === "client_streaming" ? piecesOf(options.body) : [message],
      options.signal === undefined ? { metadata } : { metadata, signal: options.signal },
    );
    options.signal?.throwIfAborted();
    const reply = replyOf(rpc, answered);
    // There is a status for it, and the record, which REST answers with, is one rpc away.
    if (reply.body.error?.code === "cancelled" && rpc.name === "Invoke") return recordOf(reply, ask);
    const type = reply.headers["content-type"] ?? "application/json";
    const { status, headers, text } = reply;
    const told = {
      method: verb,
      path: target,
      sent: undefined,
      status,
      headers: { ...headers, "content-type": type },
      text,
    };
    apiDocument().check(told);
    return reply;
  };
  return restOver(ask);
}

/** A path with an empty part is no route of REST's, and no rpc is called for it. */
const noSuchPath: Reply = {
  status: 404,
  headers: {},
  text: '{"error":{"code":"route_not_found"}}',
  body: parsed('{"error":{"code":"route_not_found"}}'),
};

interface Request {
  readonly rpc: DescMethod;
  readonly message: Uint8Array;
}

const documents: Readonly<Record<string, number>> = { "Registry.Register": 1, "Policies.Publish": 1, "Agents.Publish": 1 };

function requestOf(
  method: DescMethod,
  params: Readonly<Record<string, string>>,
  query: string,
  { body, headers = {} }: AskOptions,
): Request {
  const text = textOf(body);
  const document = documents[nameOf(method)];
  const asked = [...new URLSearchParams(query)].map(([name, value]) => queryField(method, name, value));
  const named = Object.entries(params).map(([name, value]) => [name, JSON.stringify(value)] as const);
  if (document !== undefined) {
    const type = headers["content-type"];
    const typed: RawFields = type === undefined ? [] : [["content_type", JSON.stringify(type)]];
    const writer = new BinaryWriter().tag(document, WireType.LengthDelimited).string(text ?? "");
    return { rpc: method, message: encode(method.input, [...asked, ...typed], writer).finish() };
  }
  const fields = text === undefined || method.methodKind === "client_streaming" ? [] : fieldsOf(text);
  // What is no JSON object is no message either.
  if (fields === undefined) return { rpc: method, message: Buffer.from(text ?? "") };
  const after = headers["last-event-id"];
  const seq: RawFields = after === undefined || after === "" ? [] : [["after_seq", after]];
  const stream =
    fields.some(([name, raw]) => name === "stream" && raw === "true") && nameOf(method) === "ToolRuntime.Invoke";
  const rpc = stream ? ToolRuntime.method["invokeStream"] : method;
  const sent = stream ? fields.filter(([name]) => name !== "stream") : fields;
  return { rpc: rpc as DescMethod, message: encode(method.input, [...named, ...asked, ...seq, ...sent]).finish() };
}

/** A number or a flag in a query is text to REST; what is neither goes out as text to the field that has no text. */
function queryField(method: DescMethod, name: string, value: string): readonly [string, string] {
  const field = method.input.fields.find((one) => one.name === name);
  const isText = field?.fieldKind === "scalar" && typeof field.getDefaultValue?.() === "string";
  const plain = /^(?:-?\d+|true|false)$/.test(value) && !isText;
  return [name, plain ? value : JSON.stringify(value)];
}

function fieldsOf(text: string): RawFields | undefined {
  try {
    return rawFields(text);
  } catch {
    return undefined;
  }
}

function textOf(body: unknown): string | undefined {
  if (body === undefined || typeof body === "string") return body;
  return body instanceof Uint8Array ? textOfBytes(body) : stringifyWithBigInts(body);
}

/** Bytes that are no UTF-8 stand in the text one by one, and are told from letters by the private use area. */
function textOfBytes(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => String.fromCharCode(byte < 0x80 ? byte : strayByte + byte)).join("");
  }
}

const pieceBytes = 256 * 1024;

function piecesOf(body: unknown): Uint8Array[] {
  const bytes = body instanceof Uint8Array ? body : Buffer.from(textOf(body) ?? "");
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += pieceBytes)
    pieces.push(
      new BinaryWriter()
        .tag(1, WireType.LengthDelimited)
        .bytes(bytes.subarray(at, at + pieceBytes))
        .finish(),
    );
  return pieces;
}

/** Header and metadata names are the same; what is HTTP's own stays behind. */
function metadataOf(key: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  const { "content-type": _type, "last-event-id": _last, ...others } = headers;
  const { authorization = `Bearer ${key}`, ...rest } = lowerCased(others);
  return authorization === "" ? rest : { authorization, ...rest };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function replyOf(rpc: DescMethod, { messages, initial, status }: Answered): Reply {
  if (status.code !== 0) return refusalOf(status.code, status.details, status.metadata);
  if (rpc.methodKind === "server_streaming") return eventsOf(rpc, messages, initial);
  const [message, ...more] = messages;
  if (message === undefined || more.length > 0)
    throw new Error(`${rpc.name} answered with ${messages.length} messages`);
  const text = jsonOf(rpc.output, reflect(rpc.output, fromBinary(rpc.output, message)), nameOf(rpc));
  const body = parsed(text);
  const requestId = initial.get("x-request-id")[0];
  if (requestId === undefined) throw new Error(`${rpc.name} answered without x-request-id`);
  const [replayed] = initial.get("idempotency-replayed");
  const http = successOf(rpc, body);
  const headers = {
    "x-request-id": String(requestId),
    ...(replayed === undefined ? {} : { "idempotency-replayed": String(replayed) }),
    ...rateLimitIn(initial),
    ...(http === 202 && rpc.name === "Invoke" ? { location: `/v1/executions/${body.execution_id ?? ""}` } : {}),
  };
  return { status: http, headers, text, body };
}

/** As SSE tells them. */
function eventsOf(rpc: DescMethod, messages: readonly Buffer[], initial: Answered["initial"]): Reply {
  const frames = messages.map((message) => {
    const text = jsonOf(rpc.output, reflect(rpc.output, fromBinary(rpc.output, message)), nameOf(rpc));
    const { seq = "", ts, type = "", data = "" } = Object.fromEntries(rawFields(text));
    const told = ts === undefined ? data : `{"seq":${seq},"ts":${ts},"data":${data}}`;
    return `id: ${seq}\nevent: ${JSON.parse(type) as string}\ndata: ${told}\n\n`;
  });
  const [replayed] = initial.get("idempotency-replayed");
  const headers = {
    "x-request-id": String(initial.get("x-request-id")[0]),
    "content-type": "text/event-stream",
    location: `/v1/executions/${String(initial.get("signalbox-execution-id")[0])}`,
    ...(replayed === undefined ? {} : { "idempotency-replayed": String(replayed) }),
  };
  if (frames.length === 0) return { status: 204, headers, text: "", body: {} };
  return { status: 200, headers, text: frames.join(""), body: {} };
}

const ended = ["denied", "succeeded", "failed", "timed_out", "cancelled"];
const makes = ["CreateKey", "CreateTenantKey", "CreateGrant", "Freeze", "AddWebhook", "CreateTenant"];

/** REST tells new from old and done from open in the status; here they are told in the message. */
function successOf(rpc: DescMethod, body: Reply["body"]): number {
  if (rpc.name === "Invoke" || rpc.name === "Cancel") return ended.includes(body.status ?? "") ? 200 : 202;
  if (rpc.name === "Publish" && body["dry_run"] === true) return 200;
  if ("already_there" in body) return body["already_there"] === true ? 200 : 201;
  return makes.includes(rpc.name) ? 201 : 200;
}

/** The typed detail, told as REST tells an error; all that a status says twice must agree. */
function refusalOf(code: number, details: string, trailers: Answered["status"]["metadata"]): Reply {
  const [packed] = trailers.get("grpc-status-details-bin");
  if (!(packed instanceof Buffer)) throw new Error(`status ${code} "${details}" has no typed detail`);
  const detail = detailIn(packed, code, details);
  const { execution_id, status, execution, ...error } = JSON.parse(detail) as Record<string, unknown>;
  const about = {
    ...(execution_id === undefined ? {} : { execution_id }),
    ...(status === undefined ? {} : { status, execution }),
  };
  const named = String(error["code"]);
  if (!isErrorCode(named)) throw new Error(`${named} is no code`);
  const row = errorTable[named];
  const same = [
    [row.grpc, code],
    [named, trailers.get("signalbox-error-code")[0]],
    [error["request_id"], trailers.get("x-request-id")[0]],
  ];
  for (const [one, other] of same)
    if (one !== other) throw new Error(`the status says ${String(one)} and ${String(other)}`);
  const text = JSON.stringify({ error, ...about });
  const after = trailers.get("retry-after")[0];
  return {
    status: row.http,
    headers: {
      "grpc-status": String(code),
      "x-request-id": String(error["request_id"]),
      ...(after === undefined ? {} : { "retry-after": String(after) }),
      ...rateLimitIn(trailers),
    },
    text,
    body: parsed(text),
  };
}

function rateLimitIn(metadata: Metadata): Record<string, string> {
  const names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
  return Object.fromEntries(names.flatMap((name) => metadata.get(name).map((value) => [name, String(value)])));
}

/** Reads a `google.rpc.Status` by its field numbers. */
function detailIn(packed: Buffer, code: number, details: string): string {
  const reader = new BinaryReader(packed);
  const said: unknown[] = [];
  let detail = "";
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    if (field === 1) said.push(reader.int32());
    else if (field === 2) said.push(reader.string());
    else {
      const any = fromBinary(AnySchema, reader.bytes());
      if (any.typeUrl !== "type.googleapis.com/signalbox.v1.ErrorDetail") throw new Error(any.typeUrl);
      detail = jsonOf(ErrorDetailSchema, reflect(ErrorDetailSchema, fromBinary(ErrorDetailSchema, any.value)), "");
    }
  }
  if (said[0] !== code || said[1] !== details)
    throw new Error(`the detail says ${String(said[0])}: ${String(said[1])}`);
  return detail;
}

const detailFields = ["decision", "attempts", "late_results"];

async function recordOf(reply: Reply, ask: Rest["ask"]): Promise<Reply> {
  const { text, headers } = await ask("GET", `/v1/executions/${reply.body.execution_id ?? ""}`);
  const kept = rawFields(text).filter(([name]) => !detailFields.includes(name));
  const record = `{${kept.map(([name, raw]) => `${JSON.stringify(name)}:${raw}`).join(",")}}`;
  return { status: 200, headers: { ...headers, ...reply.headers }, text: record, body: parsed(record) };
}

// Turns a request message and its metadata into what the route would have been asked over HTTP.
import type { Metadata } from "@grpc/grpc-js";
import { limits } from "@signalbox/protocol";
import { bodyKind, parseBody, tooLarge } from "../../http/body.ts";
import type { RequestHead } from "../../http/request-head.ts";
import type { Ask } from "../../http/routes/route.ts";
import { faultAt } from "../../http/schemas/check.ts";
import { apiLimits } from "./limits.ts";
import type { Values } from "./read.ts";
import type { Rpc } from "./rpcs.ts";

/** What routes read of a request's head; the rest of the metadata is the door's own, or nobody's. */
const readByRoutes = ["idempotency-key", "traceparent"] as const;

/** @throws SignalboxError `invalid_input` */
export function headOf(metadata: Metadata): RequestHead {
  const headers: Record<string, string> = {};
  const headersDistinct: Record<string, string[]> = {};
  for (const name of readByRoutes) {
    const sent = metadata.get(name).map(String);
    const [first] = sent;
    if (first === undefined) continue;
    if (name === "idempotency-key") requireOne(sent);
    headers[name] = first;
    headersDistinct[name] = sent;
  }
  return { headers, headersDistinct };
}

/** The transport joins values of one name by commas, so a comma may stand for a second key. */
function requireOne(keys: readonly string[]): void {
  if (keys.length === 1 && keys[0]?.includes(",") === false) return;
  const problem = "must be sent once and without a comma; a key with a comma goes into the request's idempotency_key";
  throw faultAt("header", "/Idempotency-Key", "maxItems", problem);
}

/** @throws SignalboxError `invalid_input`, `payload_too_large` */
export function askOf(rpc: Rpc, values: Values, head: RequestHead): Pick<Ask, "params" | "query" | "body" | "message"> {
  const params: Record<string, string> = {};
  const query: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  const headers: Record<string, string> = {};
  let document: Uint8Array = new Uint8Array();
  const inQuery = rpc.route.method === "GET" || rpc.route.method === "DELETE";
  for (const [name, value] of Object.entries(values)) {
    const field = rpc.input.byName.get(name);
    const param = rpc.params.get(name);
    if (param !== undefined) params[param] = pathField(name, value);
    else if (field?.place === "content") document = value as Uint8Array;
    else if (field?.place === "header") headers[field.header] = String(value);
    else if (field?.place === "query" || inQuery) query[name] = String(value);
    else body[name] = value;
  }
  const told = { params, query, message: head };
  if (rpc.route.body === "none") return { ...told, body: undefined };
  return { ...told, body: rpc.route.body === "manifest" ? documentOf(document, headers) : body };
}

/** In REST a path with an empty part is another path, and a long one does not get through. */
function pathField(name: string, value: unknown): string {
  const text = String(value);
  if (text === "") throw faultAt("body", `/${name}`, "required", "is required");
  if (text.length > apiLimits.pathFieldCharsMax)
    throw faultAt("body", `/${name}`, "maxLength", `must have at most ${apiLimits.pathFieldCharsMax} characters`);
  return text;
}

function documentOf(document: Uint8Array, headers: Readonly<Record<string, string>>): unknown {
  if (document.byteLength > limits.manifestBytesMax) throw tooLarge(limits.manifestBytesMax);
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  return parseBody(bytes, bodyKind({ "content-type": "application/json", ...headers }, true));
}

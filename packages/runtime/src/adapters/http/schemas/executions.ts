// What requests about executions may say.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { callStates } from "../../../call/types.ts";
import type { ExecutionQuery, InvokeRequest } from "../../../service.ts";
import { check, faultAt } from "./check.ts";
import { defined } from "./defined.ts";
import { callFiles } from "./files.ts";
import { context, cursor, instant, listLimit, name, positive } from "./fields.ts";

/** A call may wait for people for weeks; a total deadline further off than this is a mistake in units. */
const totalDeadlineMsMax = 31 * 24 * 3_600_000;

export const idempotencyKey = z.string().min(1).max(limits.idempotencyKeyCharsMax);

export const invokeBody = z.strictObject({
  tool: name,
  version: name.optional(),
  tenant: name.optional(),
  project: name.optional(),
  input: z.unknown(),
  files: callFiles.optional(),
  context: context.optional(),
  limits: z.strictObject({ timeout_ms: positive.optional(), max_output_bytes: positive.optional() }).optional(),
  mode: z.enum(["sync", "async"]).optional(),
  stream: z.boolean().optional(),
  wait_ms: z.int().min(0).max(limits.syncWaitMsMax).optional(),
  deadline_ms: positive.max(totalDeadlineMsMax).optional(),
  cancel_on_disconnect: z.boolean().optional(),
  priority: z.enum(["interactive", "normal", "batch"]).optional(),
  idempotency_key: idempotencyKey.optional(),
});

/** @throws SignalboxError `invalid_input` */
export function invokeRequest(body: unknown, message: IncomingMessage): InvokeRequest {
  const asked = check(invokeBody, body, "body");
  if (asked.stream === true && asked.mode === "async")
    throw faultAt("body", "/stream", "const", 'does not go with mode "async"; follow GET /v1/executions/{id}/stream instead');
  return defined({
    tool: asked.tool,
    version: asked.version,
    tenant: asked.tenant,
    project: asked.project,
    input: asked.input,
    files: asked.files?.map(defined),
    context: asked.context,
    limits:
      asked.limits === undefined
        ? undefined
        : defined({ timeoutMs: asked.limits.timeout_ms, maxOutputBytes: asked.limits.max_output_bytes }),
    mode: asked.mode ?? "sync",
    waitMs: asked.wait_ms,
    deadlineMs: asked.deadline_ms,
    cancelOnDisconnect: asked.cancel_on_disconnect,
    priority: asked.priority,
    idempotencyKey: agreedKey(message, asked.idempotency_key),
    traceparent: traceparentOf(message.headers),
  });
}

/** Whether the answer is to be the call's stream in place of its record; the body has been checked. */
export function wantsStream(body: unknown): boolean {
  return (body as { readonly stream?: unknown }).stream === true;
}

/** Other characters would reach us as Latin-1 and never equal the same key in a body. */
const headerKey = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The key of the header, the body, or both if they are equal. */
function agreedKey(message: IncomingMessage, inBody: string | undefined): string | undefined {
  if (message.headers["idempotency-key"] === undefined) return inBody;
  const sent = message.headersDistinct["idempotency-key"] ?? [];
  const [header] = sent;
  if (sent.length !== 1 || header === undefined)
    throw faultAt("header", "/Idempotency-Key", "maxItems", "must be sent once");
  if (!headerKey.test(header) || header.length > limits.idempotencyKeyCharsMax) {
    throw faultAt(
      "header",
      "/Idempotency-Key",
      "pattern",
      `must be 1 to ${limits.idempotencyKeyCharsMax} printable ASCII characters`,
    );
  }
  if (inBody !== undefined && inBody !== header) {
    throw faultAt(
      "header",
      "/Idempotency-Key",
      "const",
      "must agree with the body's idempotency_key; send one of them, or the same in both",
    );
  }
  return header;
}

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A malformed one is passed over, as W3C Trace Context asks: tracing must not fail calls. */
function traceparentOf(headers: IncomingHttpHeaders): string | undefined {
  const header = headers["traceparent"];
  return typeof header === "string" && traceparent.test(header) ? header : undefined;
}

export const executionsQuery = z.strictObject({
  project: name.optional(),
  tool: name.optional(),
  status: z.enum(callStates).optional(),
  principal: name.optional(),
  from: instant.optional(),
  to: instant.optional(),
  limit: listLimit,
  cursor: cursor.optional(),
});

export function executionQuery(query: unknown): ExecutionQuery {
  return defined(check(executionsQuery, query, "query"));
}

export const eventsQuery = z.strictObject({
  after_seq: z
    .string()
    .regex(/^[0-9]{1,15}$/, { error: "must be a whole number of at least 0" })
    .transform(Number)
    .optional(),
  limit: listLimit,
});

export const resolveBody = z.strictObject({
  verdict: z.enum(["confirm", "retry", "fail"]),
  output: z.unknown().optional(),
  comment: z.string().max(limits.errorMessageCharsMax).optional(),
});

export interface ResolveAnswer {
  readonly verdict: "confirm" | "retry" | "fail";
  readonly outputJson?: string;
  readonly comment?: string;
}

export function resolveAnswer(body: unknown): ResolveAnswer {
  const { verdict, output, comment } = check(resolveBody, body, "body");
  if (output !== undefined && verdict !== "confirm") {
    throw faultAt("body", "/output", "const", 'goes with the verdict "confirm" only; leave it out');
  }
  return defined({ verdict, outputJson: output === undefined ? undefined : JSON.stringify(output), comment });
}

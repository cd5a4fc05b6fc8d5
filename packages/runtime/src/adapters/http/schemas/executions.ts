// What requests about executions may say.
import type { IncomingHttpHeaders } from "node:http";
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import type { ExecutionQuery, InvokeRequest, ReplayRequest, ResolveManyRequest } from "../../../service.ts";
import { httpLimits } from "../http-limits.ts";
import type { RequestHead } from "../request-head.ts";
import { check, faultAt } from "./check.ts";
import { defined } from "./defined.ts";
import { callFiles } from "./files.ts";
import { callState, context, cursor, eventSeq, instant, listLimit, name, positive } from "./fields.ts";

export const idempotencyKey = z.string().min(1).max(limits.idempotencyKeyCharsMax);

const callLimits = z
  .strictObject({
    timeout_ms: positive.optional().describe("Time to run in ms"),
    max_output_bytes: positive.optional().describe("Size of the result in bytes of JSON"),
  })
  .meta({ id: "CallLimits", description: "Lowers the tool's own limits; what is higher than those changes nothing" });

export const invokeBody = z
  .strictObject({
    tool: name.describe("The tool's name"),
    version: name
      .optional()
      .describe("An exact version or a range; else the tenant's pin, the active version, or the newest stable one"),
    tenant: name.optional().describe("If given, it must be the credential's own"),
    project: name.optional().describe("If given, it must be the credential's own, or one that it may use"),
    input: z
      .unknown()
      .describe(
        `The arguments: any JSON that the tool's input schema takes, at most ${limits.inputBytesMax} bytes; numbers keep their digits`,
      ),
    files: callFiles.optional().describe("Input files of a sandbox tool, mounted read-only below `/workspace`"),
    context: context.optional(),
    limits: callLimits.optional(),
    mode: z
      .enum(["sync", "async"])
      .optional()
      .describe("`sync` (without it): the answer waits for the end; `async`: it comes as soon as the call is stored"),
    stream: z.boolean().optional().describe("The answer is the call's stream of events; not with mode `async`"),
    wait_ms: z
      .int()
      .min(0)
      .max(limits.syncWaitMsMax)
      .optional()
      .meta({ description: "How long a sync answer may wait, in ms; then it is 202", default: limits.syncWaitMs }),
    deadline_ms: positive
      .max(httpLimits.totalDeadlineMsMax)
      .optional()
      .describe("Time in all, in ms from admission: waiting for people, in the queue, all attempts"),
    cancel_on_disconnect: z
      .boolean()
      .optional()
      .describe("The call is cancelled when the caller's connection closes before the answer"),
    priority: z.enum(["interactive", "normal", "batch"]).optional().describe("`normal` without it"),
    idempotency_key: idempotencyKey
      .optional()
      .describe(
        "Names this call for good: the same key again runs nothing. In the header Idempotency-Key just as well",
      ),
  })
  .meta({ id: "InvokeRequest", description: "One call of one tool" });

/** @throws SignalboxError `invalid_input` */
export function invokeRequest(body: unknown, message: RequestHead): InvokeRequest {
  const asked = check(invokeBody, body, "body");
  if (asked.stream === true && asked.mode === "async")
    throw faultAt(
      "body",
      "/stream",
      "const",
      'does not go with mode "async"; follow GET /v1/executions/{id}/stream instead',
    );
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

export const invokeHeaders = {
  "Idempotency-Key": idempotencyKey.describe(
    "Names this call for good: the same key again runs nothing and answers with the first call; printable ASCII. Must agree with `idempotency_key`, if both are sent",
  ),
  traceparent: z.string().describe("W3C Trace Context; a malformed one is passed over"),
};

/** Other characters would reach us as Latin-1 and never equal the same key in a body. */
const headerKey = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The key of the header, the body, or both if they are equal. */
export function agreedKey(message: RequestHead, inBody: string | undefined): string | undefined {
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
  project: name.optional().describe("Calls of this project"),
  tool: name.optional().describe("Calls of this tool"),
  status: callState.optional().describe("Calls in this state"),
  principal: name.optional().describe("Calls that this principal made"),
  from: instant.optional().describe("Calls made at this instant or later"),
  to: instant.optional().describe("Calls made before this instant"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export function executionQuery(query: unknown): ExecutionQuery {
  return defined(check(executionsQuery, query, "query"));
}

export const eventsQuery = z.strictObject({
  after_seq: eventSeq.optional().describe("Events behind this number; 0: from the beginning"),
  limit: listLimit,
});

export const resolveBody = z
  .strictObject({
    verdict: z
      .enum(["confirm", "retry", "fail"])
      .describe("`confirm`: it happened; `retry`: it did not, run it again; `fail`: give it up"),
    output: z.unknown().optional().describe("With `confirm`: the result; without it the late result, if one came"),
    comment: z.string().max(limits.errorMessageCharsMax).optional().describe("For the audit"),
  })
  .meta({ id: "ResolveRequest", description: "A person's word on a call whose end nobody knows" });

export const resolveManyBody = z
  .strictObject({
    filter: z
      .strictObject({
        tool: name.optional().describe("Calls of this tool"),
        project: name.optional().describe("Calls of this project"),
        routing_outcome: z.enum(["lease_expired", "indeterminate"]).optional().describe("Calls that were lost in this way"),
        worker: name.optional().describe("Calls that this worker had last"),
        older_than_ms: positive.optional().describe("Calls that were made at least so long ago, in ms"),
      })
      .describe("Which of the calls whose end nobody knows; every part that is given must hold"),
    verdict: z.enum(["confirm", "retry", "fail"]).describe("`confirm` takes each call's own late result; a call without one stays as it is"),
    comment: z.string().max(limits.errorMessageCharsMax).optional().describe("For the audit of each call"),
    dry_run: z.boolean().optional().describe("True: nothing is resolved; how many match is counted, and what is known of them shown"),
    limit: z.int().min(1).max(limits.resolveManyMax).optional().describe(`At most so many; ${limits.resolveManyMax} without it`),
  })
  .meta({ id: "ResolveManyRequest", description: "A person's word on many calls whose end nobody knows" });

export function resolveManyRequest(body: unknown): ResolveManyRequest {
  const { filter, verdict, comment, dry_run: dryRun = false, limit = limits.resolveManyMax } = check(resolveManyBody, body, "body");
  const { tool, project, routing_outcome: routingOutcome, worker, older_than_ms: olderThanMs } = filter;
  return defined({ filter: defined({ tool, project, routingOutcome, worker, olderThanMs }), verdict, comment, dryRun, limit });
}

export const replayBody = z
  .strictObject({
    acknowledge_may_have_executed: z.boolean().optional().describe("True: that the call may have had its effect is known, and it is wanted again"),
    mode: z.enum(["sync", "async"]).optional().describe("As for an invoke"),
    wait_ms: z.int().min(0).max(limits.syncWaitMsMax).optional().describe("As for an invoke"),
    idempotency_key: idempotencyKey.optional().describe("Names the new call for good"),
  })
  .meta({ id: "ReplayRequest", description: "A call that has ended is made once more" });

export function replayRequest(body: unknown, message: RequestHead): ReplayRequest {
  const { acknowledge_may_have_executed: acknowledgeMayHaveExecuted, mode = "sync", wait_ms: waitMs, idempotency_key: key } = check(replayBody, body ?? {}, "body");
  return defined({ acknowledgeMayHaveExecuted, mode, waitMs, idempotencyKey: agreedKey(message, key) });
}

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

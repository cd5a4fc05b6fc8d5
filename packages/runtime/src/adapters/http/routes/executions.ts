// The routes about calls: invoke, read, list, follow, cancel, resolve.
import type { ErrorCode } from "@signalbox/protocol";
import type { RateStanding } from "../../../corridor/limits.ts";
import type { InvokeAnswer, InvokeRequest } from "../../../service.ts";
import { listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { failedCallAnswer, rateLimitHeaders } from "../errors.ts";
import { check } from "../schemas/check.ts";
import { eventPage, execution, executionDetail, executionPage } from "../schemas/answers/executions.ts";
import { eventStream, streamEvents } from "../schemas/answers/stream.ts";
import {
  eventsQuery,
  executionQuery,
  executionsQuery,
  invokeBody,
  invokeHeaders,
  invokeRequest,
  resolveAnswer,
  resolveBody,
  wantsStream,
} from "../schemas/executions.ts";
import { nothing } from "../schemas/fields.ts";
import { detailJson, eventJson, executionPath, recordJson } from "../views/executions.ts";
import { executionIdParam, idIn } from "./execution-id.ts";
import { json, rateHeaders } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";
import { streamAnswer } from "./stream.ts";

async function invoke({ service, asked, body, message }: Ask): Promise<Answer> {
  const request = invokeRequest(body, message);
  if (wantsStream(body)) {
    const { call, replayed, rate } = await service.invoke(asked, { ...request, mode: "async" });
    const follower = await service.follow(asked, call.callId, 0, { answering: true });
    // Whoever loses the connection before the first event comes back by this address.
    const headers = { location: executionPath(call), ...toldBeside({ replayed, rate }) };
    return { ...streamAnswer(follower, call.callId, request.cancelOnDisconnect === true), headers };
  }
  const answer = await service.invoke(asked, request);
  return invokeAnswer(answer, request.mode, asked.requestId);
}

/**
 * Who asked to wait learns how the call ended from the HTTP status. Who did not wait (`async`, and now sees a key
 * replayed whose call has ended) gets the record.
 */
export function invokeAnswer({ call, progress, replayed, rate }: InvokeAnswer, mode: InvokeRequest["mode"], requestId: string): Answer {
  const headers = toldBeside({ replayed, rate });
  const failed = call.state !== "succeeded" && call.state !== "cancelled";
  if (progress === "settled" && mode === "sync" && failed) {
    const answer = failedCallAnswer(call, requestId);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const open = progress !== "settled";
  return {
    status: open ? 202 : 200,
    text: recordJson(call),
    headers: open ? { ...headers, location: executionPath(call) } : headers,
    executionId: call.callId,
  };
}

function toldBeside({ replayed, rate }: { readonly replayed: boolean; readonly rate: RateStanding | undefined }): Readonly<Record<string, string>> {
  return { ...(replayed ? { "idempotency-replayed": "true" } : {}), ...rateLimitHeaders(rate) };
}

async function read({ service, asked, params }: Ask): Promise<Answer> {
  const detail = await service.getExecution(asked, idIn(params));
  return { status: 200, text: detailJson(detail), executionId: detail.call.callId };
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const page = await service.listExecutions(asked, executionQuery(query));
  return listAnswer(page.items.map(recordJson), page.next);
}

async function events({ service, asked, params, query }: Ask): Promise<Answer> {
  const { after_seq: afterSeq = 0, limit } = check(eventsQuery, query, "query");
  const executionId = idIn(params);
  // One more than asked for tells whether anything follows.
  const found = await service.listEvents(asked, executionId, afterSeq, limit + 1);
  const page = found.slice(0, limit);
  const next = found.length > page.length ? (page.at(-1)?.seq ?? null) : null;
  return {
    status: 200,
    text: `{"items":[${page.map(eventJson).join(",")}],"next_after_seq":${JSON.stringify(next)}}`,
    executionId,
  };
}

async function cancel({ service, asked, params, body }: Ask): Promise<Answer> {
  if (body !== undefined) check(nothing, body, "body");
  const { call, stopping } = await service.cancel(asked, idIn(params));
  return { status: stopping ? 202 : 200, text: recordJson(call), executionId: call.callId };
}

async function resolve({ service, asked, params, body }: Ask): Promise<Answer> {
  const id = idIn(params);
  const call = await service.resolve(asked, id, resolveAnswer(body));
  return { status: 200, text: recordJson(call), executionId: call.callId };
}

/** What a call can be refused with, or end with, at the door that made it. */
export const invokeErrors: readonly ErrorCode[] = [
  "policy_error",
  "integrity_violation",
  "tool_not_found",
  "project_not_found",
  "idempotency_conflict",
  "conflict",
  "rate_limited",
  "quota_exceeded",
  "queue_full",
  "draining",
  "sandbox_unavailable",
  "no_handler",
  "capacity_exhausted",
  "breaker_open",
  "approval_denied",
  "approval_expired",
  "timeout",
  "resource_exceeded",
  "tool_error",
  "invalid_output",
  "lease_expired",
  "indeterminate",
  "worker_rejected",
];

const invokeOperation: Operation = {
  id: "invoke",
  tag: "executions",
  summary: "Call a tool",
  description:
    "A sync call answers with its end: 200 for `succeeded` and `cancelled`, else with the error's status and the record's id. " +
    "It answers 202 when it waits for people, outlives `wait_ms`, or was made `async`. With `stream: true` the answer is the call's stream. " +
    "With an idempotency key the same call may be sent again at any time: it runs once.",
  headers: invokeHeaders,
  bodySchema: invokeBody,
  example: { tool: "echo", input: { message: "hello" } },
  answers: {
    200: {
      description: "The call has ended, or is told as a stream",
      content: { "application/json": execution, "text/event-stream": eventStream },
      events: streamEvents,
      headers: ["Idempotency-Replayed", "Location", ...rateHeaders],
    },
    202: json("The call is stored and goes on", execution, "Idempotency-Replayed", "Location", ...rateHeaders),
  },
  errors: invokeErrors,
  tellsFailedCalls: true,
};

const getOperation: Operation = {
  id: "getExecution",
  tag: "executions",
  summary: "Read a call's record",
  params: executionIdParam,
  answers: { 200: json("The record, with attempts and late results", executionDetail) },
  errors: ["execution_not_found"],
};

const listOperation: Operation = {
  id: "listExecutions",
  tag: "executions",
  summary: "List calls, newest first",
  query: executionsQuery,
  answers: { 200: json("One page of calls", executionPage) },
};

const eventsOperation: Operation = {
  id: "listExecutionEvents",
  tag: "executions",
  summary: "List a call's changes, oldest first",
  params: executionIdParam,
  query: eventsQuery,
  answers: { 200: json("One page of events", eventPage) },
  errors: ["execution_not_found"],
};

const cancelOperation: Operation = {
  id: "cancelExecution",
  repeatable: true,
  tag: "executions",
  summary: "Stop a call",
  description:
    "May be sent again at any time; a call that has ended stays as it ended. Of a call whose end nobody knows somebody has to say it first.",
  params: executionIdParam,
  bodySchema: nothing,
  example: {},
  answers: {
    200: json("The call has ended, now or before", execution),
    202: json("Its worker was told to stop it", execution),
  },
  errors: ["execution_not_found", "conflict"],
};

const resolveOperation: Operation = {
  id: "resolveExecution",
  tag: "executions",
  summary: "Say how a call ended whose end nobody knows",
  params: executionIdParam,
  bodySchema: resolveBody,
  example: { verdict: "confirm", output: { payment_id: "pay_17" }, comment: "the bank has it" },
  answers: { 200: json("The call with what became of it", execution) },
  errors: ["execution_not_found", "conflict"],
};

export const executionRoutes: readonly GuardedRoute[] = [
  {
    method: "POST",
    path: "/v1/executions",
    scope: "tools:invoke",
    body: "json",
    handle: invoke,
    operation: invokeOperation,
  },
  {
    method: "GET",
    path: "/v1/executions",
    scope: "calls:read",
    body: "none",
    handle: list,
    operation: listOperation,
  },
  {
    method: "GET",
    path: "/v1/executions/:id",
    scope: "calls:read",
    body: "none",
    handle: read,
    operation: getOperation,
  },
  {
    method: "GET",
    path: "/v1/executions/:id/events",
    scope: "calls:read",
    body: "none",
    handle: events,
    operation: eventsOperation,
  },
  {
    method: "POST",
    path: "/v1/executions/:id/cancel",
    scope: "calls:cancel",
    body: "optional",
    handle: cancel,
    operation: cancelOperation,
  },
  {
    method: "POST",
    path: "/v1/executions/:id/resolve",
    scope: "approvals:decide",
    body: "json",
    handle: resolve,
    operation: resolveOperation,
  },
];

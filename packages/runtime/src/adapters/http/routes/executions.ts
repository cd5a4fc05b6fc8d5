// The routes about calls: invoke, read, list, follow, cancel, resolve.
import type { InvokeAnswer, InvokeRequest } from "../../../service.ts";
import { listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { failedCallAnswer } from "../errors.ts";
import { check } from "../schemas/check.ts";
import { eventsQuery, executionQuery, invokeRequest, resolveAnswer, wantsStream } from "../schemas/executions.ts";
import { nothing } from "../schemas/fields.ts";
import { detailJson, eventJson, executionPath, recordJson } from "../views/executions.ts";
import { idIn } from "./execution-id.ts";
import type { Ask, GuardedRoute } from "./route.ts";
import { streamAnswer } from "./stream.ts";

async function invoke({ service, asked, body, message }: Ask): Promise<Answer> {
  const request = invokeRequest(body, message);
  if (wantsStream(body)) {
    const { call, replayed } = await service.invoke(asked, { ...request, mode: "async" });
    const follower = await service.follow(asked, call.callId, 0, { answering: true });
    // Whoever loses the connection before the first event comes back by this address.
    const headers = { location: executionPath(call), ...(replayed ? { "idempotency-replayed": "true" } : {}) };
    return { ...streamAnswer(follower, call.callId, request.cancelOnDisconnect === true), headers };
  }
  const answer = await service.invoke(asked, request);
  return invokeAnswer(answer, request, asked.requestId);
}

/**
 * Who asked to wait learns how the call ended from the HTTP status. Who did not wait (`async`, and now sees a key
 * replayed whose call has ended) gets the record.
 */
function invokeAnswer({ call, progress, replayed }: InvokeAnswer, request: InvokeRequest, requestId: string): Answer {
  const headers = replayed ? { "idempotency-replayed": "true" } : undefined;
  const failed = call.state !== "succeeded" && call.state !== "cancelled";
  if (progress === "settled" && request.mode === "sync" && failed) {
    const answer = failedCallAnswer(call, requestId);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }
  const open = progress !== "settled";
  return {
    status: open ? 202 : 200,
    text: recordJson(call),
    headers: open ? { ...headers, location: executionPath(call) } : { ...headers },
    executionId: call.callId,
  };
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

export const executionRoutes: readonly GuardedRoute[] = [
  { method: "POST", path: "/v1/executions", scope: "tools:invoke", body: "json", handle: invoke },
  { method: "GET", path: "/v1/executions", scope: "calls:read", body: "none", takesQuery: true, handle: list },
  { method: "GET", path: "/v1/executions/:id", scope: "calls:read", body: "none", handle: read },
  {
    method: "GET",
    path: "/v1/executions/:id/events",
    scope: "calls:read",
    body: "none",
    takesQuery: true,
    handle: events,
  },
  { method: "POST", path: "/v1/executions/:id/cancel", scope: "calls:cancel", body: "optional", handle: cancel },
  { method: "POST", path: "/v1/executions/:id/resolve", scope: "approvals:decide", body: "json", handle: resolve },
];

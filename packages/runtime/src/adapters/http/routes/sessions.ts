// The routes about sessions: start one, talk to it, stop it, follow it, look at what it did.
import { jsonAnswer, listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { nothing } from "../schemas/fields.ts";
import { cancelRequest, sentMessage, sessionEventsQuery, sessionQuery, startRequest } from "../schemas/sessions.ts";
import { isWorking, sessionEventJson, sessionLineView, sessionView, timelineJson } from "../views/sessions.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";
import { sessionIdIn } from "./session-id.ts";
import { followSession } from "./session-stream.ts";
import { sessionOperations as operations } from "./sessions-operations.ts";

const replayedHeader = (replayed: boolean): Readonly<Record<string, string>> => (replayed ? { "idempotency-replayed": "true" } : {});

async function start({ service, asked, body, message }: Ask): Promise<Answer> {
  const view = await service.startSession(asked, startRequest(body, message));
  const { session, replayed } = view;
  const status = replayed ? 200 : isWorking(session) ? 202 : 201;
  return jsonAnswer(status, sessionView(view), { location: `/v1/sessions/${encodeURIComponent(session.sessionId)}`, ...replayedHeader(replayed) });
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const page = await service.listSessions(asked, sessionQuery(query));
  return listAnswer(
    page.items.map((session) => JSON.stringify(sessionLineView(session))),
    page.next,
  );
}

async function read({ service, asked, params }: Ask): Promise<Answer> {
  return jsonAnswer(200, sessionView(await service.getSession(asked, sessionIdIn(params))));
}

async function send({ service, asked, params, body, message }: Ask): Promise<Answer> {
  const view = await service.sendMessage(asked, sessionIdIn(params), sentMessage(body, message));
  return jsonAnswer(isWorking(view.session) ? 202 : 200, { ...sessionView(view), message_seq: view.entry.seq }, replayedHeader(view.replayed));
}

async function cancel({ service, asked, params, body }: Ask): Promise<Answer> {
  const view = await service.cancelSession(asked, sessionIdIn(params), cancelRequest(body));
  const { state, inboxTaken, inboxSeq } = view.session;
  // What waits for people is stopped by whoever takes it up again.
  const open = isWorking(view.session) || (state === "awaiting_approval" && inboxTaken < inboxSeq);
  return jsonAnswer(open ? 202 : 200, sessionView(view));
}

async function complete({ service, asked, params, body }: Ask): Promise<Answer> {
  if (body !== undefined) check(nothing, body, "body");
  const view = await service.completeSession(asked, sessionIdIn(params));
  return jsonAnswer(view.session.state === "completed" ? 200 : 202, sessionView(view));
}

async function events({ service, asked, params, query }: Ask): Promise<Answer> {
  const { after_seq: afterSeq = 0, limit } = check(sessionEventsQuery, query, "query");
  // One more than asked for tells whether anything follows.
  const found = await service.listSessionEvents(asked, sessionIdIn(params), afterSeq, limit + 1);
  const page = found.slice(0, limit);
  const next = found.length > page.length ? (page.at(-1)?.seq ?? null) : null;
  return { status: 200, text: `{"items":[${page.map(sessionEventJson).join(",")}],"next_after_seq":${JSON.stringify(next)}}` };
}

async function timeline({ service, asked, params }: Ask): Promise<Answer> {
  return { status: 200, text: timelineJson(await service.sessionTimeline(asked, sessionIdIn(params))) };
}

const reads = (path: string, operation: Operation, handle: GuardedRoute["handle"]): GuardedRoute => ({
  method: "GET",
  path: `/v1/sessions${path}`,
  scope: "sessions:read",
  body: "none",
  handle,
  operation,
});

const asks = (path: string, body: "json" | "optional", operation: Operation, handle: GuardedRoute["handle"]): GuardedRoute => ({
  method: "POST",
  path: `/v1/sessions${path}`,
  scope: "sessions:run",
  body,
  handle,
  operation,
});

export const sessionRoutes: readonly GuardedRoute[] = [
  asks("", "json", operations.start, start),
  reads("", operations.list, list),
  reads("/:id", operations.get, read),
  asks("/:id/messages", "json", operations.send, send),
  asks("/:id/cancel", "optional", operations.cancel, cancel),
  asks("/:id/complete", "optional", operations.complete, complete),
  reads("/:id/events", operations.events, events),
  reads("/:id/stream", operations.stream, followSession),
  reads("/:id/timeline", operations.timeline, timeline),
];

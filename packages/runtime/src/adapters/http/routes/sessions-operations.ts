// What the routes about sessions say of themselves.
import { sentSession, session, sessionEventPage, sessionPage, sessionStreamEvents, sessionTimeline } from "../schemas/answers/sessions.ts";
import { eventStream } from "../schemas/answers/stream.ts";
import { idInPath, nothing } from "../schemas/fields.ts";
import { cancelBody, messageBody, sessionEventsQuery, sessionHeaders, sessionsQuery, startBody } from "../schemas/sessions.ts";
import { streamHeaders, streamQuery } from "../schemas/stream.ts";
import { json, type Operation } from "./operation.ts";

const params = { id: idInPath.describe("`session_id` of the session") };

export const sessionOperations = {
  start: {
    id: "startSession",
    tag: "sessions",
    summary: "Start a session of an agent",
    description: "It runs by itself from then on: the answer may wait for the turn's end, and need not. With an idempotency key the same may be sent again at any time: it starts one session.",
    headers: sessionHeaders,
    bodySchema: startBody,
    example: { agent: "support", message: "Where is order 1042?", wait_ms: 30_000 },
    answers: {
      200: json("The key named a session that was there", session, "Idempotency-Replayed", "Location"),
      201: json("It was started, and its turn has ended or waits for people", session, "Location"),
      202: json("It was started, and works", session, "Location"),
    },
    errors: ["agent_not_found", "project_not_found", "idempotency_conflict", "conflict", "draining"],
  },
  list: {
    id: "listSessions",
    tag: "sessions",
    summary: "List sessions, newest first",
    query: sessionsQuery,
    answers: { 200: json("One page of sessions", sessionPage) },
  },
  get: {
    id: "getSession",
    tag: "sessions",
    summary: "Read a session",
    params,
    answers: { 200: json("Where it stands, and what it said last", session) },
    errors: ["session_not_found"],
  },
  send: {
    id: "sendMessage",
    tag: "sessions",
    summary: "Send a session a message",
    description: "One that works hears it at its next checkpoint, before the model is asked again. One that has ended takes none.",
    params,
    headers: sessionHeaders,
    bodySchema: messageBody,
    example: { text: "And order 1043?", wait_ms: 30_000 },
    answers: {
      200: json("The session has taken it, and its turn has ended or waits for people", sentSession, "Idempotency-Replayed"),
      202: json("It is stored; the session works", sentSession, "Idempotency-Replayed"),
    },
    errors: ["session_not_found", "idempotency_conflict", "conflict", "queue_full"],
  },
  cancel: {
    id: "cancelSession",
    repeatable: true,
    tag: "sessions",
    summary: "Stop a session, its turn, its batch of calls, or one call",
    description: "Without a body: its turn. A session that has ended stays as it ended.",
    params,
    bodySchema: cancelBody,
    example: { scope: "session", reason: "asked by the customer" },
    answers: {
      200: json("Nothing works any more, or nothing did", session),
      202: json("The cancel is stored; the session will carry it out", session),
    },
    errors: ["session_not_found", "execution_not_found"],
  },
  complete: {
    id: "completeSession",
    repeatable: true,
    tag: "sessions",
    summary: "Say that a session is done",
    description: "One that waits for a message ends at once; one that works ends with its turn. One that failed or was cancelled is not completed.",
    params,
    bodySchema: nothing,
    example: {},
    answers: {
      200: json("It is completed, now or before", session),
      202: json("It works, and will be when its turn has ended", session),
    },
    errors: ["session_not_found", "conflict"],
  },
  events: {
    id: "listSessionEvents",
    tag: "sessions",
    summary: "List what happened in a session, oldest first",
    params,
    query: sessionEventsQuery,
    answers: { 200: json("One page of events", sessionEventPage) },
    errors: ["session_not_found"],
  },
  stream: {
    id: "streamSession",
    tag: "sessions",
    summary: "Follow a session as it goes",
    description:
      "From its beginning, or from behind an event's number. Between the events, which have ids and are never lost, come pieces of answers on their way (`delta`), which have none: " +
      "a reader that is too slow for them gets a `gap` in their place. The last event is `session.ended`. Comments come every 15 s when nothing else does.",
    params,
    headers: streamHeaders,
    query: streamQuery,
    answers: {
      200: { description: "The events, as they come", content: { "text/event-stream": eventStream }, events: sessionStreamEvents },
      204: { description: "The reader has everything, the end included; do not come back" },
    },
    errors: ["session_not_found"],
  },
  timeline: {
    id: "getSessionTimeline",
    tag: "sessions",
    summary: "Read everything that a session and its children did",
    params,
    answers: { 200: json("Messages, calls with their times, approvals, events, children", sessionTimeline) },
    errors: ["session_not_found"],
  },
} as const satisfies Record<string, Operation>;

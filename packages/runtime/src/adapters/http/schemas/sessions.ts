// What requests about sessions may say.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { sessionLimits } from "../../../corridor/sessions/ports.ts";
import type { CancelSession, SentMessage, SessionQuery, StartSession } from "../../../service-sessions.ts";
import { sessionStates } from "../../../session/types.ts";
import { httpLimits } from "../http-limits.ts";
import type { RequestHead } from "../request-head.ts";
import { check, faultAt } from "./check.ts";
import { defined } from "./defined.ts";
import { agreedKey, idempotencyKey } from "./executions.ts";
import { context, cursor, eventSeq, executionId, listLimit, name, positive } from "./fields.ts";

const sessionIdCharsMax = 256;
const printable = /^[\x21-\x7e]+$/;

/** Whether a session can have this id; a path may hold anything. */
export function isSessionId(text: string): boolean {
  return text.length <= sessionIdCharsMax && printable.test(text);
}

export const sessionId = z.string().min(1).max(sessionIdCharsMax);

export const sessionState = z.enum(sessionStates).meta({
  id: "SessionState",
  description: "`completed`, `failed` and `cancelled` are ends; `awaiting_approval` waits for people, `awaiting_input` for a message",
});

const message = z.string().describe(`What a person, or a program in its place, says; at most ${sessionLimits.messageBytesMax} bytes of UTF-8`);

const waitMs = z
  .int()
  .min(0)
  .max(limits.syncWaitMsMax)
  .optional()
  .meta({ description: "How long the answer may wait for the turn's end, in ms; then it is 202", default: 0 });

export const startBody = z
  .strictObject({
    agent: name.describe("The agent's name"),
    version: name.optional().describe("An exact version; else the one that is deployed"),
    project: name.optional().describe("If given, it must be the credential's own, or one that it may use"),
    message: message.optional().describe("The first message; without it the session waits for one"),
    context: context.optional().describe(`What is kept with the session and told to its policies; at most ${sessionLimits.contextBytesMax} bytes of JSON`),
    deadline_ms: positive.max(httpLimits.totalDeadlineMsMax).optional().describe("Of the whole session, in ms; no call of it outlives this"),
    idempotency_key: idempotencyKey.optional().describe("Names this session for good: the same key again starts nothing. In the header Idempotency-Key just as well"),
    wait_ms: waitMs,
  })
  .meta({ id: "StartSessionRequest", description: "A session to start" });

export const sessionHeaders = {
  "Idempotency-Key": idempotencyKey.describe("Names what is asked for good: the same key again changes nothing; printable ASCII. Must agree with `idempotency_key`, if both are sent"),
};

/** @throws SignalboxError `invalid_input` */
export function startRequest(body: unknown, head: RequestHead): StartSession {
  const { deadline_ms: deadlineMs, idempotency_key: key, wait_ms, ...rest } = check(startBody, body, "body");
  return defined({ ...rest, deadlineMs, idempotencyKey: agreedKey(head, key), waitMs: wait_ms });
}

export const sessionsQuery = z.strictObject({
  project: name.optional().describe("Sessions of this project"),
  agent: name.optional().describe("Sessions of this agent"),
  status: sessionState.optional().describe("Sessions in this state"),
  principal: name.optional().describe("Sessions that this principal started"),
  parent: sessionId.optional().describe("Children of this session"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export function sessionQuery(query: unknown): SessionQuery {
  return defined(check(sessionsQuery, query, "query"));
}

export const messageBody = z
  .strictObject({
    text: message,
    idempotency_key: idempotencyKey.optional().describe("Names this message for good, in its session. In the header Idempotency-Key just as well"),
    wait_ms: waitMs,
  })
  .meta({ id: "SendMessageRequest", description: "A message to a session" });

export function sentMessage(body: unknown, head: RequestHead): SentMessage {
  const { text, idempotency_key: key, wait_ms } = check(messageBody, body, "body");
  return defined({ text, idempotencyKey: agreedKey(head, key), waitMs: wait_ms });
}

export const cancelBody = z
  .strictObject({
    scope: z.enum(["session", "turn", "batch", "call"]).optional().meta({ description: "What is stopped: the session for good, its turn, the calls that run together, or one call", default: "turn" }),
    execution_id: executionId.optional().describe("With scope `call`: which one"),
    reason: z.string().max(sessionLimits.reasonCharsMax).optional().describe("For people and the audit"),
  })
  .meta({ id: "CancelSessionRequest", description: "What of a session is to stop" });

export function cancelRequest(body: unknown): CancelSession {
  const { scope = "turn", execution_id: callId, reason } = check(cancelBody, body ?? {}, "body");
  if (scope === "call" && callId === undefined) throw faultAt("body", "/execution_id", "required", 'is required with scope "call"');
  if (scope !== "call" && callId !== undefined) throw faultAt("body", "/execution_id", "const", 'goes with scope "call" only; leave it out');
  return defined({ scope, callId, reason });
}

export const sessionEventsQuery = z.strictObject({
  after_seq: eventSeq.optional().describe("Events behind this number; 0: from the beginning"),
  limit: listLimit,
});

// The route that follows one call: its events as they come, and those that were missed.
import { errorTable, SignalboxError } from "@signalbox/protocol";
import type { CallFollower } from "../../../service.ts";
import { sseAlive, sseBatch, sseHello } from "../../../stream/sse.ts";
import type { Answer } from "../answer.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "../schemas/check.ts";
import { eventStream, streamEvents } from "../schemas/answers/stream.ts";
import { lastEventId, streamHeaders, streamQuery } from "../schemas/stream.ts";
import { recordJson } from "../views/executions.ts";
import { executionIdParam, idIn } from "./execution-id.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

/** @param cancels who goes away before the end wants the call stopped */
export function streamAnswer(follower: CallFollower, executionId: string, cancels: boolean): Answer {
  // A browser comes back for ever to a stream that ends; this is how it is told not to.
  if (follower.over) {
    follower.close();
    return { status: 204, text: "", executionId };
  }
  const stream = { [Symbol.asyncIterator]: () => pages(follower, cancels) };
  return { status: 200, text: "", stream, contentType: "text/event-stream; charset=utf-8", executionId };
}

/**
 * Not a generator: one that was never asked for anything hears nothing of its reader's leaving, and one that waits
 * hears of it only after its wait.
 */
function pages(follower: CallFollower, cancels: boolean): AsyncIterator<string> {
  let greeted = false;
  let finished = false;
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    if (cancels && !finished) follower.abandon();
    follower.close();
  };
  const over = { done: true, value: undefined } as const;
  return {
    async next() {
      if (closed) return over;
      if (finished) {
        close();
        return over;
      }
      if (!greeted) {
        greeted = true;
        return { done: false, value: sseHello };
      }
      try {
        const batch = await follower.next(httpLimits.streamAliveMs);
        finished = batch.end !== null || batch.leaving;
        const text = sseBatch(batch, recordJson);
        return { done: false, value: text === "" ? sseAlive : text };
      } catch (error) {
        // Whether the trouble is ours or the reader's key has ended: it cancels nobody's call.
        finished = true;
        close();
        // Who comes back is told why.
        if (error instanceof SignalboxError && errorTable[error.code].http < 500) return over;
        throw error;
      }
    },
    async return() {
      close();
      return over;
    },
  };
}

async function follow({ service, asked, params, query, message }: Ask): Promise<Answer> {
  const { after_seq: given } = check(streamQuery, query, "query");
  // A browser that comes back sends the number it has beside the query of its first request.
  const afterSeq = lastEventId(message) ?? given ?? 0;
  const executionId = idIn(params);
  return streamAnswer(await service.follow(asked, executionId, afterSeq), executionId, false);
}

const operation: Operation = {
  id: "streamExecution",
  tag: "executions",
  summary: "Follow a call as it goes",
  description:
    "From its beginning, or from behind an event's number. Takes the scope calls:read, or tools:invoke for one's own calls. " +
    "The last event is `done` or `error`. Comments come every 15 s when nothing else does.",
  params: executionIdParam,
  headers: streamHeaders,
  query: streamQuery,
  answers: {
    200: {
      description: "The events, as they come",
      content: { "text/event-stream": eventStream },
      events: streamEvents,
    },
    204: { description: "The reader has everything, the end included; do not come back" },
  },
  errors: ["execution_not_found"],
};

export const streamRoutes: readonly GuardedRoute[] = [
  {
    method: "GET",
    path: "/v1/executions/:id/stream",
    // One's own calls go with the right to make them; the runtime looks whose it is.
    scope: ["calls:read", "tools:invoke"],
    body: "none",
    handle: follow,
    operation,
  },
];

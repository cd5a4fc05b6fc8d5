// The route that follows one call: its events as they come, and those that were missed.
import type { CallFollower } from "../../../service.ts";
import { sseBatch } from "../../../stream/sse.ts";
import type { Answer } from "../answer.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "../schemas/check.ts";
import { eventStream, streamEvents } from "../schemas/answers/stream.ts";
import { lastEventId, streamHeaders, streamQuery } from "../schemas/stream.ts";
import { recordJson } from "../views/executions.ts";
import { executionIdParam, idIn } from "./execution-id.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";
import { eventStreamType, ssePages } from "./sse-pages.ts";

/** @param cancels who goes away before the end wants the call stopped */
export function streamAnswer(follower: CallFollower, executionId: string, cancels: boolean): Answer {
  // A browser comes back for ever to a stream that ends; this is how it is told not to.
  if (follower.over) {
    follower.close();
    return { status: 204, text: "", executionId };
  }
  const stream = ssePages({
    async read() {
      const batch = await follower.next(httpLimits.streamAliveMs);
      return { text: sseBatch(batch, recordJson), finished: batch.end !== null || batch.leaving };
    },
    close(finished) {
      if (cancels && !finished) follower.abandon();
      follower.close();
    },
  });
  return { status: 200, text: "", stream, contentType: eventStreamType, executionId };
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

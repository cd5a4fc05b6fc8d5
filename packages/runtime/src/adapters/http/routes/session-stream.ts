// The route that follows a session: its events by their numbers, and between them the pieces of answers on their way.
import { isEnded } from "../../../session/types.ts";
import type { SessionFollower } from "../../../service-sessions.ts";
import type { Answer } from "../answer.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "../schemas/check.ts";
import { lastEventId, streamQuery } from "../schemas/stream.ts";
import { sseTellings } from "../views/session-stream.ts";
import { sessionIdIn } from "./session-id.ts";
import type { Ask } from "./route.ts";
import { eventStreamType, ssePages } from "./sse-pages.ts";

export async function followSession({ service, asked, params, query, message }: Ask): Promise<Answer> {
  const { after_seq: given } = check(streamQuery, query, "query");
  // A browser that comes back sends the number it has beside the query of its first request.
  const afterSeq = lastEventId(message) ?? given ?? 0;
  const sessionId = sessionIdIn(params);
  const { session } = await service.getSession(asked, sessionId);
  // A browser comes back for ever to a stream that ends; this is how it is told not to.
  if (isEnded(session.state) && afterSeq >= session.eventSeq) return { status: 204, text: "" };
  return { status: 200, text: "", stream: pagesOf(await service.followSession(asked, sessionId, afterSeq)), contentType: eventStreamType };
}

function pagesOf(follower: SessionFollower): AsyncIterable<string> {
  return ssePages({
    async read() {
      const told = await follower.next(httpLimits.streamAliveMs);
      return { text: sseTellings(told, follower.over), finished: follower.over };
    },
    close: () => follower.close(),
  });
}

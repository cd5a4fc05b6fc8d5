// The route that follows one call: its events as they come, and those that were missed.
import type { CallFollower } from "../../../service.ts";
import { sseAlive, sseBatch } from "../../../stream/sse.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { lastEventId, streamQuery } from "../schemas/stream.ts";
import { idIn } from "./execution-id.ts";
import type { Ask, GuardedRoute } from "./route.ts";

/** A connection on which nothing happens is kept from being taken for dead. */
const aliveMs = 15_000;

/** @param cancels who goes away before the end wants the call stopped */
export async function streamOf(
  { service, asked }: Pick<Ask, "service" | "asked">,
  executionId: string,
  afterSeq: number,
  cancels = false,
): Promise<Answer> {
  const follower = await service.follow(asked, executionId, afterSeq);
  const stream = written(follower, asked.signal, cancels);
  return { status: 200, text: "", stream, contentType: "text/event-stream; charset=utf-8", executionId };
}

async function* written(follower: CallFollower, gone: AbortSignal | undefined, cancels: boolean): AsyncGenerator<string> {
  const close = (): void => {
    if (cancels) follower.abandon();
    follower.close();
  };
  gone?.addEventListener("abort", close, { once: true });
  try {
    while (gone?.aborted !== true) {
      const batch = await follower.next(aliveMs);
      const text = sseBatch(batch);
      yield text === "" && !batch.ended ? sseAlive : text;
      if (batch.ended) return;
    }
  } finally {
    gone?.removeEventListener("abort", close);
    follower.close();
  }
}

async function follow(ask: Ask): Promise<Answer> {
  const { after_seq: asked } = check(streamQuery, ask.query, "query");
  return streamOf(ask, idIn(ask.params), asked ?? lastEventId(ask.message) ?? 0);
}

export const streamRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/executions/:id/stream", scope: "calls:read", body: "none", takesQuery: true, handle: follow },
];

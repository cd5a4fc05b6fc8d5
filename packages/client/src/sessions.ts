// The client's part for sessions: start one, talk to it, stop it, follow it, look at what it did.
import { segment, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import { lister, pagedBySeq } from "./paged.ts";
import type { Lister } from "./paged.ts";
import type { FollowSession } from "./session-stream.ts";
import type {
  CancelOptions,
  SendOptions,
  SentSession,
  Session,
  SessionEvent,
  SessionEventPage,
  SessionLine,
  SessionQuery,
  SessionTimeline,
  StartSession,
} from "./session-types.ts";
import type { EventQuery, Page } from "./types.ts";

export interface SessionsClient {
  start(session: StartSession, options?: AskOptions): Promise<Session>;
  get(sessionId: string, options?: AskOptions): Promise<Session>;
  /** Newest first. */
  readonly list: Lister<SessionLine, SessionQuery>;
  /** One that works hears it before its model is asked again. */
  send(sessionId: string, text: string, how?: SendOptions, options?: AskOptions): Promise<SentSession>;
  /** Stops its turn, unless `how` says otherwise. */
  cancel(sessionId: string, how?: CancelOptions, options?: AskOptions): Promise<Session>;
  /** Ends one that waits for a message; one that works ends with its turn. */
  complete(sessionId: string, options?: AskOptions): Promise<Session>;
  /** Awaited: one page; in a `for await`: every event from there on that there is. */
  events(sessionId: string, query?: EventQuery, options?: AskOptions): Promise<SessionEventPage> & AsyncIterable<SessionEvent>;
  /** Events as they come, up to `session.ended`, and pieces of answers between them; comes back by itself. */
  readonly follow: FollowSession;
  timeline(sessionId: string, options?: AskOptions): Promise<SessionTimeline>;
}

export function sessions(ask: Ask, follow: FollowSession): SessionsClient {
  const { get, post } = verbsOf(ask);
  const place = (sessionId: string, verb = ""): string => `/v1/sessions/${segment(sessionId)}${verb}`;
  const sent = async (path: string, body: SendOptions & (StartSession | { readonly text: string }), how: AskOptions | undefined): Promise<unknown> => {
    const { idempotency_key: idempotencyKey, wait_ms: waitMs = 0 } = body;
    const request = { method: "POST", path, bodyText: ask.stringify(body), repeatable: idempotencyKey !== undefined, idempotencyKey, waitMs } as const;
    return (await ask(request, how)).body;
  };
  return {
    start: async (session, how) => (await sent("/v1/sessions", session, how)) as Session,
    get: async (sessionId, how) => (await get(place(sessionId), undefined, how)) as Session,
    list: lister(async (query, how) => (await get("/v1/sessions", { ...query }, how)) as Page<SessionLine>),
    send: async (sessionId, text, more, how) => (await sent(place(sessionId, "/messages"), { ...more, text }, how)) as SentSession,
    cancel: async (sessionId, more = {}, how) => (await post(place(sessionId, "/cancel"), more, true, how)) as Session,
    complete: async (sessionId, how) => (await post(place(sessionId, "/complete"), {}, true, how)) as Session,
    events: (sessionId, query = {}, options) =>
      pagedBySeq(async (asked, how) => (await get(place(sessionId, "/events"), { ...asked }, how)) as SessionEventPage, query, options),
    follow,
    timeline: async (sessionId, how) => (await get(place(sessionId, "/timeline"), undefined, how)) as SessionTimeline,
  };
}

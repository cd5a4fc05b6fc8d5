// Follows a session: its events as they come, coming back behind the last one when the connection breaks, and the pieces between them.
import { segment } from "./ask.ts";
import { Patience, retrySettings } from "./retry.ts";
import type { Failure } from "./retry.ts";
import type { FollowSessionOptions, SessionDelta, SessionEvent, SessionTold } from "./session-types.ts";
import { brokenOff, listen, once, streamLimits } from "./stream-connection.ts";
import type { SseMessage } from "./stream-lines.ts";
import type { Request, TransportPorts, TransportSettings } from "./transport.ts";

interface Place {
  readonly sessionId: string;
  /** Of the last event that the reader has. */
  seq: number;
  readonly signal: AbortSignal | undefined;
}

export type FollowSession = (sessionId: string, options?: FollowSessionOptions) => AsyncIterable<SessionTold>;

export function sessionFollower(ports: TransportPorts, settings: TransportSettings): FollowSession {
  return (sessionId, { afterSeq = 0, signal, retry } = {}) =>
    once(() => tellings(ports, settings, { sessionId, seq: afterSeq, signal }, new Patience(retrySettings({ ...settings.retry, attemptsMax: streamLimits.fruitlessTriesMax }, retry))));
}

async function* tellings(ports: TransportPorts, settings: TransportSettings, place: Place, patience: Patience): AsyncGenerator<SessionTold> {
  for (;;) {
    const before = place.seq;
    const failed = yield* connection(ports, settings, place);
    if (failed === "over") return;
    if (place.seq > before) patience.renew();
    const waitMs = patience.waitMs(failed, ports.monotonicMs(), ports.random());
    if (waitMs === undefined) throw failed.error;
    await ports.sleep(waitMs, place.signal);
  }
}

/** One connection, to its end or to the session's. */
async function* connection(ports: TransportPorts, settings: TransportSettings, place: Place): AsyncGenerator<SessionTold, "over" | Failure> {
  const heard = listen(ports, settings, requestOf(place));
  try {
    for (;;) {
      const { done, value } = await heard.next();
      if (done === true) return value === "ended" ? brokenOff(settings, "the stream ended before the session did", undefined) : value;
      const told = read(ports, value);
      if (told.kind === "event") {
        // A runtime that says something twice is not listened to twice.
        if (told.event.seq <= place.seq) continue;
        place.seq = told.event.seq;
      }
      yield told;
      if (told.kind === "event" && told.event.type === "session.ended") return "over";
    }
  } finally {
    await heard.return("ended");
  }
}

function requestOf({ sessionId, seq, signal }: Place): Request {
  const headers = seq === 0 ? {} : { "last-event-id": String(seq) };
  return { method: "GET", path: `/v1/sessions/${segment(sessionId)}/stream`, headers, repeatable: true, ...(signal === undefined ? {} : { signal }) };
}

function read(ports: TransportPorts, { event, data }: SseMessage): SessionTold {
  const fields = ports.parse(data);
  if (event === "delta") return { kind: "delta", delta: fields as SessionDelta };
  if (event === "gap") return { kind: "gap", dropped: (fields as { readonly dropped: number }).dropped };
  return { kind: "event", event: { ...(fields as SessionEvent), type: event } };
}

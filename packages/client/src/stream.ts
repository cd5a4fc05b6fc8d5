// Follows calls: reads their events as they come, and comes back for the rest when the connection breaks.
import { segment, spliced } from "./ask.ts";
import type { AskOptions } from "./ask.ts";
import type { UntypedRequest } from "./call-types.ts";
import { apiError } from "./errors.ts";
import { memberText } from "./json-text.ts";
import { Losses } from "./lost.ts";
import { SseReader } from "./stream-lines.ts";
import type { SseMessage } from "./stream-lines.ts";
import { Patience, retryAfterMs, retrySettings } from "./retry.ts";
import type { Failure, RetryOptions } from "./retry.ts";
import type { CallStreamEvent, FollowOptions } from "./stream-types.ts";
import { fetchOnce, inSeconds, parseOr, readText, reasonOf, unreachable } from "./transport.ts";
import type { Request, TransportPorts, TransportSettings } from "./transport.ts";

export const streamLimits = {
  /** Tries in a row that bring no event; a runtime that starts again takes its time. */
  fruitlessTriesMax: 10,
  /** The runtime says something at least every 15 s; a connection that is silent for longer is dead. */
  silentMsMax: 45_000,
} as const;

/** Where a reader stands. */
interface Place {
  executionId: string;
  /** Of the last event that it has. */
  seq: number;
  readonly signal: AbortSignal | undefined;
  readonly retry: RetryOptions | undefined;
}

interface Opened {
  readonly response: Response;
  readonly closing: AbortController;
  readonly alive: { heard: boolean };
}

export interface CallStreams {
  follow<Output>(executionId: string, options?: FollowOptions): AsyncIterable<CallStreamEvent<Output>>;
  /** @param request without an idempotency key it is sent once */
  start<Output>(
    request: Omit<UntypedRequest, "mode" | "wait_ms">,
    options?: AskOptions,
  ): AsyncIterable<CallStreamEvent<Output>>;
}

export function callStreams(ports: TransportPorts, settings: TransportSettings): CallStreams {
  return {
    follow<Output>(executionId: string, { afterSeq = 0, signal, retry }: FollowOptions = {}) {
      const place: Place = { executionId, seq: afterSeq, signal, retry };
      return once(() => events<Output>(ports, settings, place, undefined));
    },
    start<Output>(
      { inputText, ...request }: Omit<UntypedRequest, "mode" | "wait_ms">,
      { signal, retry }: AskOptions = {},
    ) {
      const place: Place = { executionId: "", seq: 0, signal, retry };
      const first: Request = {
        method: "POST",
        path: "/v1/executions",
        bodyText: spliced(ports, { ...request, stream: true }, "input", inputText),
        repeatable: request.idempotency_key !== undefined,
        idempotencyKey: request.idempotency_key,
      };
      return once(() => events<Output>(ports, settings, place, first));
    },
  };
}

/** A second loop over the same stream would start a tool a second time. */
function once<T>(start: () => AsyncGenerator<T>): AsyncIterable<T> {
  let begun = false;
  return {
    [Symbol.asyncIterator]() {
      if (begun) throw new TypeError("a stream is read once: ask for another one");
      begun = true;
      return start();
    },
  };
}

async function* events<Output>(
  ports: TransportPorts,
  settings: TransportSettings,
  place: Place,
  first: Request | undefined,
): AsyncGenerator<CallStreamEvent<Output>> {
  const following = { ...settings.retry, attemptsMax: streamLimits.fruitlessTriesMax };
  let request = first;
  const losses = new Losses({ repeatable: first?.repeatable ?? true, idempotencyKey: first?.idempotencyKey });
  let patience = new Patience(retrySettings(request === undefined ? following : settings.retry, place.retry));
  for (;;) {
    const before = place.seq;
    const failed = yield* connection<Output>(ports, settings, place, request ?? followRequest(place));
    if (failed === "over") return;
    if (place.seq > before) patience.renew();
    // Once its answer has come, the call exists, and is followed by its own address.
    if (request !== undefined && place.executionId !== "") {
      request = undefined;
      patience = new Patience(retrySettings(following, place.retry));
    }
    // A refusal that names a record is that call's own end.
    const final = request !== undefined && (!request.repeatable || failed.error.executionId !== undefined);
    const waitMs = final ? undefined : patience.waitMs(failed, ports.monotonicMs(), ports.random());
    losses.note(failed.error);
    if (waitMs === undefined) throw losses.told(failed.error, place.executionId || failed.error.executionId);
    await ports.sleep(waitMs, place.signal);
  }
}

function followRequest({ executionId, seq }: Place): Request {
  const path = `/v1/executions/${segment(executionId)}/stream`;
  return { method: "GET", path, headers: seq === 0 ? {} : { "last-event-id": String(seq) }, repeatable: true };
}

/** One connection, to its end or to the stream's. */
async function* connection<Output>(
  ports: TransportPorts,
  settings: TransportSettings,
  place: Place,
  request: Request,
): AsyncGenerator<CallStreamEvent<Output>, "over" | Failure> {
  const opened = await open(ports, settings, place, request);
  if ("error" in opened) return opened;
  const { response, closing } = opened;
  // Ends with a rejection when the connection is closed.
  watch(ports, opened).catch(() => undefined);
  try {
    place.executionId = idOf(response) ?? place.executionId;
    if (response.status === 204) return "over";
    const lines = new SseReader();
    for await (const text of pieces(opened)) {
      for (const message of lines.push(text)) {
        const event = read<Output>(ports, message);
        if (event === undefined) continue;
        const seq = event.type === "gap" ? event.to : event.seq;
        // A runtime that says something twice is not listened to twice.
        if (seq <= place.seq) continue;
        place.seq = seq;
        yield event;
        if (event.type === "done" || event.type === "error") return "over";
      }
    }
    return brokenOff(settings, "the stream ended before the call did", undefined);
  } catch (cause) {
    place.signal?.throwIfAborted();
    if (cause instanceof RangeError) throw cause;
    return brokenOff(settings, reasonOf(cause), cause);
  } finally {
    closing.abort();
  }
}

function brokenOff(settings: TransportSettings, why: string, cause: unknown): Failure {
  return { error: unreachable(settings, why, cause) };
}

async function open(
  ports: TransportPorts,
  settings: TransportSettings,
  { signal }: Place,
  request: Request,
): Promise<Opened | Failure> {
  signal?.throwIfAborted();
  const closing = new AbortController();
  const close = (): void => closing.abort();
  const timeout = ports.timeoutSignal(settings.requestTimeoutMs);
  timeout.addEventListener("abort", close, { once: true });
  try {
    const all = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    const accept = { accept: "text/event-stream, application/json", ...request.headers };
    const response = await fetchOnce(ports, settings, { ...request, headers: accept }, all);
    if (response.ok) return { response, closing, alive: { heard: true } };
    const text = await readText(response);
    const error = apiError(
      response.status,
      parseOr(ports, text),
      text,
      response.headers.get("x-request-id") ?? undefined,
    );
    return { error, retryAfterMs: retryAfterMs(response.headers, ports.wallMs()) };
  } catch (cause) {
    signal?.throwIfAborted();
    return brokenOff(
      settings,
      timeout.aborted ? `no answer within ${inSeconds(settings.requestTimeoutMs)}` : reasonOf(cause),
      cause,
    );
  } finally {
    // What follows is a stream, which takes as long as the call.
    timeout.removeEventListener("abort", close);
  }
}

/** The address of the call that an invoke was answered with. */
function idOf(response: Response): string | undefined {
  const location = response.headers.get("location");
  return location === null ? undefined : decodeURIComponent(location.slice(location.lastIndexOf("/") + 1));
}

/** The text of an answer as it comes; each piece is a sign of life. */
async function* pieces({ response, alive }: Opened): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      alive.heard = true;
      yield decoder.decode(piece.value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Closes a connection on which nothing comes any more: a peer that vanished sends no end. */
async function watch(ports: TransportPorts, { alive, closing }: Opened): Promise<void> {
  const { silentMsMax } = streamLimits;
  while (alive.heard) {
    alive.heard = false;
    await ports.sleep(silentMsMax, closing.signal);
  }
  closing.abort(new Error(`nothing came for ${inSeconds(silentMsMax)}`));
}

const known: ReadonlySet<string> = new Set<CallStreamEvent["type"]>([
  "start",
  "stdout",
  "stderr",
  "progress",
  "partial",
  "log",
  "emit",
  "approval",
  "gap",
  "done",
  "error",
]);

/** Undefined for what a newer runtime may say and this client does not know. */
function read<Output>(ports: TransportPorts, { event, data }: SseMessage): CallStreamEvent<Output> | undefined {
  if (!known.has(event)) return undefined;
  const fields = ports.parse(data) as Record<string, unknown>;
  if (event !== "done" && event !== "error") return { type: event, ...fields } as CallStreamEvent<Output>;
  const record = fields["data"] as object;
  const outputText = memberText(memberText(data, "data") ?? "", "output") ?? null;
  return { type: event, ...fields, data: { ...record, outputText } } as CallStreamEvent<Output>;
}

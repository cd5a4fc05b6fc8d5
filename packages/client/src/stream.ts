// Follows calls: reads their events as they come, and comes back for the rest when the connection breaks.
import { segment, spliced } from "./ask.ts";
import type { AskOptions } from "./ask.ts";
import { apiError, SignalboxApiError } from "./errors.ts";
import { memberText } from "./json-text.ts";
import { SseReader } from "./stream-lines.ts";
import type { SseMessage } from "./stream-lines.ts";
import type { CallStreamEvent, CallStreams, FollowOptions } from "./stream-types.ts";
import {
  backoffMs,
  clientLimits,
  fetchOnce,
  parseOr,
  readText,
  reasonOf,
  retryAfterMs,
  unreachable,
} from "./transport.ts";
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
  signal: AbortSignal | undefined;
}

interface Opened {
  readonly response: Response;
  readonly closing: AbortController;
  readonly alive: { heard: boolean };
}

export function callStreams(ports: TransportPorts, settings: TransportSettings): CallStreams {
  return {
    follow<Output>(executionId: string, { afterSeq = 0, signal }: FollowOptions = {}) {
      const place: Place = { executionId, seq: afterSeq, signal };
      return once(() => events<Output>(ports, settings, place, undefined));
    },
    stream<Output>({ inputText, ...request }: Parameters<CallStreams["stream"]>[0], options: AskOptions = {}) {
      const place: Place = { executionId: "", seq: 0, signal: options.signal };
      const first: Request = {
        method: "POST",
        path: "/v1/executions",
        bodyText: spliced({ ...request, stream: true }, "input", inputText),
        repeatable: request.idempotency_key !== undefined,
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
  let request = first;
  for (let fruitless = 0; ;) {
    const before = place.seq;
    const failed = yield* connection<Output>(ports, settings, place, request ?? followRequest(place));
    if (failed === "over") return;
    // Once its answer has come, the call exists, and is followed by its own address.
    if (place.executionId !== "") request = undefined;
    fruitless = place.seq > before ? 0 : fruitless + 1;
    const final = request !== undefined && !request.repeatable;
    if (!failed.error.retryable || final || fruitless >= streamLimits.fruitlessTriesMax) throw failed.error;
    await ports.sleep(Math.max(failed.afterMs, backoffMs(Math.max(1, fruitless), ports.random())), place.signal);
  }
}

function followRequest({ executionId, seq }: Place): Request {
  const path = `/v1/executions/${segment(executionId)}/stream`;
  return { method: "GET", path, headers: seq === 0 ? {} : { "last-event-id": String(seq) }, repeatable: true };
}

interface Failed {
  readonly error: SignalboxApiError;
  readonly afterMs: number;
}

/** One connection, to its end or to the stream's. */
async function* connection<Output>(
  ports: TransportPorts,
  settings: TransportSettings,
  place: Place,
  request: Request,
): AsyncGenerator<CallStreamEvent<Output>, "over" | Failed> {
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

function brokenOff(settings: TransportSettings, why: string, cause: unknown): Failed {
  return { error: unreachable(settings, why, cause), afterMs: 0 };
}

async function open(
  ports: TransportPorts,
  settings: TransportSettings,
  { signal }: Place,
  request: Request,
): Promise<Opened | Failed> {
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
    const asked = retryAfterMs(response) ?? 0;
    // A wait beyond this is the caller's to decide about.
    if (asked > clientLimits.retryAfterMsMax) throw error;
    return { error, afterMs: asked };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof SignalboxApiError) throw cause;
    return brokenOff(
      settings,
      timeout.aborted ? `no answer within ${settings.requestTimeoutMs} ms` : reasonOf(cause),
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
  closing.abort(new Error(`nothing came for ${silentMsMax} ms`));
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

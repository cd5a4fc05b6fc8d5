// One connection to a stream of events: opened, read message by message, watched for silence, and closed.
import { apiError } from "./errors.ts";
import { retryAfterMs } from "./retry.ts";
import type { Failure } from "./retry.ts";
import { SseReader } from "./stream-lines.ts";
import type { SseMessage } from "./stream-lines.ts";
import { fetchOnce, inSeconds, parseOr, readText, reasonOf, unreachable } from "./transport.ts";
import type { Request, TransportPorts, TransportSettings } from "./transport.ts";

export const streamLimits = {
  /** Tries in a row that bring no event; a runtime that starts again takes its time. */
  fruitlessTriesMax: 10,
  /** The runtime says something at least every 15 s; a connection that is silent for longer is dead. */
  silentMsMax: 45_000,
} as const;

interface Opened {
  readonly response: Response;
  readonly closing: AbortController;
  readonly alive: { heard: boolean };
}

/** A second loop over the same stream would start what it tells of a second time. */
export function once<T>(start: () => AsyncGenerator<T>): AsyncIterable<T> {
  let begun = false;
  return {
    [Symbol.asyncIterator]() {
      if (begun) throw new TypeError("a stream is read once: ask for another one");
      begun = true;
      return start();
    },
  };
}

/**
 * Its messages, as they come. Gives back `over` where the runtime says that nothing more is to come, `ended` where the
 * connection has ended by itself, else why it could not be opened or broke off.
 * @throws the signal's reason, once it aborts · RangeError for a message beyond all bounds
 */
export async function* listen(
  ports: TransportPorts,
  settings: TransportSettings,
  request: Request,
  onResponse: (response: Response) => void = () => undefined,
): AsyncGenerator<SseMessage, "over" | "ended" | Failure> {
  const opened = await open(ports, settings, request);
  if ("error" in opened) return opened;
  const { response, closing } = opened;
  // Ends with a rejection when the connection is closed.
  watch(ports, opened).catch(() => undefined);
  try {
    onResponse(response);
    if (response.status === 204) return "over";
    const lines = new SseReader();
    for await (const text of pieces(opened)) yield* lines.push(text);
    return "ended";
  } catch (cause) {
    request.signal?.throwIfAborted();
    if (cause instanceof RangeError) throw cause;
    return brokenOff(settings, reasonOf(cause), cause);
  } finally {
    closing.abort();
  }
}

export function brokenOff(settings: TransportSettings, why: string, cause: unknown): Failure {
  return { error: unreachable(settings, why, cause) };
}

async function open(
  ports: TransportPorts,
  settings: TransportSettings,
  request: Request,
): Promise<Opened | Failure> {
  const { signal } = request;
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

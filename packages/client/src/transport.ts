// Sends one request and reads one answer; repeats it only where a repeat cannot do anything twice.
import { apiError, SignalboxApiError } from "./errors.ts";
import { detailsOf, isUntrusted, Losses } from "./lost.ts";
import { Patience, retryAfterMs, retrySettings } from "./retry.ts";
import type { RetryOptions, RetrySettings } from "./retry.ts";

/** What the transport needs of the world. */
export interface TransportPorts {
  readonly fetch: typeof globalThis.fetch;
  /** Rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly timeoutSignal: (ms: number) => AbortSignal;
  /** Of a clock that only goes forward, ms since whenever. */
  readonly monotonicMs: () => number;
  /** Ms since 1970. */
  readonly wallMs: () => number;
  /** Fresh text that nobody can guess: an idempotency key. */
  readonly newKey: () => string;
  /** Turns an answer's text into data. */
  readonly parse: (json: string) => unknown;
  /** Turns data into JSON text. */
  readonly stringify: (value: unknown) => string;
}

export interface TransportSettings {
  readonly url: string;
  readonly key: string | undefined;
  readonly retry: RetrySettings;
  readonly requestTimeoutMs: number;
}

export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly bodyText?: string;
  /** In place of `bodyText`, for what is no text. */
  readonly bodyBytes?: Uint8Array<ArrayBuffer>;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** True where a repeat of this request has no second effect. */
  readonly repeatable: boolean;
  /** What makes an invoke repeatable; errors carry it. */
  readonly idempotencyKey?: string | undefined;
  /** An answer about a stored call is that call's own end: the same idempotency key would only replay it. */
  readonly recordIsFinal?: boolean;
  /** On top of the request time-out: how long the runtime was asked to wait before it answers. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** In place of the client's own, field by field. */
  readonly retry?: RetryOptions;
}

export interface Answer {
  readonly httpStatus: number;
  readonly text: string;
  readonly body: unknown;
}

export const clientLimits = {
  requestTimeoutMs: 60_000,
  /** Guards the caller's memory against something that answers without end. */
  answerBytesMax: 64 * 1024 * 1024,
} as const;

function requestUrl(base: string, request: Request): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return base.replace(/\/+$/, "") + request.path + (text === "" ? "" : `?${text}`);
}

export async function readText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > clientLimits.answerBytesMax) {
      await reader.cancel();
      throw new RangeError(`the answer is larger than ${clientLimits.answerBytesMax} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

async function sendOnce(
  ports: TransportPorts,
  settings: TransportSettings,
  request: Request,
): Promise<{ response: Response; text: string }> {
  const limitMs = settings.requestTimeoutMs + (request.waitMs ?? 0);
  const timeout = ports.timeoutSignal(limitMs);
  const signal = request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]);
  try {
    const response = await fetchOnce(ports, settings, request, signal);
    return { response, text: await readText(response) };
  } catch (cause) {
    request.signal?.throwIfAborted();
    throw unreachable(settings, timeout.aborted ? `no answer within ${inSeconds(limitMs)}` : reasonOf(cause), cause);
  }
}

export const inSeconds = (ms: number): string => `${ms / 1_000} s`;

/** One request, up to the head of its answer. */
export function fetchOnce(
  ports: TransportPorts,
  settings: TransportSettings,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { accept: "application/json", ...request.headers };
  if (settings.key !== undefined) headers["authorization"] = `Bearer ${settings.key}`;
  const body = request.bodyText ?? request.bodyBytes;
  if (body !== undefined) headers["content-type"] = request.contentType ?? "application/json";
  return ports.fetch(requestUrl(settings.url, request), {
    method: request.method,
    headers,
    signal,
    // A redirect would carry the key to wherever it points.
    redirect: "error",
    ...(body === undefined ? {} : { body }),
  });
}

export function unreachable({ url }: TransportSettings, why: string, cause: unknown): SignalboxApiError {
  return new SignalboxApiError({
    code: "unreachable",
    message: `no answer from ${url}: ${why}`,
    httpStatus: 0,
    retryable: !isUntrusted(cause),
    details: detailsOf(cause),
    cause,
  });
}

/** fetch says "fetch failed" and hides the reason in a cause. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause;
  if (inner instanceof Error && inner.message !== "") return inner.message;
  const code = typeof inner === "object" && inner !== null && "code" in inner ? String(inner.code) : "";
  return code === "" ? cause.message : code;
}

export function parseOr(ports: TransportPorts, text: string): unknown {
  try {
    return ports.parse(text);
  } catch {
    return undefined;
  }
}

interface Attempted {
  readonly answer?: Answer;
  readonly error?: SignalboxApiError;
  readonly retryAfterMs?: number | undefined;
}

async function attempt(ports: TransportPorts, settings: TransportSettings, request: Request): Promise<Attempted> {
  let got: { response: Response; text: string };
  try {
    got = await sendOnce(ports, settings, request);
  } catch (error) {
    if (error instanceof SignalboxApiError) return { error };
    throw error;
  }
  const { response, text } = got;
  const body = text === "" ? undefined : parseOr(ports, text);
  const readable = response.ok && (text === "" || body !== undefined);
  if (readable) return { answer: { httpStatus: response.status, text, body } };
  return {
    error: apiError(response.status, body, text, response.headers.get("x-request-id") ?? undefined),
    retryAfterMs: retryAfterMs(response.headers, ports.wallMs()),
  };
}

/**
 * @throws SignalboxApiError when the answer is an error, or none came
 * @throws the signal's reason when the caller aborted
 */
export async function send(ports: TransportPorts, settings: TransportSettings, request: Request): Promise<Answer> {
  const patience = new Patience(retrySettings(settings.retry, request.retry));
  const losses = new Losses({ repeatable: request.repeatable, idempotencyKey: request.idempotencyKey });
  for (;;) {
    request.signal?.throwIfAborted();
    const { answer, error, retryAfterMs: asked } = await attempt(ports, settings, request);
    if (answer !== undefined) return answer;
    if (error === undefined) throw new Error("an attempt ends with an answer or an error");
    const final = request.recordIsFinal === true && error.executionId !== undefined;
    losses.note(error);
    if (!request.repeatable || final) throw losses.told(error);
    const waitMs = patience.waitMs({ error, retryAfterMs: asked }, ports.monotonicMs(), ports.random());
    if (waitMs === undefined) throw losses.told(error);
    await ports.sleep(waitMs, request.signal);
  }
}

// Makes a failure of a provider or of the way to it into words of our own: no prompt, no key, nothing of a body but identifiers.
import { member, recordOf, textIn } from "./loose.ts";
import { modelBounds } from "./bounds.ts";

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

/** What a library's error says, looked at without its classes. */
export interface Facts {
  readonly status: number | undefined;
  /** The provider's error object. */
  readonly body: unknown;
  readonly headers: Headers | undefined;
}

const identifier = /^[\w.[\]-]{1,120}$/;
const tooLong = /too (?:long|large|many (?:input )?tokens)|context[ _-]?(?:length|window|size|limit)|maximum context|exceeds? .{0,40}(?:context|token)|n_ctx/i;
/** `messages.3.content.0: must not be empty` begins with a place, and only that is ours to repeat. */
const leadingPlace = /^([a-z_]+(?:\.[\w-]{1,64}){1,8}):/;

/** @param name the provider, as it is configured */
export function failureOf(name: string, facts: Facts, now: number): Failure {
  const { status, body, headers } = facts;
  const inner = recordOf(member(body, "error")) ?? recordOf(body);
  const words = textIn(inner, "message") ?? "";
  const kinds = [textIn(inner, "type"), textIn(inner, "code")].filter((kind): kind is string => kind !== undefined && identifier.test(kind));
  const told = codeOf(status, kinds.join(" "), words);
  // An error in a stream that had begun well, of a kind that nobody knows, is one more way to be cut off.
  const code = status === undefined && told === "refused_request" && !kinds.some((kind) => kind.startsWith("invalid")) ? "cut_off" : told;
  const place = [textIn(inner, "param"), leadingPlace.exec(words)?.[1]].find((one) => one !== undefined && identifier.test(one));
  const request = headers?.get("request-id") ?? headers?.get("x-request-id") ?? "";
  const details = [
    status === undefined ? "in its stream" : `status ${status}`,
    ...kinds,
    ...(place === undefined ? [] : [`at ${place}`]),
    ...(identifier.test(request) ? [`request ${request}`] : []),
  ];
  return { code, message: `${name} ${advice[code] ?? advice["refused_request"]} (${details.join(", ")})`, retryAfterMs: headers === undefined ? null : retryAfterMs(headers, now) };
}

const advice: Readonly<Record<string, string>> = {
  unauthorized: "refused the key: check the one that is configured for it, and what it may use",
  rate_limited: "limits how much may be asked: ask again later",
  overloaded: "cannot answer now: ask again later",
  timeout: "took too long: ask again later",
  cut_off: "broke off its answer: ask again",
  context_too_long: "takes no conversation as long as this one: begin a new session, or choose a model with a larger context",
  refused_request: "refused the request: check the model's name and the tools' schemas",
};

function codeOf(status: number | undefined, kinds: string, words: string): string {
  if (/context_length_exceeded|request_too_large|context_window/.test(kinds) || status === 413) return "context_too_long";
  if (status === 401 || status === 402 || status === 403 || /authentication|permission|billing|invalid_api_key/.test(kinds)) return "unauthorized";
  if (status === 429 || /rate_limit|insufficient_quota/.test(kinds)) return "rate_limited";
  if (status === 408 || status === 504 || /timeout/.test(kinds)) return "timeout";
  if ((status !== undefined && status >= 500) || /overloaded|api_error|server_error|unavailable/.test(kinds)) return "overloaded";
  return tooLong.test(words) ? "context_too_long" : "refused_request";
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; null = not told, or nonsense. */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const ms = Number(headers.get("retry-after-ms") ?? "x");
  if (Number.isFinite(ms) && ms >= 0) return bounded(ms);
  const text = headers.get("retry-after");
  if (text === null || text.trim() === "") return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return seconds < 0 ? null : bounded(seconds * 1_000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : bounded(Math.max(0, at - now));
}

const bounded = (ms: number): number => Math.min(Math.ceil(ms), modelBounds.retryAfterMsMax);

/** Facts of an error that one of the libraries threw; undefined = it is none of a provider's, but of the way to it. */
export function factsOf(error: unknown): Facts | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { status, error: body, headers } = error as { readonly status?: unknown; readonly error?: unknown; readonly headers?: unknown };
  const known = typeof status === "number" ? status : undefined;
  if (known === undefined && body === undefined) return undefined;
  return { status: known, body, headers: headers instanceof Headers ? headers : undefined };
}

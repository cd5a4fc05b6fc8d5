// Turns an error, or the failed end of a call, into the one shape in which this door tells it.
import { errorBody, errorTable, isErrorCode, limits, SignalboxError, wellFormed } from "@signalbox/protocol";
import type { ErrorBody, ErrorCode } from "@signalbox/protocol";
import type { Call } from "../../call/types.ts";
import { executionBlock } from "../../call/view.ts";
import type { RateStanding } from "../../corridor/limits.ts";
import type { Answer } from "./answer.ts";

/** Said in the door's own words whatever the runtime says, so that a foreign id and an unknown one cannot be told apart. */
const sameForAll: Partial<Record<ErrorCode, string>> = {
  execution_not_found: "there is no such execution; GET /v1/executions lists those that this credential may see",
  key_not_found: "there is no such key; GET /v1/keys lists the tenant's keys",
  grant_not_found: "there is no such grant; GET /v1/grants lists the tenant's grants",
  approval_not_found: "there is no such approval; GET /v1/approvals lists those that this credential may see",
  tenant_not_found: "there is no such tenant; GET /v1/tenants lists those that this credential may see",
  webhook_not_found: "there is no such webhook; GET /v1/webhooks lists the tenant's webhooks",
};

/** Every error as a SignalboxError; what is none becomes `internal` and says nothing of its cause. */
export function asSignalboxError(error: unknown): SignalboxError {
  if (error instanceof SignalboxError) return error;
  if (isRouterRefusal(error)) {
    return new SignalboxError(
      "invalid_input",
      "the request is not well formed; check its path and its Content-Type header",
      { cause: error },
    );
  }
  return new SignalboxError(
    "internal",
    "the runtime met an error of its own; its log names the cause under this request_id",
    { cause: error },
  );
}

/** fastify's own refusals (a media type or a path that cannot be read) carry a code and a 4xx status. */
function isRouterRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  return (
    typeof code === "string" &&
    code.startsWith("FST_ERR_") &&
    typeof statusCode === "number" &&
    statusCode >= 400 &&
    statusCode < 500
  );
}

/** What a caller is told of an error, whatever the door. */
export interface ToldError {
  /** Whose row of the error table says how the door ends the request. */
  readonly row: ErrorCode;
  readonly error: ShownError;
  /** The call that it is about, where one was stored. */
  readonly executionId?: string;
  /** How that call ended, for a caller who waited for it. */
  readonly ended?: Pick<Call, "state"> & { readonly execution: Readonly<Record<string, unknown>> };
}

export function toldError(error: SignalboxError, requestId: string): ToldError {
  const { code } = error;
  const fixed = sameForAll[code];
  const details = fixed === undefined ? boundedDetails(error.details) : {};
  const executionId = fixed === undefined ? error.executionId : undefined;
  // An unsafe call that may have run must not be repeated, whatever its code usually allows.
  const retryable = details["may_have_executed"] === true ? false : (error.retryable ?? errorTable[code].retryable);
  const told = { row: code, error: shownError(errorBody(code, fixed ?? error.message, details, retryable), requestId) };
  return executionId === undefined ? told : { ...told, executionId };
}

/** What a caller is told who waited for a call that did not succeed. */
export function toldFailure(call: Call, requestId: string): ToldError {
  const code = call.state === "cancelled" ? "cancelled" : "internal";
  const error = call.error ?? errorBody(code, `the call ended as ${call.state} and left no error`);
  // A code from a newer runtime's ledger is told as it is, under the status of an unknown fault.
  return {
    row: isErrorCode(error.code) ? error.code : "internal",
    error: shownError({ ...error, details: boundedDetails(error.details) }, requestId),
    executionId: call.callId,
    ended: { state: call.state, execution: executionBlock(call) },
  };
}

export function errorAnswer(error: SignalboxError, requestId: string): Answer {
  return answerOf(toldError(error, requestId));
}

/** The answer to a caller who waited for a call that ended otherwise than `succeeded` or `cancelled`. */
export function failedCallAnswer(call: Call, requestId: string): Answer {
  return answerOf(toldFailure(call, requestId));
}

function answerOf({ row, error, executionId, ended }: ToldError): Answer {
  const about = executionId === undefined ? {} : { execution_id: executionId };
  const how = ended === undefined ? {} : { status: ended.state, execution: ended.execution };
  const answer = {
    status: errorTable[row].http,
    text: JSON.stringify({ error, ...about, ...how }),
    headers: errorHeaders(row, error.details),
    code: error.code,
  };
  return executionId === undefined ? answer : { ...answer, executionId };
}

export interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly type: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly request_id: string;
}

function shownError(error: ErrorBody, requestId: string): ShownError {
  return {
    code: error.code,
    message: wellFormed(error.message.slice(0, limits.errorMessageCharsMax)).text,
    type: error.type,
    retryable: error.retryable,
    details: error.details ?? {},
    request_id: requestId,
  };
}

/** An error about an error would hide the first one: details that are too large, or no JSON, are left out and said to be. */
function boundedDetails(details: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> {
  if (details === undefined) return {};
  try {
    if (Buffer.byteLength(JSON.stringify(details)) <= limits.errorDetailsBytesMax) return details;
    return { omitted: `details over ${limits.errorDetailsBytesMax} bytes` };
  } catch {
    return { omitted: "details that are not JSON" };
  }
}

function errorHeaders(code: ErrorCode, details: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const { http } = errorTable[code];
  if (http === 401) return { "www-authenticate": 'Bearer realm="signalbox"' };
  return { ...retryHeader(code, details), ...rateLimitHeaders(limitMet(code, details)) };
}

function retryHeader(code: ErrorCode, details: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const afterS = retryAfterS(code, details);
  return afterS === undefined ? {} : { "retry-after": String(afterS) };
}

/** The limit that a refusal is about, where its details tell how it stands. */
export function limitMet(code: ErrorCode, details: Readonly<Record<string, unknown>>): RateStanding | undefined {
  const { limit, remaining, reset_s: resetS } = details;
  if (errorTable[code].http !== 429) return undefined;
  if (typeof limit !== "number" || typeof remaining !== "number" || typeof resetS !== "number") return undefined;
  return { limit, remaining, resetS };
}

/** How a limit stands that the request has met. */
export function rateLimitHeaders(rate: RateStanding | undefined): Readonly<Record<string, string>> {
  if (rate === undefined) return {};
  return {
    "ratelimit-limit": String(rate.limit),
    "ratelimit-remaining": String(rate.remaining),
    "ratelimit-reset": String(rate.resetS),
  };
}

/** Whole seconds after which a repeat may help, where that is known. */
export function retryAfterS(code: ErrorCode, details: Readonly<Record<string, unknown>>): number | undefined {
  const { http } = errorTable[code];
  const afterS = details["retry_after_s"];
  if (http !== 429 && http !== 503) return undefined;
  return typeof afterS === "number" && Number.isFinite(afterS) && afterS >= 0 ? Math.ceil(afterS) : undefined;
}

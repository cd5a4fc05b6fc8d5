// The one error that the client throws, made from the runtime's answer or from the lack of one.
import type { ErrorCode } from "@signalbox/protocol";

/**
 * `unreachable`: no answer came. `unreadable_answer`: something answered that is not a Signalbox runtime.
 * `wait_timeout`: a call had not ended when `wait` gave up.
 */
export type ClientErrorCode = "unreachable" | "unreadable_answer" | "wait_timeout";

export interface ApiErrorFacts {
  readonly code: ErrorCode | ClientErrorCode;
  readonly message: string;
  /** 0 when no answer came. */
  readonly httpStatus: number;
  readonly retryable: boolean;
  readonly type?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: string | undefined;
  readonly executionId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The answer's body, as it came. */
  readonly bodyText?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A refused or failed request. `retryable` says whether repeating the same request can help and is safe, even under a
 * new idempotency key. Of a call whose request may have arrived it is false, and `details.may_have_executed` is true:
 * ask again with the same key, `client.invoke(tool, input, { idempotency_key: error.idempotencyKey })`, and it runs once.
 */
export class SignalboxApiError extends Error {
  override readonly name = "SignalboxApiError";
  readonly code: ErrorCode | ClientErrorCode;
  readonly httpStatus: number;
  readonly retryable: boolean;
  readonly type: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
  /** Set when the runtime keeps a record of the call that this error is about. */
  readonly executionId: string | undefined;
  /** Under which an `invoke` or `stream` asked: the caller's own, or the one that the client made. */
  readonly idempotencyKey: string | undefined;
  readonly bodyText: string | undefined;

  constructor(facts: ApiErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code;
    this.httpStatus = facts.httpStatus;
    this.retryable = facts.retryable;
    this.type = facts.type;
    this.details = facts.details ?? {};
    this.requestId = facts.requestId;
    this.executionId = facts.executionId;
    this.idempotencyKey = facts.idempotencyKey;
    this.bodyText = facts.bodyText;
  }
}

/** Status codes with which a proxy says "not now" in its own words. */
const proxyRetryable: readonly number[] = [429, 502, 503, 504];

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads `{"error": {…}, "execution_id"?}`; an answer of another shape becomes `unreadable_answer`. */
export function apiError(
  httpStatus: number,
  body: unknown,
  bodyText: string,
  requestId: string | undefined,
): SignalboxApiError {
  const error = isRecord(body) ? body["error"] : undefined;
  const id = requestId === undefined ? {} : { requestId };
  if (!isRecord(body) || !isRecord(error) || typeof error["code"] !== "string") {
    return new SignalboxApiError({
      code: "unreadable_answer",
      message: `HTTP ${httpStatus} with a body that is not a Signalbox answer; check the URL`,
      httpStatus,
      retryable: proxyRetryable.includes(httpStatus),
      bodyText,
      ...id,
    });
  }
  const type = text(error["type"]);
  const executionId = text(body["execution_id"]);
  const ownId = text(error["request_id"]) ?? requestId;
  return new SignalboxApiError({
    // A newer runtime may know codes that this client does not; they travel as they are.
    code: error["code"] as ErrorCode,
    message: text(error["message"]) ?? error["code"],
    httpStatus,
    retryable: error["retryable"] === true,
    bodyText,
    ...(type === undefined ? {} : { type }),
    ...(isRecord(error["details"]) ? { details: error["details"] } : {}),
    ...(ownId === undefined ? {} : { requestId: ownId }),
    ...(executionId === undefined ? {} : { executionId }),
  });
}

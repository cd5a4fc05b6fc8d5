// The one error table: every code that Signalbox can answer with, and what each door makes of it.

/** What kind of trouble a code names; stable, for programs that group errors. */
export type ErrorType =
  | "authentication"
  | "permission"
  | "not_found"
  | "invalid_request"
  | "conflict"
  | "limit"
  | "tool"
  | "routing"
  | "runtime"
  | "cancelled";

export interface ErrorRow {
  readonly http: number;
  /** The gRPC status number (5 is NOT_FOUND). */
  readonly grpc: number;
  readonly type: ErrorType;
  /** True where repeating the same request can help; an unsafe call that may have run overrides it to false. */
  readonly retryable: boolean;
}

const row = (http: number, grpc: number, type: ErrorType, retryable = false): ErrorRow => ({
  http,
  grpc,
  type,
  retryable,
});

const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const ABORTED = 10;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;
const CANCELLED = 1;
const UNKNOWN = 2;

export const errorTable = {
  unauthenticated: row(401, UNAUTHENTICATED, "authentication"),
  token_expired: row(401, UNAUTHENTICATED, "authentication"),
  key_revoked: row(401, UNAUTHENTICATED, "authentication"),
  forbidden: row(403, PERMISSION_DENIED, "permission"),
  policy_error: row(403, PERMISSION_DENIED, "permission"),
  integrity_violation: row(403, PERMISSION_DENIED, "permission"),
  approval_denied: row(403, PERMISSION_DENIED, "permission"),
  approval_expired: row(403, PERMISSION_DENIED, "permission"),
  tool_not_found: row(404, NOT_FOUND, "not_found"),
  execution_not_found: row(404, NOT_FOUND, "not_found"),
  key_not_found: row(404, NOT_FOUND, "not_found"),
  grant_not_found: row(404, NOT_FOUND, "not_found"),
  approval_not_found: row(404, NOT_FOUND, "not_found"),
  policy_not_found: row(404, NOT_FOUND, "not_found"),
  agent_not_found: row(404, NOT_FOUND, "not_found"),
  session_not_found: row(404, NOT_FOUND, "not_found"),
  tenant_not_found: row(404, NOT_FOUND, "not_found"),
  project_not_found: row(404, NOT_FOUND, "not_found"),
  webhook_not_found: row(404, NOT_FOUND, "not_found"),
  worker_not_found: row(404, NOT_FOUND, "not_found"),
  route_not_found: row(404, NOT_FOUND, "not_found"),
  invalid_input: row(400, INVALID_ARGUMENT, "invalid_request"),
  payload_too_large: row(413, RESOURCE_EXHAUSTED, "limit"),
  idempotency_conflict: row(409, ALREADY_EXISTS, "conflict"),
  approval_closed: row(409, ALREADY_EXISTS, "conflict"),
  conflict: row(409, ALREADY_EXISTS, "conflict"),
  rate_limited: row(429, RESOURCE_EXHAUSTED, "limit", true),
  quota_exceeded: row(429, RESOURCE_EXHAUSTED, "limit", true),
  queue_full: row(429, RESOURCE_EXHAUSTED, "limit", true),
  timeout: row(504, DEADLINE_EXCEEDED, "tool", true),
  resource_exceeded: row(422, RESOURCE_EXHAUSTED, "tool"),
  sandbox_unavailable: row(503, UNAVAILABLE, "routing", true),
  no_handler: row(503, UNAVAILABLE, "routing", true),
  capacity_exhausted: row(503, UNAVAILABLE, "routing", true),
  breaker_open: row(503, UNAVAILABLE, "routing", true),
  draining: row(503, UNAVAILABLE, "runtime", true),
  ledger_unavailable: row(503, UNAVAILABLE, "runtime", true),
  lease_expired: row(502, UNKNOWN, "routing", true),
  indeterminate: row(502, UNKNOWN, "routing", true),
  worker_rejected: row(502, UNKNOWN, "routing"),
  tool_error: row(422, ABORTED, "tool"),
  invalid_output: row(502, INTERNAL, "tool"),
  cancelled: row(200, CANCELLED, "cancelled"),
  internal: row(500, INTERNAL, "runtime"),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** The error a caller sees, on every door. `details` is plain JSON data. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly type: ErrorType;
  readonly retryable: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly request_id?: string;
}

/** Thrown by stages of the corridor; turned into an {@link ErrorBody} by the door that answers. */
export class SignalboxError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Set when a ledger row exists for the refused request. */
  readonly executionId: string | undefined;
  /** Set where it is otherwise than the table says. */
  readonly retryable: boolean | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: Readonly<Record<string, unknown>>; executionId?: string; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "SignalboxError";
    this.code = code;
    this.details = more.details;
    this.executionId = more.executionId;
    this.retryable = more.retryable;
  }
}

/** Makes the caller's view of an error; `retryable` falls back to the table's. */
export function errorBody(
  code: ErrorCode,
  message: string,
  details?: Readonly<Record<string, unknown>>,
  retryable?: boolean,
): ErrorBody {
  const { type, retryable: usually } = errorTable[code];
  const base = { code, message, type, retryable: retryable ?? usually };
  return details === undefined ? base : { ...base, details };
}

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(errorTable, value);
}

/** One place where a request is at fault; `details.fields` of an error is a list of these. */
export interface FieldFault {
  /** RFC 6901 pointer into the body; for query parameters, headers and parts of the path, `/` and their name. */
  readonly pointer: string;
  /** JSON Schema's word for the rule that is broken. */
  readonly keyword: string;
  /** Goes on where the name of the place ends: "must be …", "is required". */
  readonly message: string;
}

export function fieldFault(pointer: string, keyword: string, message: string): FieldFault {
  return { pointer, keyword, message };
}

// What nobody can know once a request has left and no answer came, and how an error says it.
import { SignalboxApiError } from "./errors.ts";

/** Codes of Node's for connections that never stood; of any other failure the request may have arrived. */
const neverConnected: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

const untrusted: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** `fetch` hides the reason in a cause. */
function codeOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined;
  return typeof inner === "object" && inner !== null && "code" in inner ? String(inner.code) : "";
}

/** Time does not make a certificate good. */
export function isUntrusted(cause: unknown): boolean {
  return untrusted.has(codeOf(cause));
}

/** `never_sent`: no byte of the request can have arrived; browsers do not tell. */
export function detailsOf(cause: unknown): Readonly<Record<string, unknown>> {
  if (isUntrusted(cause)) return { never_sent: true, reason: "certificate_not_trusted" };
  return neverConnected.has(codeOf(cause)) ? { never_sent: true } : {};
}

/** Whether the request may have been acted on without an answer that says so. */
function leavesOpen({ code, httpStatus, details }: SignalboxApiError): boolean {
  if (code === "unreachable") return details["never_sent"] !== true;
  // What stands in front of a runtime may have passed the request on before it gave up.
  return code === "unreadable_answer" && (httpStatus < 300 || httpStatus >= 500);
}

export interface Undertaking {
  /** True where a repeat of the very same request has no second effect. */
  readonly repeatable: boolean;
  /** The key that makes it so; a caller who asks anew without it makes another call. */
  readonly idempotencyKey: string | undefined;
}

/** Goes through the failures of one undertaking and makes of the last one what its caller has to know. */
export class Losses {
  readonly #undertaking: Undertaking;
  #open = false;
  #sent = false;

  constructor(undertaking: Undertaking) {
    this.#undertaking = undertaking;
  }

  note(error: SignalboxApiError): void {
    this.#open ||= leavesOpen(error);
    this.#sent ||= error.details["never_sent"] !== true;
  }

  /** @param executionId of the call, where the stream has said it */
  told(error: SignalboxApiError, executionId: string | undefined = error.executionId): SignalboxApiError {
    const { repeatable, idempotencyKey } = this.#undertaking;
    const unsafe = idempotencyKey !== undefined || !repeatable;
    // A record answers for itself.
    const open = this.#open && unsafe && error.executionId === undefined;
    if (!open && idempotencyKey === undefined && !this.#sent) return error;
    const { never_sent: neverSent, ...details } = error.details;
    const { code, message, httpStatus, type, requestId, bodyText, cause } = error;
    return new SignalboxApiError({
      code,
      message: open ? `${message}; ${nextOf(idempotencyKey)}` : message,
      httpStatus,
      retryable: error.retryable && !open,
      details: {
        ...details,
        ...(neverSent === true && !this.#sent ? { never_sent: true } : {}),
        ...(open ? { may_have_executed: true } : {}),
      },
      type,
      requestId,
      executionId,
      idempotencyKey,
      bodyText,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

function nextOf(idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return "it may have been done: look before you ask again";
  return `it may have run: ask again with the same idempotency_key, ${JSON.stringify(idempotencyKey)}, and it runs once`;
}

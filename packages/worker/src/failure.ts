// What a handler throws, and what becomes of it: one error shape with every text inside its bound.
import {
  cutText,
  limits,
  stringifyWithBigInts,
  utf8Bytes,
  wellFormed,
  wellFormedJson,
  type WorkError,
} from "@signalbox/protocol";
import type { HandlerEnd, StopReason } from "./core-types.ts";

const codeDefault = "handler_error";

/** Thrown by a handler to fail its call with a code of the tool's own. */
export class ToolError extends Error {
  override readonly name: string = "ToolError";
  /** 1 to 128 characters, e.g. `invalid_args`. */
  readonly code: string;
  /** True when the same call can succeed later. */
  readonly retryable: boolean;
  /** Plain JSON data, at most 16 KiB as text; left out of the answer when it is anything else. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: string,
    message: string,
    more: {
      readonly retryable?: boolean;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.details = more.details;
  }
}

/** The reason of a handler's `ctx.signal`. Named AbortError, so that child processes and fetch take it for what it is. */
export class CallStopped extends Error {
  override readonly name: string = "AbortError";
  readonly code: string = "ABORT_ERR";
  readonly reason: StopReason | "shutdown";

  constructor(reason: StopReason | "shutdown") {
    super(`the call was stopped (${reason})`);
    this.reason = reason;
  }
}

/** Never throws, whatever was thrown. */
export function failureOf(thrown: unknown): HandlerEnd {
  try {
    const { code, message, retryable, details } = partsOf(thrown);
    return {
      status: "failed",
      error: {
        code:
          typeof code === "string" && code.length > 0
            ? cutText(wellFormed(code).text, limits.nameCharsMax)
            : codeDefault,
        message: cutText(wellFormed(typeof message === "string" ? message : String(message)).text),
        retryable: retryable === true,
        ...detailsOf(details),
      },
    };
  } catch {
    // A getter or a proxy of the thrown value threw in turn.
    return {
      status: "failed",
      error: { code: codeDefault, message: "the handler threw something unreadable", retryable: false },
    };
  }
}

function partsOf(thrown: unknown): { code?: unknown; message: unknown; retryable?: unknown; details?: unknown } {
  if (typeof thrown !== "object" || thrown === null) return { message: String(thrown) };
  const { code, message, retryable, details } = thrown as Record<string, unknown>;
  return { code, message: message ?? "the handler threw an object without a message", retryable, details };
}

function detailsOf(details: unknown): { detailsJson?: string } {
  if (typeof details !== "object" || details === null || Array.isArray(details)) return {};
  try {
    const detailsJson = wellFormedJson(stringifyWithBigInts(details)).text;
    return utf8Bytes(detailsJson) > limits.errorDetailsBytesMax ? {} : { detailsJson };
  } catch {
    return {}; // the error itself matters more than its details
  }
}

export function resultTooLarge(bytesMin: number): WorkError {
  const message = `the result has ${bytesMin} bytes or more, over the ${limits.resultBytesMax} of a result: return a reference to it`;
  return { code: "result_too_large", message, retryable: false };
}

/** A handler that returns nothing has the output `null`. */
export function endOf(value: unknown): HandlerEnd {
  let json: string;
  try {
    json = stringifyWithBigInts(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failureOf(new ToolError("result_not_json", `the handler returned what is not JSON: ${why}`));
  }
  // Each character is a byte at least: no need to look closely at fifty megabytes.
  if (json.length > limits.resultBytesMax) return { status: "failed", error: resultTooLarge(json.length) };
  const { text, replaced } = wellFormedJson(json);
  return replaced
    ? { status: "succeeded", outputJson: text, illFormed: true }
    : { status: "succeeded", outputJson: text };
}

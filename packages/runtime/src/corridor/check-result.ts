// What a worker sent, checked: size, well-formed text, JSON, and the tool's output schema.
import { errorBody, isSafe, limits, scanJson, utf8Bytes, wellFormed, wellFormedJson, type ErrorBody, type Result, type WorkError } from "@signalbox/protocol";
import type { CheckedResult } from "../call/machine.ts";
import type { Call } from "../call/types.ts";
import type { ResultCheck } from "../dispatch/types.ts";
import { boxCodes, exceededIn } from "../sandbox/contract-result.ts";
import type { Hash } from "./ports.ts";

/** The tool's output schema at work; undefined where the tool declares none. */
export type ValidateOutput = (value: unknown) => { readonly ok: true } | { readonly ok: false; readonly errors: readonly unknown[] };

const toolCodeCharsMax = 128;

export function resultCheck(validate: ValidateOutput | undefined, hash: Hash): ResultCheck {
  return (call, result, workerId) => {
    const { usage, fence } = result;
    const base = { fence, workerId, outputJson: null, outputHash: null, outputBytes: 0, outputIllFormed: false, usage };
    if (result.status === "cancelled") return { ...base, status: "cancelled", error: null };
    if (result.status === "failed") return { ...base, status: "failed", error: toolError(call, result), toolIsDown: result.error?.retryable === true };
    return { ...base, ...checkedOutput(call, result, validate, hash) };
  };
}

type Output = Pick<CheckedResult, "status" | "outputJson" | "outputHash" | "outputBytes" | "outputIllFormed" | "error">;

function refuse(call: Call, code: "invalid_output" | "resource_exceeded", message: string, details: Record<string, unknown>): Output {
  const ran = isSafe(call.sideEffectClass) ? details : { ...details, may_have_executed: true };
  const error = errorBody(code, message, ran, false);
  return { status: "failed", outputJson: null, outputHash: null, outputBytes: 0, outputIllFormed: false, error };
}

function checkedOutput(call: Call, result: Result, validate: ValidateOutput | undefined, hash: Hash): Output {
  if (result.outputJson === undefined) return refuse(call, "invalid_output", "the worker reported success without a result", {});
  const bytes = utf8Bytes(result.outputJson);
  if (bytes > call.resultBytesMax) {
    const details = { resource: "output", limit: call.resultBytesMax, observed: bytes };
    return refuse(call, "resource_exceeded", `the result has ${bytes} bytes; the limit is ${call.resultBytesMax}`, details);
  }
  const scan = scanJson(result.outputJson, { depthMax: limits.jsonDepthMax });
  if (!scan.ok) return refuse(call, "invalid_output", `the result is nested deeper than ${limits.jsonDepthMax}`, {});
  const { text, replaced } = scan.surrogateEscapes ? wellFormedJson(result.outputJson) : { text: result.outputJson, replaced: false };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse(call, "invalid_output", "the result is not JSON", {});
  }
  const verdict = validate === undefined ? { ok: true as const } : validate(value);
  if (!verdict.ok) {
    return refuse(call, "invalid_output", "the result does not match the tool's output schema", { errors: verdict.errors });
  }
  return {
    status: "succeeded",
    outputJson: text,
    outputHash: hash(text),
    outputBytes: bytes,
    outputIllFormed: replaced || result.illFormed === true,
    error: null,
  };
}

/** "The tool said no": its own code stands in the details, never in the place of one of ours. */
function toolError(call: Call, result: Result): ErrorBody {
  const box = call.sandbox === null || result.error === undefined ? undefined : boxError(call, result.error);
  if (box !== undefined) return box;
  const said = result.error ?? { code: "unspecified", message: "the handler failed without saying why", retryable: false };
  // Cut first: a cut can leave half a surrogate pair behind.
  const message = wellFormed(said.message.slice(0, limits.errorMessageCharsMax)).text;
  const details: Record<string, unknown> = { tool_code: wellFormed(said.code.slice(0, toolCodeCharsMax)).text };
  if (said.detailsJson !== undefined) details["tool_details"] = toolDetails(said.detailsJson);
  // Whatever is wrong with the answer, the handler was entered.
  if (!isSafe(call.sideEffectClass)) details["may_have_executed"] = true;
  if (said.code === "result_too_large") {
    return errorBody("resource_exceeded", message, { ...details, resource: "output", limit: call.resultBytesMax }, false);
  }
  if (said.code === "result_not_json" || said.code === "malformed_message") return errorBody("invalid_output", message, details, false);
  return errorBody("tool_error", message, details, said.retryable && isSafe(call.sideEffectClass));
}

/** What a box of ours says of itself has codes of ours; what the tool in it did stays the tool's. */
function boxError(call: Call, said: WorkError): ErrorBody | undefined {
  const ran = isSafe(call.sideEffectClass) ? {} : { may_have_executed: true };
  const message = wellFormed(said.message.slice(0, limits.errorMessageCharsMax)).text;
  const details = said.detailsJson === undefined ? {} : (toolDetails(said.detailsJson) as Record<string, unknown>);
  const exceeded = exceededIn(said);
  if (exceeded !== undefined) return errorBody("resource_exceeded", message, { ...details, ...exceeded, ...ran }, false);
  if (said.code === boxCodes.noResult || said.code === boxCodes.notJson) return errorBody("invalid_output", message, { ...details, ...ran }, false);
  if (said.code === "timeout") return errorBody("timeout", message, { ...details, stop_confirmed: true, ...ran }, false);
  return undefined;
}

function toolDetails(text: string): unknown {
  if (text.length > limits.errorDetailsBytesMax) return { truncated: true, chars: text.length };
  if (!scanJson(text, { depthMax: limits.jsonDepthMax }).ok) return { malformed: true };
  try {
    return JSON.parse(wellFormedJson(text).text);
  } catch {
    return { malformed: true };
  }
}

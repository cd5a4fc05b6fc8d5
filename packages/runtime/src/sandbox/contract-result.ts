// The tool entry contract, way out: makes the answer of a worker out of how a box ended and what the tool wrote.
import {
  limits,
  parseJson,
  utf8Bytes,
  wellFormed,
  wellFormedJson,
  type Usage,
  type WorkError,
} from "@signalbox/protocol";
import { contractBounds } from "./contract.ts";
import { resources, type BoxEnd, type BoxResult, type Resource } from "./types.ts";

/**
 * The codes of a box in a {@link WorkError}; the runtime makes its own codes of them: `resource_exceeded`, `invalid_output`
 * (for the two that are about the result), `tool_error` for the rest.
 */
export const boxCodes = {
  /** Another exit code than 0. */
  exited: "exited",
  /** A signal that nobody here sent. */
  crashed: "crashed",
  exceeded: "resource_exceeded",
  /** Success without a word. */
  noResult: "result_missing",
  notJson: "result_not_json",
} as const;

export type BoxAnswer =
  | { readonly status: "succeeded"; readonly outputJson: string; readonly illFormed: boolean; readonly usage: Usage }
  | { readonly status: "failed"; readonly error: WorkError; readonly usage: Usage }
  /** Stopped, by whoever's clock or wish; the tree is dead, which confirms the stop. */
  | { readonly status: "cancelled"; readonly reason: "timeout" | "cancelled"; readonly usage: Usage }
  /**
   * The backend failed and knows nothing of the tool: no result may be made up. Before the tool's code could run the
   * call is handed back; after it the worker forgets the call, and the runtime treats it as lost, as its class demands.
   */
  | { readonly status: "lost"; readonly message: string };

/** @param resultFrom for the words only */
export function answerOf(result: BoxResult, resultFrom: "fd3" | "stdout"): BoxAnswer {
  const { end } = result;
  const usage = usageOf(result);
  switch (end.reason) {
    case "exited":
      return end.code === 0
        ? success(result, resultFrom, usage)
        : failed(boxCodes.exited, exitMessage(end.code), usage, { exit_code: end.code, ...said(result) });
    case "crashed":
      return failed(boxCodes.crashed, `the tool ended by signal ${end.signal}`, usage, {
        signal: end.signal,
        ...said(result),
      });
    case "exceeded":
      return failed(boxCodes.exceeded, exceededMessage(end), usage, {
        resource: end.resource,
        limit: end.limit,
        observed: end.observed,
        ...said(result),
      });
    // A tool that finishes inside its grace, with a result even, has timed out all the same.
    case "timeout":
    case "cancelled":
      return { status: "cancelled", reason: end.reason, usage };
    case "lost":
      return { status: "lost", message: end.message };
  }
}

function success(result: BoxResult, resultFrom: "fd3" | "stdout", usage: Usage): BoxAnswer {
  const place = resultFrom === "fd3" ? "file descriptor 3" : "stdout";
  const text = result.resultText?.trim() ?? "";
  if (text === "") {
    return failed(boxCodes.noResult, `the tool ended well and wrote no result to ${place}`, usage, said(result));
  }
  const { text: outputJson, replaced } = wellFormedJson(text);
  const parsed = parseJson(outputJson, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  if (!parsed.ok) {
    const message = `what the tool wrote to ${place} is not JSON: ${parsed.problem.message}`;
    return failed(boxCodes.notJson, message, usage, said(result));
  }
  return { status: "succeeded", outputJson, illFormed: replaced, usage };
}

/** 126 and 127 are a shell's way to say that it could not start what it was told to. */
function exitMessage(code: number): string {
  const why = code === 126 ? " (not executable)" : code === 127 ? " (not found)" : "";
  return `the tool ended with exit code ${code}${why}`;
}

const units: Readonly<Record<Resource, string>> = {
  memory: " bytes of memory",
  cpu: " seconds of CPU time",
  pids: " processes",
  disk: " bytes of disk",
  output: " bytes of output",
  egress: " bytes of network traffic",
  fds: " open files",
};

function exceededMessage({ resource, limit, observed }: Extract<BoxEnd, { readonly reason: "exceeded" }>): string {
  return `the tool was stopped at its limit of ${limit}${units[resource]}; it had reached ${observed}`;
}

function failed(
  code: string,
  message: string,
  usage: Usage,
  details: Readonly<Record<string, unknown>>,
): Extract<BoxAnswer, { readonly status: "failed" }> {
  return { status: "failed", error: { code, message, retryable: false, detailsJson: JSON.stringify(details) }, usage };
}

/** The end of stderr, cut so that its JSON fits into the details of an error: an escape takes six bytes for one. */
function said({ stderrTail, truncated }: BoxResult): Readonly<Record<string, unknown>> {
  const bytesMax = limits.errorDetailsBytesMax / 2;
  let tail = lastBytes(stderrTail, contractBounds.stderrTailBytesMax);
  while (utf8Bytes(JSON.stringify(tail)) > bytesMax) tail = wellFormed(tail.slice(Math.ceil(tail.length / 4))).text;
  return { ...(tail === "" ? {} : { stderr: tail }), ...(truncated.length === 0 ? {} : { truncated }) };
}

function lastBytes(text: string, bytesMax: number): string {
  const whole = wellFormed(text).text;
  let bytes = 0;
  const kept: string[] = [];
  for (const character of Array.from(whole.slice(-bytesMax)).toReversed()) {
    bytes += utf8Bytes(character);
    if (bytes > bytesMax) break;
    kept.push(character);
  }
  return wellFormed(kept.toReversed().join("")).text;
}

function usageOf({ usage, truncated }: BoxResult): Usage {
  const { durationMs, cpuMs, peakMemoryBytes } = usage;
  return {
    durationMs,
    cpuMs,
    ...(peakMemoryBytes === null ? {} : { peakMemoryBytes }),
    ...(truncated.length === 0 ? {} : { truncated }),
  };
}

export interface Exceeded {
  readonly resource: Resource;
  readonly limit: number;
  readonly observed: number;
}

/**
 * What of a worker's error is a box's breach; undefined for every other error, and for one that only looks like it.
 * For results of sandbox workers alone: an application's handler may use any code it likes.
 */
export function exceededIn({ code, detailsJson }: WorkError): Exceeded | undefined {
  if (code !== boxCodes.exceeded || detailsJson === undefined) return undefined;
  const parsed = parseJson(detailsJson, { depthMax: limits.jsonDepthMax });
  if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null) return undefined;
  const { resource, limit, observed } = parsed.value as Record<string, unknown>;
  const known = resources.find((one) => one === resource);
  if (known === undefined || typeof limit !== "number" || typeof observed !== "number") return undefined;
  return { resource: known, limit, observed };
}

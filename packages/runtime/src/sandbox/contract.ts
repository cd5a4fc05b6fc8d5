// The tool entry contract, way in: what a tool in a box reads from its standard input, one JSON object on one line.
import { findSyntaxError, limits } from "@signalbox/protocol";

const KiB = 1024;

export const contractBounds = {
  /** A line of file descriptor 4: the largest payload, and room for its names and escapes. */
  eventLineBytesMax: limits.eventPayloadBytesMax + 16 * KiB,
  /** Lines of one run that are passed on; what follows is dropped and said once. */
  eventLinesMax: 10_000,
  progressMessageCharsMax: 1_000,
  /** What of stderr a person reads in an error. */
  stderrTailBytesMax: 4 * KiB,
} as const;

/** Everything that a tool is told beside its arguments. */
export interface RequestFacts {
  readonly callId: string;
  /** 1 on the first try; grows only when code may have run. */
  readonly attempt: number;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly tool: string;
  readonly version: string;
  readonly timeoutMs: number;
  /** W3C trace context; empty where the call has none. */
  readonly traceparent: string;
  /** What the caller sent as `context`, as JSON text. */
  readonly contextJson: string;
}

/**
 * `{"args":…,"context":…,"secrets":…}` and a line feed. `args` and the caller's own context come in as text and go on as
 * text, so numbers keep their digits.
 * @param secrets by the names that the manifest declares
 * @throws TypeError when one of the two texts is not JSON: what is not whole must not become part of another text
 */
export function requestText(argsJson: string, facts: RequestFacts, secrets: Readonly<Record<string, string>>): string {
  const { contextJson, ...rest } = facts;
  const context = {
    call_id: rest.callId,
    attempt: rest.attempt,
    idempotency_key: rest.callId,
    tenant: rest.tenant,
    project: rest.project,
    principal: rest.principal,
    tool: rest.tool,
    version: rest.version,
    timeout_ms: rest.timeoutMs,
    traceparent: rest.traceparent,
  };
  const caller = contextJson === "" ? "{}" : oneLine("context", contextJson);
  const contextText = `${JSON.stringify(context).slice(0, -1)},"caller":${caller}}`;
  return `{"args":${oneLine("args", argsJson)},"context":${contextText},"secrets":${JSON.stringify(secrets)}}\n`;
}

/** Line feeds in JSON text stand between its parts only, so a reader of lines gets the whole request. */
function oneLine(what: string, json: string): string {
  const problem = findSyntaxError(json);
  if (problem !== undefined) throw new TypeError(`${what} is not JSON: ${problem.message}`);
  return json.replaceAll(/[\r\n]/g, " ");
}

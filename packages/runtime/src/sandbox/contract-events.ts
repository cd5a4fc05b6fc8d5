// The tool entry contract, while it runs: reads the lines that a tool writes to file descriptor 4, and believes none of them.
import { cutText, limits, parseJson, utf8Bytes, wellFormed } from "@signalbox/protocol";
import { contractBounds } from "./contract.ts";

export type BoxEvent =
  | { readonly type: "progress"; readonly percent: number; readonly message: string }
  /** JSON text, a piece of the output. */
  | { readonly type: "partial"; readonly json: string }
  /** One line for the call's log. */
  | { readonly type: "log"; readonly line: string }
  /** An event that the manifest declares. */
  | { readonly type: "emit"; readonly eventType: string; readonly payloadJson: string }
  /** A line that says none of these; the reason is for the author of the tool, and repeats nothing of the line. */
  | { readonly type: "refused"; readonly reason: string };

export interface EventReader {
  /** Undefined: dropped without a word, after the bound has been said once. */
  read(line: string): BoxEvent | undefined;
}

/** One for each run. @param declared the event types of the manifest (`events`) */
export function eventReader(declared: readonly string[]): EventReader {
  let lines = 0;
  return {
    read(line) {
      lines++;
      if (lines <= contractBounds.eventLinesMax) return eventOf(line, declared);
      return lines === contractBounds.eventLinesMax + 1
        ? refused(`more than ${contractBounds.eventLinesMax} lines: the rest is dropped`)
        : undefined;
    },
  };
}

const kinds = "progress, partial, log or emit";

function eventOf(line: string, declared: readonly string[]): BoxEvent {
  if (utf8Bytes(line) > contractBounds.eventLineBytesMax)
    return refused(`the line is longer than ${contractBounds.eventLineBytesMax} bytes`);
  // The engine of a sandbox worker keeps the digits of long numbers: what is read here is written as it came.
  const parsed = parseJson(line, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  if (!parsed.ok) return refused(`the line is not one JSON object: ${parsed.problem.message}`);
  const members = isObject(parsed.value) ? Object.entries(parsed.value) : [];
  const [only] = members;
  if (only === undefined || members.length > 1) return refused(`the line is not an object with one of ${kinds}`);
  const [kind, value] = only;
  switch (kind) {
    case "progress":
      return progress(value);
    case "partial":
      return partial(value);
    case "log":
      return { type: "log", line: logLine(value) };
    case "emit":
      return emit(value, declared);
    default:
      return refused(`the line is none of ${kinds}`);
  }
}

/** A raw number is an object to JavaScript, and so is a list. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && JSON.stringify(value).startsWith("{");
}

function refused(reason: string): BoxEvent {
  return { type: "refused", reason };
}

/** `40`, or `{"percent": 40, "message": "reading"}`. */
function progress(value: unknown): BoxEvent {
  const { percent, message = "" } = isObject(value) ? value : { percent: value };
  if (typeof percent !== "number" || !(percent >= 0 && percent <= 100))
    return refused("progress is not a number from 0 to 100, nor an object with one as percent");
  if (typeof message !== "string") return refused("the message of progress is not text");
  return { type: "progress", percent, message: cutText(message, contractBounds.progressMessageCharsMax) };
}

function partial(value: unknown): BoxEvent {
  const json = JSON.stringify(value);
  return utf8Bytes(json) > limits.outputChunkBytesMax
    ? refused(`partial is larger than ${limits.outputChunkBytesMax} bytes`)
    : { type: "partial", json };
}

/** Text as it is; anything else as JSON. Always one line, and never more than one chunk of output. */
function logLine(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // A character has at most three bytes for each of its units.
  const cut = cutText(text, Math.floor(limits.outputChunkBytesMax / 3));
  return wellFormed(cut.replaceAll(/[\r\n]+/g, " ")).text;
}

function emit(value: unknown, declared: readonly string[]): BoxEvent {
  if (!isObject(value)) return refused("emit is not an object with type and payload");
  const { type, payload = null, ...rest } = value;
  if (typeof type !== "string") return refused("emit has no type");
  if (Object.keys(rest).length > 0) return refused("emit has more than type and payload");
  if (!declared.includes(type)) return refused("emit has a type that the manifest does not declare under events");
  const payloadJson = JSON.stringify(payload);
  return utf8Bytes(payloadJson) > limits.eventPayloadBytesMax
    ? refused(`the payload of emit is larger than ${limits.eventPayloadBytesMax} bytes`)
    : { type: "emit", eventType: type, payloadJson };
}

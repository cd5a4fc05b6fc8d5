// Says whether a response has the form that its request asked for: it may come out of a journal that another hand changed.
import type { PreparedCall, Request, Response } from "./types.ts";

type Refusal = "wrong_type" | "wrong_shape";

const answers: Readonly<Record<Request["type"], Response["type"]>> = {
  CompleteModel: "ModelCompleted",
  RunTools: "ToolsRan",
  Checkpoint: "CheckpointKept",
  AskLimit: "LimitAnswered",
};

/** Undefined where the response can be taken. */
export function faultOf(response: Response, request: Request): Refusal | undefined {
  if (response.type !== "Broken" && response.type !== answers[request.type]) return "wrong_type";
  return isWhole(response, request) ? undefined : "wrong_shape";
}

function isWhole(response: Response, request: Request): boolean {
  switch (response.type) {
    case "ModelCompleted":
      return isAmount(response.spentMs) && isOutcome(response.outcome);
    case "ToolsRan":
      return request.type === "RunTools" && isAmount(response.spentMs) && isRan(response, request.calls);
    case "CheckpointKept":
      return typeof response.cancelled === "boolean" && isList(response.messages) && response.messages.every(isMessage);
    case "LimitAnswered":
      return typeof response.granted === "boolean" && typeof response.cancelled === "boolean";
    case "Broken":
      return isText(response.code) && response.code !== "" && isText(response.message);
  }
}

/** Exactly one result for each call, under its own id, in whatever order. */
function isRan(response: Extract<Response, { readonly type: "ToolsRan" }>, calls: readonly PreparedCall[]): boolean {
  const { results, settled, hostEvents = [], cancelled, stop } = response;
  if (!isList(results) || results.length !== calls.length || !results.every(isFields) || !isList(settled)) return false;
  if (![...results.map(({ index }) => index), ...settled].every(Number.isSafeInteger)) return false;
  const indexes = new Set(results.map(({ index }) => index));
  if (indexes.size !== calls.length) return false;
  const told = results.every(
    (result) =>
      calls[result.index]?.callId === result.callId &&
      isText(result.text) &&
      typeof result.isError === "boolean" &&
      statuses.includes(result.status),
  );
  const ordered = new Set(settled).size === settled.length && settled.every((index) => calls[index] !== undefined);
  const ended = cancelled === null || cancelled === "turn" || cancelled === "batch";
  const emitted = isList(hostEvents) && hostEvents.every((event) => isFields(event) && calls[event.index]?.callId === event.callId && isText(event.type) && Number.isSafeInteger(event.ordinal));
  return told && ordered && ended && emitted && (stop === null || isText(stop?.code));
}

const statuses: readonly string[] = ["succeeded", "failed", "denied", "timed_out", "cancelled", "indeterminate"];
const stops: readonly string[] = ["end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence", "cancelled"];

const isText = (value: unknown): value is string => typeof value === "string";
const isAmount = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value) && value >= 0;
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
/** `Array.isArray`, which leaves the type as it is. */
const isList = (value: readonly unknown[]): boolean => Array.isArray(value);

function isMessage(value: unknown): boolean {
  return isFields(value) && isText(value["by"]) && isText(value["text"]) && Number.isSafeInteger(value["inboxSeq"]);
}

function isOutcome(value: unknown): boolean {
  if (!isFields(value) || !isFields(value["usage"])) return false;
  const { inputTokens, outputTokens } = value["usage"];
  if (!isAmount(inputTokens) || !isAmount(outputTokens)) return false;
  if (!Array.isArray(value["parts"]) || !value["parts"].every(isPart)) return false;
  if (value["ok"] === true) return stops.includes(value["stop"] as string);
  return value["ok"] === false && isText(value["code"]) && isText(value["message"]);
}

function isPart(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (value["type"] === "text" || value["type"] === "thought") return isText(value["text"]);
  // Some providers leave out arguments that are empty.
  const args = value["argumentsText"] ?? "";
  return value["type"] === "tool_call" && isText(value["providerId"]) && isText(value["name"]) && isText(args);
}

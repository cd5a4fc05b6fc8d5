// What the stream of a session says of its history, what a turn's end makes of it, and what it has used.
import type { HistoryItem, SessionReason, SessionState, SessionUsage } from "../../session/types.ts";
import type { Notice, Request, Response } from "../../session/turn/types.ts";
import type { NewEvent } from "./row.ts";
import type { CancelEntry } from "./wishes.ts";

/** Results are told one by one, by `tool.completed`, as they come. */
export function eventsOf(items: readonly HistoryItem[]): readonly NewEvent[] {
  return items.flatMap((item): NewEvent[] => {
    if (item.type === "user") return [{ type: "message", turn: item.turn, step: 0, data: { by: item.by, text: item.text } }];
    if (item.type === "results") return [];
    const text = item.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    const calls = item.parts.flatMap((part) => (part.type === "tool_call" ? [{ name: part.name, arguments: part.argumentsText }] : []));
    const { inputTokens, outputTokens } = item.usage;
    return [{ type: "assistant", turn: item.turn, step: item.step, data: { text, calls, stop: item.stop, input_tokens: inputTokens, output_tokens: outputTokens } }];
  });
}

type Done = Extract<Notice, { readonly type: "Done" }>;

export interface Ending {
  /** Null: the session goes on to what its inbox holds. */
  readonly state: Extract<SessionState, "failed" | "cancelled"> | null;
  readonly reason: SessionReason;
}

/** @param cancel the cancel that was carried out in this turn, if one was */
export function endingOf({ end, reason }: Done, cancel: CancelEntry | undefined): Ending {
  if (end === "failed") return { state: "failed", reason };
  if (end !== "cancelled" || cancel === undefined) return { state: null, reason };
  return { state: cancel.wish.scope === "session" ? "cancelled" : null, reason: cancelReason(cancel) };
}

export function cancelReason({ by, wish }: CancelEntry): SessionReason {
  return { code: "cancelled", message: `cancelled by ${by}${wish.reason === "" ? "" : `: ${wish.reason}`}` };
}

export function usageAfter(before: SessionUsage, request: Request, response: Response): SessionUsage {
  if (response.type === "ModelCompleted") {
    const { inputTokens, outputTokens } = response.outcome.usage;
    return { ...before, inputTokens: before.inputTokens + inputTokens, outputTokens: before.outputTokens + outputTokens, modelCalls: before.modelCalls + 1 };
  }
  if (response.type === "ToolsRan" && request.type === "RunTools") return { ...before, toolCalls: before.toolCalls + request.calls.filter(({ settled }) => settled === null).length };
  return before;
}

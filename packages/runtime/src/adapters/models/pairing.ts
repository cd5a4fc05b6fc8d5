// Says whether a history may be sent to a provider: every call with its result right behind it, in order.
import type { ModelOutcome } from "../../session/model.ts";
import { pairingFault } from "../../session/provider-names.ts";
import type { HistoryItem } from "../../session/types.ts";

/** The first reason why a strict provider would refuse this history, or undefined. Names positions, never content. */
export function pairingProblem(history: readonly HistoryItem[]): string | undefined {
  const [first] = history;
  if (first === undefined) return "the history is empty";
  if (first.type !== "user") return `the history begins with an item of type ${first.type}, not with a user's message`;
  return pairingFault(history) ?? (history.at(-1)?.type === "assistant" ? "the history ends with the model's own answer" : undefined);
}

/** What a strict provider would say of such a history, without asking it; undefined = it may be asked. */
export function refusedBefore(history: readonly HistoryItem[]): ModelOutcome | undefined {
  const message = pairingProblem(history);
  if (message === undefined) return undefined;
  return { ok: false, code: "refused_request", message, retryAfterMs: null, parts: [], usage: { inputTokens: 0, outputTokens: 0 } };
}

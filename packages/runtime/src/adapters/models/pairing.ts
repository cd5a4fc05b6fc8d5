// Says whether a history may be sent to a provider: every call with its result right behind it, in order.
import type { ModelOutcome } from "../../session/model.ts";
import type { AssistantPart, HistoryItem } from "../../session/types.ts";

type CallPart = Extract<AssistantPart, { type: "tool_call" }>;

export function callsOf(parts: readonly AssistantPart[]): readonly CallPart[] {
  return parts.filter((part) => part.type === "tool_call");
}

/** The first reason why a strict provider would refuse this history, or undefined. Names positions, never content. */
export function pairingProblem(history: readonly HistoryItem[]): string | undefined {
  const [first] = history;
  if (first === undefined) return "the history is empty";
  if (first.type !== "user") return `the history begins with an item of type ${first.type}, not with a user's message`;
  for (const [index, item] of history.entries()) {
    const next = history[index + 1];
    const problem = item.type === "assistant" ? callsProblem(callsOf(item.parts), next) : resultsProblem(item, history[index - 1]);
    if (problem !== undefined) return `item ${index} of the history ${problem}`;
  }
  if (history.at(-1)?.type === "assistant") return "the history ends with the model's own answer";
  return undefined;
}

function callsProblem(calls: readonly CallPart[], next: HistoryItem | undefined): string | undefined {
  if (calls.length === 0) return undefined;
  if (next?.type !== "results") return `has ${calls.length} calls without results right behind it`;
  if (next.results.length !== calls.length) return `has ${calls.length} calls and ${next.results.length} results`;
  for (const [index, call] of calls.entries()) {
    const result = next.results[index];
    if (result?.index !== index || result.providerId !== call.providerId) return `has another call's result for call ${index}`;
  }
  return undefined;
}

function resultsProblem(item: HistoryItem, before: HistoryItem | undefined): string | undefined {
  if (item.type !== "results") return undefined;
  const calls = before?.type === "assistant" ? callsOf(before.parts).length : 0;
  return calls === 0 ? `has ${item.results.length} results that no call stands before` : undefined;
}

/** What a strict provider would say of such a history, without asking it; undefined = it may be asked. */
export function refusedBefore(history: readonly HistoryItem[]): ModelOutcome | undefined {
  const message = pairingProblem(history);
  if (message === undefined) return undefined;
  return { ok: false, code: "refused_request", message, retryAfterMs: null, parts: [], usage: { inputTokens: 0, outputTokens: 0 } };
}

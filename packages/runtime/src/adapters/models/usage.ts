// Counts tokens roughly where a provider tells none, so that budgets are never blind.
import type { ModelRequest, ModelUsage } from "../../session/model.ts";
import type { AssistantPart, HistoryItem } from "../../session/types.ts";

const charsPerToken = 4;

export function roughUsage({ system, history }: Pick<ModelRequest, "system" | "history">, parts: readonly AssistantPart[]): ModelUsage {
  const heard = history.reduce((sum, item) => sum + charsOfItem(item), system.length);
  return { inputTokens: tokens(heard), outputTokens: tokens(charsOf(parts)) };
}

const tokens = (chars: number): number => Math.ceil(chars / charsPerToken);

const charsOf = (parts: readonly AssistantPart[]): number =>
  parts.reduce((sum, part) => sum + (part.type === "tool_call" ? part.name.length + part.argumentsText.length : part.text.length), 0);

function charsOfItem(item: HistoryItem): number {
  if (item.type === "user") return item.text.length;
  return item.type === "assistant" ? charsOf(item.parts) : item.results.reduce((sum, { text }) => sum + text.length, 0);
}

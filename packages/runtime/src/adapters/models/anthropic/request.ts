// Writes a history as the Messages API wants it: turns alternate, and results stand at once behind their calls.
import type { ModelRequest } from "../../../session/model.ts";
import { shownCallIds, type StableHash } from "../../../session/provider-names.ts";
import type { AssistantPart, HistoryItem, ToldResult } from "../../../session/types.ts";
import { argumentsObject, shownName, shownText, shownWords } from "../shown.ts";

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}
export type Block = Readonly<Record<string, unknown>> & { readonly type: string };

export interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: string;
  readonly temperature?: number;
  readonly messages: readonly Message[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly stream: true;
}

export function messagesRequest({ choice, system, history, tools }: ModelRequest, hash: StableHash): MessagesRequest {
  return {
    model: choice.name,
    max_tokens: choice.maxOutputTokens,
    ...(system.trim() === "" ? {} : { system: shownText(system) }),
    ...(choice.temperature === undefined ? {} : { temperature: choice.temperature }),
    messages: messagesOf(history, hash),
    ...(tools.length === 0 ? {} : { tools: tools.map(({ name, description, input }) => ({ name, description: shownText(description), input_schema: input })) }),
    stream: true,
  };
}

function messagesOf(history: readonly HistoryItem[], hash: StableHash): readonly Message[] {
  const ids = shownCallIds(history, hash);
  const messages: { role: Message["role"]; content: Block[] }[] = [];
  for (const [at, item] of history.entries()) {
    const role = item.type === "assistant" ? "assistant" : "user";
    const content = blocksOf(item, ids[at] ?? []);
    // An answer without a word is left out: it may not be sent, and nothing hangs on it.
    if (content.length === 0) continue;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  return messages;
}

function blocksOf(item: HistoryItem, ids: readonly string[]): Block[] {
  if (item.type === "user") return [{ type: "text", text: shownWords(item.text) }];
  if (item.type === "results") return item.results.map((result, index) => resultBlock(result, ids[index] ?? ""));
  let calls = 0;
  return item.parts.flatMap((part) => partBlock(part, part.type === "tool_call" ? (ids[calls++] ?? "") : ""));
}

function partBlock(part: AssistantPart, id: string): Block[] {
  if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: shownText(part.text) }];
  if (part.type === "thought") return thoughtBlock(part);
  // An object must stand there, so what the model wrote unreadably is an empty one; the result behind it says what was wrong.
  return [{ type: "tool_use", id, name: shownName(part.name), input: argumentsObject(part.argumentsText) ?? {} }];
}

/** As it came: the provider checks its own signature. Thoughts without one are of another provider. */
function thoughtBlock({ text, metadata }: Extract<AssistantPart, { type: "thought" }>): Block[] {
  const { redacted, signature } = metadata ?? {};
  if (typeof redacted === "string") return [{ type: "redacted_thinking", data: redacted }];
  return typeof signature === "string" ? [{ type: "thinking", thinking: text, signature }] : [];
}

function resultBlock({ text, isError }: ToldResult, id: string): Block {
  const content = isError ? shownWords(text) : shownText(text);
  return { type: "tool_result", tool_use_id: id, content, ...(isError ? { is_error: true } : {}) };
}

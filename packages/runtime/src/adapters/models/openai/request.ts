// Writes a history as the Chat Completions API wants it: one message for each result, behind the answer that asked.
import type { ModelRequest } from "../../../session/model.ts";
import { shownCallIds, type StableHash } from "../../../session/provider-names.ts";
import type { AssistantPart, HistoryItem, ToldResult } from "../../../session/types.ts";
import { recordOf } from "../loose.ts";
import { argumentsObject, shownName, shownText, shownWords } from "../shown.ts";

export type ChatMessage = Readonly<Record<string, unknown>> & { readonly role: "system" | "user" | "assistant" | "tool" };

/** What differs between OpenAI's own servers and those of others that speak the same. */
export interface Dialect {
  /** `max_completion_tokens`, or `max_tokens` where that is older than the server. */
  readonly tokensField: "max_completion_tokens" | "max_tokens";
  /** Templates of others read the arguments in a history as JSON, and fail for ever at those that are none. */
  readonly argumentsMustBeJson: boolean;
  /** Some old servers refuse to be asked for usage. */
  readonly streamUsage: boolean;
  /** Whether thoughts go back to where they came from. */
  readonly returnThoughts: boolean;
}

export function chatRequest({ choice, system, history, tools }: ModelRequest, dialect: Dialect, hash: StableHash): Readonly<Record<string, unknown>> {
  return {
    model: choice.name,
    [dialect.tokensField]: choice.maxOutputTokens,
    ...(choice.temperature === undefined ? {} : { temperature: choice.temperature }),
    messages: [...(system.trim() === "" ? [] : [{ role: "system", content: shownText(system) }]), ...messagesOf(history, dialect, hash)],
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, input }) => ({ type: "function", function: { name, description: shownText(description), parameters: input } })) }),
    stream: true,
    ...(dialect.streamUsage ? { stream_options: { include_usage: true } } : {}),
  };
}

function messagesOf(history: readonly HistoryItem[], dialect: Dialect, hash: StableHash): readonly ChatMessage[] {
  const ids = shownCallIds(history, hash);
  const messages: ChatMessage[] = [];
  for (const [at, item] of history.entries()) {
    if (item.type === "user") addUser(messages, shownWords(item.text));
    else if (item.type === "assistant") messages.push(...assistantMessage(item.parts, ids[at] ?? [], dialect));
    else messages.push(...item.results.map((result, index) => resultMessage(result, ids[at]?.[index] ?? "")));
  }
  return messages;
}

/** Many templates want turns to alternate, so messages in a row become one. */
function addUser(messages: ChatMessage[], text: string): void {
  const last = messages.at(-1);
  if (last?.role !== "user") messages.push({ role: "user", content: text });
  else messages[messages.length - 1] = { role: "user", content: `${String(last["content"])}\n\n${text}` };
}

/** An answer without a word and without a call is left out: it may not be sent, and nothing hangs on it. */
function assistantMessage(parts: readonly AssistantPart[], ids: readonly string[], dialect: Dialect): readonly ChatMessage[] {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const calls = parts.filter((part) => part.type === "tool_call").map((part, index) => callOf(part, ids[index] ?? "", dialect));
  if (text.trim() === "" && calls.length === 0) return [];
  const attached = parts.map((part) => (part.type === "thought" && dialect.returnThoughts ? recordOf(part.metadata?.["message"]) : undefined));
  const content = text === "" ? null : shownText(text);
  return [{ ...Object.assign({}, ...attached), role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
}

function callOf({ name, argumentsText, metadata }: Extract<AssistantPart, { type: "tool_call" }>, id: string, { argumentsMustBeJson }: Dialect): unknown {
  const readable = !argumentsMustBeJson || argumentsObject(argumentsText) !== undefined;
  return { ...recordOf(metadata?.["call"]), id, type: "function", function: { name: shownName(name), arguments: readable ? shownText(argumentsText) : "{}" } };
}

/** There is no other place in which to say that it went wrong. */
function resultMessage({ text, isError }: ToldResult, id: string): ChatMessage {
  const content = isError && !/^error/i.test(text) ? `Error: ${shownText(text)}` : shownText(text);
  return { role: "tool", tool_call_id: id, content };
}

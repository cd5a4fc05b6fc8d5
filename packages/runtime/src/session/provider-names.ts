// What providers see of us: names of tools, ids of calls, and histories in which every call has its result.
import { toolCallsOf, type ToolCallPart } from "./turn/told.ts";
import type { AssistantPart, HistoryItem, ToldResult } from "./types.ts";

const usable = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether every provider takes it, as the name of a tool and as the id of a call. */
export function isProviderSafe(name: string): boolean {
  return usable.test(name);
}

/** A text's stable hash: at least 26 characters of `A-Z a-z 0-9`, equal for equal texts on every machine. */
export type StableHash = (text: string) => string;

/**
 * The ids under which a provider is shown the calls of each item of a history: of an answer and of the results behind
 * it the same ones, by call; none for messages. The provider's own id is kept where it is usable and new in the
 * history; else it is `call_` and 26 characters that hang on the call's place. What is appended later changes none.
 */
export function shownCallIds(history: readonly HistoryItem[], hash: StableHash): readonly (readonly string[])[] {
  const seen = new Set<string>();
  let ids: readonly string[] = [];
  return history.map((item) => {
    if (item.type === "user") return [];
    if (item.type === "assistant")
      ids = toolCallsOf(item.parts).map(({ providerId }, index) => {
        const own = isProviderSafe(providerId) && !seen.has(providerId);
        const id = own ? providerId : `call_${hash(`${item.turn}.${item.step}.${index}`).slice(0, 26)}`;
        seen.add(id);
        return id;
      });
    return ids;
  });
}

/**
 * Why a strict provider would refuse this history; undefined = it would not. Every answer with tool calls must have
 * exactly one result for each, in their order, right behind it, and no result may stand anywhere else.
 */
export function pairingFault(history: readonly HistoryItem[]): string | undefined {
  for (const [at, item] of history.entries()) {
    const fault = item.type === "assistant" ? answered(item.parts, history[at + 1]) : strays(item, history[at - 1]);
    if (fault !== undefined) return `history item ${at}: ${fault}`;
  }
  return undefined;
}

function answered(parts: readonly AssistantPart[], next: HistoryItem | undefined): string | undefined {
  if (parts.length === 0) return "an answer that says nothing";
  const asked = toolCallsOf(parts);
  if (asked.length === 0) return undefined;
  if (next?.type !== "results") return `${asked.length} calls without results behind them`;
  if (next.results.length !== asked.length) return `${asked.length} calls and ${next.results.length} results`;
  const wrong = next.results.findIndex((result, index) => !belongs(result, asked[index], index));
  return wrong === -1 ? undefined : `the result in place ${wrong} is not that of call ${wrong}`;
}

function belongs(result: ToldResult, call: ToolCallPart | undefined, index: number): boolean {
  return result.index === index && result.providerId === call?.providerId && result.name === call.name;
}

function strays(item: HistoryItem, before: HistoryItem | undefined): string | undefined {
  if (item.type !== "results") return undefined;
  return before?.type === "assistant" && toolCallsOf(before.parts).length > 0
    ? undefined
    : "results without calls before them";
}

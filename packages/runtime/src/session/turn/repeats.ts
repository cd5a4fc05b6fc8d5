// Tells a model that repeats the same failing call to stop it: a flat error, told for ever, makes some of them loop.
import type { HistoryItem, ToldResult } from "../types.ts";
import { turnBounds } from "./bounds.ts";
import { toolCallsOf } from "./told.ts";

/**
 * The results with a stronger text where this turn has seen the same name and arguments fail often, without a success
 * in between. Others that failed in between do not hide the repetition.
 * @param history ends with the answer whose calls these are the results of
 */
export function warnOfRepeats(
  history: readonly HistoryItem[],
  turn: number,
  results: readonly ToldResult[],
): readonly ToldResult[] {
  const failures = new Map<string, number>();
  let keys: readonly string[] = [];
  let from = history.length;
  while (from > 0 && history[from - 1]?.turn === turn) from--;
  for (const item of history.slice(from)) {
    if (item.type === "assistant") keys = toolCallsOf(item.parts).map((part) => `${part.name}\n${part.argumentsText}`);
    if (item.type === "results") for (const result of item.results) count(result);
  }
  return results.map((result) => {
    const times = count(result);
    if (times < turnBounds.sameFailuresMax) return result;
    const text = `${result.text}\n[Repeated]\nthis very call has failed ${times} times in this turn, and it will fail again: do not repeat it. Change its arguments, use another tool, or say what is in the way`;
    return { ...result, text };
  });

  function count(result: ToldResult): number {
    const key = keys[result.index] ?? "";
    // What was cancelled, or may have run, says nothing about the next attempt.
    const failed = result.isError && (result.status === "failed" || result.status === "denied");
    const times = failed ? (failures.get(key) ?? 0) + 1 : result.isError ? (failures.get(key) ?? 0) : 0;
    failures.set(key, times);
    return failed ? times : 0;
  }
}

// A model that plays a file of turns: the same history is always given the same answer.
import type { Clock } from "../../../corridor/ports.ts";
import type { Model, ModelDelta, ModelOutcome, ModelRequest, ModelUsage } from "../../../session/model.ts";
import type { AssistantPart, HistoryItem } from "../../../session/types.ts";
import { pairingProblem } from "../pairing.ts";
import { roughUsage } from "../usage.ts";
import { choose, toldBy } from "./choose.ts";
import { fillText, fillValue, type Told } from "./templates.ts";
import type { ScriptedCompletion, Scripts } from "./types.ts";

/** One request, as it stands in the trace; `position` counts from 0. */
export interface ScriptedTrace {
  readonly key: string;
  readonly script: string;
  readonly branch: number | null;
  readonly position: number;
  readonly history_length: number;
}

export interface ScriptedOptions {
  readonly scripts: Scripts;
  readonly clock: Pick<Clock, "after">;
  /** Hears of every request before it is answered. */
  readonly onRequest?: (trace: ScriptedTrace) => void;
}

const nothing: ModelUsage = { inputTokens: 0, outputTokens: 0 };

export function scriptedModel({ scripts, clock, onRequest }: ScriptedOptions): Model {
  return {
    async complete(request, signal, onDelta) {
      const { history, key } = request;
      const script = scripts.get(request.choice.name);
      const problem = pairingProblem(history);
      if (script === undefined) return failed("refused_request", `there is no script ${JSON.stringify(request.choice.name)}; there are ${[...scripts.keys()].join(", ")}`);
      const { completion, position, branch } = choose(script, history);
      onRequest?.({ key, script: request.choice.name, branch, position, history_length: history.length });
      if (problem !== undefined) return failed("refused_request", problem);
      const played = completion ?? over(position, script.branches !== undefined && branch === null);
      await pause(played.delayMs, clock, signal);
      if (signal.aborted) return failed("cancelled", "the request was cancelled");
      return play(played, request, toldBy(history), signal, onDelta);
    },
  };
}

function play(completion: ScriptedCompletion, request: ModelRequest, told: Told, signal: AbortSignal, onDelta: (delta: ModelDelta) => void): ModelOutcome {
  const parts: AssistantPart[] = [];
  const failing = failureOf(completion, request.history);
  const cancelled = (): ModelOutcome => ({ ...failed("cancelled", "the request was cancelled"), parts, usage: completion.usage ?? roughUsage(request, parts) });
  for (const type of ["thought", "text"] as const) {
    const template = completion[type];
    if (template === undefined || template === "") continue;
    let text = "";
    for (const word of wordsOf(fillText(template, told))) {
      text += word;
      onDelta({ type, text: word });
      if (signal.aborted) break;
    }
    if (text !== "") parts.push({ type, text });
    if (signal.aborted) return cancelled();
  }
  if (failing !== undefined) return { ...failed(failing.code, failing.message), retryAfterMs: failing.retryAfterMs, parts, usage: completion.usage ?? roughUsage(request, parts) };
  for (const [index, call] of completion.calls.entries()) {
    onDelta({ type: "tool_call", name: call.tool });
    const argumentsText = call.argumentsText ?? JSON.stringify(fillValue(call.input, told));
    parts.push({ type: "tool_call", providerId: `scripted_${answersIn(request.history)}_${index}`, name: call.tool, argumentsText });
  }
  if (signal.aborted) return cancelled();
  return { ok: true, parts, stop: completion.stop, usage: completion.usage ?? roughUsage(request, parts) };
}

const failed = (code: string, message: string): Extract<ModelOutcome, { ok: false }> => ({ ok: false, code, message, retryAfterMs: null, parts: [], usage: nothing });

/** Pieces of the text that together are the text. */
const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+\s*|\s+/g) ?? [];

const answersIn = (history: readonly HistoryItem[]): number => history.filter(({ type }) => type === "assistant").length;

/** A failure adds nothing to the history, so only the turn's number can tell that it is over. */
function failureOf({ fail }: ScriptedCompletion, history: readonly HistoryItem[]): ScriptedCompletion["fail"] {
  if (fail?.untilTurn === undefined) return fail;
  return (history.at(-1)?.turn ?? 0) < fail.untilTurn ? fail : undefined;
}

function over(position: number, unmatched: boolean): ScriptedCompletion {
  const text = unmatched ? "No branch of the script is for this message." : `The script is over: it has no completion ${position + 1}.`;
  return { text, thought: undefined, calls: [], stop: "end_turn", delayMs: 0, usage: undefined, fail: undefined };
}

/** Resolves after the time, or as soon as the signal aborts. */
async function pause(ms: number, clock: Pick<Clock, "after">, signal: AbortSignal): Promise<void> {
  if (ms === 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const stop = clock.after(ms, wake);
  signal.addEventListener("abort", wake);
  await promise;
  stop();
  signal.removeEventListener("abort", wake);
}

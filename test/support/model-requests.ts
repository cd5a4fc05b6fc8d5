// Histories and requests as models are given them, in few words.
import type { Model, ModelDelta, ModelOutcome, ModelRequest, ShownTool } from "../../packages/runtime/src/session/model.ts";
import type { AssistantPart, HistoryItem, ProviderMetadata, StopReason, ToldResult } from "../../packages/runtime/src/session/types.ts";

export const user = (text: string, turn = 1): HistoryItem => ({ type: "user", turn, by: "user:ann", text, inboxSeq: turn });

let step = 0;
/** Every answer of a test file has a step of its own. */
export const answer = (...parts: readonly AssistantPart[]): HistoryItem => answerAt(++step, "end_turn", ...parts);
export const answerAt = (at: number, stop: StopReason, ...parts: readonly AssistantPart[]): HistoryItem => ({
  type: "assistant",
  turn: 1,
  step: at,
  parts,
  stop,
  usage: { inputTokens: 0, outputTokens: 0 },
});

export const said = (text: string): AssistantPart => ({ type: "text", text });
export const thought = (text: string, metadata?: ProviderMetadata): AssistantPart => ({ type: "thought", text, ...(metadata === undefined ? {} : { metadata }) });
export const call = (providerId: string, argumentsText = "{}", name = "find", metadata?: ProviderMetadata): AssistantPart => ({
  type: "tool_call",
  providerId,
  name,
  argumentsText,
  ...(metadata === undefined ? {} : { metadata }),
});

export function told(index: number, providerId: string, text: string, isError = false, name = "find"): ToldResult {
  const base = { callId: `c${index}`, name, told: "row", errorCode: null, editedArgsJson: null, editedBy: null, durationMs: 1 } as const;
  return { ...base, index, providerId, status: isError ? "failed" : "succeeded", text, isError };
}
export const results = (...list: readonly ToldResult[]): HistoryItem => ({ type: "results", turn: 1, step, results: list, settled: list.map(({ index }) => index) });

export const findTool: ShownTool = { name: "find", description: "Finds things.", input: { type: "object", properties: { q: { type: "string" } } } };

export function requestOf(history: readonly HistoryItem[], changes: Partial<ModelRequest> = {}): ModelRequest {
  const choice = { provider: "here", name: "m-1", maxOutputTokens: 1_000, temperature: undefined };
  return { choice, system: "Be brief.", history, tools: [findTool], key: "t1.e1", ...changes };
}

export interface Asked {
  readonly outcome: ModelOutcome;
  readonly deltas: readonly ModelDelta[];
}

export async function askModel(model: Model, request: ModelRequest, signal = new AbortController().signal): Promise<Asked> {
  const deltas: ModelDelta[] = [];
  const outcome = await model.complete(request, signal, (delta) => deltas.push(delta));
  return { outcome, deltas };
}

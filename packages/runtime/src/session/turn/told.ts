// What a model is told of calls that were not run: refusals before there was a row, and ends that the runtime wrote.
import type { AssistantPart, ProviderMetadata, ToldResult } from "../types.ts";
import type { PreparedCall } from "./types.ts";

/** A call as far as its answer must name it. */
export interface Named {
  readonly index: number;
  readonly callId: string;
  readonly providerId: string;
  readonly name: string;
  readonly metadata?: ProviderMetadata;
}

export type ToolCallPart = Extract<AssistantPart, { readonly type: "tool_call" }>;

/** The tool calls of an answer, in order. */
export function toolCallsOf(parts: readonly AssistantPart[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === "tool_call");
}

function unrun(call: Named, more: Pick<ToldResult, "told" | "status" | "text" | "errorCode" | "cancelledBy">): ToldResult {
  return {
    index: call.index,
    callId: call.callId,
    providerId: call.providerId,
    name: call.name,
    ...more,
    isError: true,
    editedArgsJson: null,
    editedBy: null,
    durationMs: 0,
    ...(call.metadata === undefined ? {} : { metadata: call.metadata }),
  };
}

/** It was not run, for a reason that stands in the model's own answer or in a budget. */
export function refusedResult(call: Named, errorCode: string, message: string): ToldResult {
  const text = `[Tool not run]\n${message}`;
  return unrun(call, { told: "refused", status: "failed", text, errorCode });
}

/** It was not run, or is no longer waited for, because somebody cancelled. */
export function cancelledResult(call: Named): ToldResult {
  const text = "[Tool execution cancelled]\ntool call cancelled";
  return unrun(call, { told: "synthetic", status: "cancelled", text, errorCode: "cancelled", cancelledBy: "runtime" });
}

/** It may have run, and nobody can say so here; never a success that was made up. */
export function unknownResult(call: Named): ToldResult {
  const text =
    "[Tool result unknown]\nthe turn broke off before it was known what this call did: look before repeating it";
  return unrun(call, { told: "synthetic", status: "indeterminate", text, errorCode: "indeterminate" });
}

/** What becomes of a call that is not run. */
export type Settle = (call: Named) => ToldResult;

/**
 * The results under the names that the model gave its calls, by index. What was settled in preparation stays as it was.
 * @param results one for each call, in whatever order
 */
export function inCallOrder(calls: readonly PreparedCall[], results: readonly ToldResult[]): readonly ToldResult[] {
  const byIndex = new Map(results.map((result) => [result.index, result]));
  return calls.map((call) => {
    const result = call.settled ?? byIndex.get(call.index) ?? unknownResult(call);
    const { providerId, name, metadata = result.metadata } = call;
    return { ...result, providerId, name, ...(metadata === undefined ? {} : { metadata }) };
  });
}

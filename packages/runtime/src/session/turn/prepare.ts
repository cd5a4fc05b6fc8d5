// Freezes the tool calls of one answer: ids, pinned tools, arguments, and what is settled before anything runs.
import { cutText, sessionCallId } from "@signalbox/protocol";
import { nearNames } from "../../document/nearest.ts";
import { readArguments } from "../arguments.ts";
import type { HistoryItem } from "../types.ts";
import { turnBounds } from "./bounds.ts";
import { refusedResult, toolCallsOf, type Named, type ToolCallPart } from "./told.ts";
import type { BoundTool, PreparedCall, TurnConfig } from "./types.ts";

export type AssistantItem = Extract<HistoryItem, { readonly type: "assistant" }>;
export type Identity = Pick<TurnConfig, "sessionId" | "agentVersionId">;

/** The calls of an answer with their ids: equal answers at the same place always give equal ids. */
export function namedCalls(identity: Identity, item: AssistantItem): readonly Named[] {
  return toolCallsOf(item.parts).map((part, index) => ({
    index,
    callId: sessionCallId(identity.sessionId, identity.agentVersionId, item.turn, item.step, index),
    providerId: part.providerId,
    name: part.name,
    ...(part.metadata === undefined ? {} : { metadata: part.metadata }),
  }));
}

/** One for each tool call of the answer, in its order. Those that cannot run keep their slot, settled. */
export function prepareCalls(config: TurnConfig, item: AssistantItem): readonly PreparedCall[] {
  const parts = toolCallsOf(item.parts);
  const tools = new Map(config.tools.map((tool) => [tool.alias, tool]));
  const firstOf = new Map<string, number>();
  return namedCalls(config, item).map((named): PreparedCall => {
    const part = parts[named.index] as ToolCallPart;
    const tool = tools.get(part.name);
    const cut = item.stop === "max_tokens" && named.index === parts.length - 1;
    const read = readArguments(part.argumentsText, cut);
    const first = firstOf.get(part.providerId);
    if (first === undefined && part.providerId !== "") firstOf.set(part.providerId, named.index);
    return {
      ...named,
      tool: tool?.tool ?? null,
      version: tool?.version ?? null,
      argsJson: read.ok ? read.argsJson : null,
      scheduling: tool?.scheduling ?? "parallel",
      settled: settle(),
    };

    function settle() {
      const max = turnBounds.callsPerCompletionMax;
      if (named.index >= max)
        return refusedResult(
          named,
          "too_many_calls",
          `one answer may make ${max} calls: make this one in your next answer`,
        );
      if (first !== undefined)
        return refusedResult(
          named,
          "duplicate_call_id",
          `this call has the id of call ${first + 1} of the same answer, which is answered there: give every call an id of its own`,
        );
      if (tool === undefined) return refusedResult(named, "tool_not_found", unknownTool(part.name, config.tools));
      return read.ok ? null : refusedResult(named, read.code, read.message);
    }
  });
}

function unknownTool(name: string, tools: readonly BoundTool[]): string {
  const told = JSON.stringify(cutText(name, turnBounds.nameToldCharsMax));
  const names = tools.map(({ alias }) => alias);
  const near = nearNames(name, names);
  if (near.length > 0) return `there is no tool ${told}: did you mean ${near.map((one) => `"${one}"`).join(" or ")}?`;
  if (names.length === 0) return `there is no tool ${told}, and no other one: answer without tools`;
  const listed = names.slice(0, turnBounds.namesToldMax).join(", ");
  const rest = names.length - turnBounds.namesToldMax;
  return `there is no tool ${told}: the tools are ${listed}${rest > 0 ? ` and ${rest} more` : ""}`;
}

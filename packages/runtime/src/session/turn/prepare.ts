// Freezes the tool calls of one answer: ids, pinned tools, arguments, and what is settled before anything runs.
import { cutText, sessionCallId } from "@signalbox/protocol";
import { nearNames } from "../../document/nearest.ts";
import { readArguments, type ArgumentsRead } from "../arguments.ts";
import type { HistoryItem } from "../types.ts";
import { turnBounds } from "./bounds.ts";
import { refusedResult, toolCallsOf, type Named } from "./told.ts";
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
  return namedCalls(config, item).map((named) => {
    const { index, providerId } = named;
    if (providerId !== "" && !firstOf.has(providerId)) firstOf.set(providerId, index);
    const tool = tools.get(named.name);
    const cut = item.stop === "max_tokens" && index === parts.length - 1;
    const read = readArguments(parts[index]?.argumentsText ?? "", cut);
    const refusal = refusalOf(named, firstOf.get(providerId) ?? index, tool, read, config.tools);
    return {
      ...named,
      tool: tool?.tool ?? null,
      version: tool?.version ?? null,
      argsJson: read.ok ? read.argsJson : null,
      scheduling: tool?.scheduling ?? "parallel",
      settled: refusal === undefined ? null : refusedResult(named, ...refusal),
    };
  });
}

type Refusal = readonly [code: string, message: string];

/** @param first the first call of the answer under this call's provider id: itself, or the one that answers for it */
function refusalOf(
  { index, name }: Named,
  first: number,
  tool: BoundTool | undefined,
  read: ArgumentsRead,
  tools: readonly BoundTool[],
): Refusal | undefined {
  const max = turnBounds.callsPerCompletionMax;
  if (index >= max) return ["too_many_calls", `one answer may make ${max} calls: make this one in your next answer`];
  if (first !== index) {
    const other = `this call has the id of call ${first + 1} of the same answer, which is answered there`;
    return ["duplicate_call_id", `${other}: give every call an id of its own`];
  }
  if (tool === undefined) return ["tool_not_found", unknownTool(name, tools)];
  return read.ok ? undefined : [read.code, read.message];
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

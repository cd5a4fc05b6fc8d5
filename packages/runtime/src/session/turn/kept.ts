// Which parts of an answer become history: all that a provider will take back.
import type { AssistantPart } from "../types.ts";

/** A whole answer, without what says nothing: providers refuse blank texts. Arguments that were left out are empty ones. */
export function keptParts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  return parts.filter(speaks).map((part) => {
    if (part.type !== "tool_call") return part;
    return { ...part, argumentsText: part.argumentsText ?? "" };
  });
}

function speaks(part: AssistantPart): boolean {
  return part.type === "tool_call" || part.text.trim() !== "" || part.metadata !== undefined;
}

/** Of an answer that broke off: its text. Its calls were never whole, and half a thought has no signature. */
export function spokenParts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  return parts.filter((part) => part.type === "text" && part.text.trim() !== "");
}

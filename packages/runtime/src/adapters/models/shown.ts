// What a provider is shown of names and texts, so that it refuses none of them.
import { isRawNumber, parseJson } from "@signalbox/protocol";
import { isRecord } from "../../document/problems.ts";
import { isProviderSafe } from "../../session/provider-names.ts";

const argumentsDepthMax = 512;

/** A name that a model made up may hold anything, and must not make every later request fail. */
export function shownName(name: string): string {
  return isProviderSafe(name) ? name : name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** Half of a surrogate pair makes the whole request no JSON for a strict reader. */
export const shownText = (text: string): string => text.toWellFormed();

/** Providers refuse messages without a word in them. */
export const shownWords = (text: string): string => (text.trim() === "" ? "(no text)" : shownText(text));

/** The arguments as an object, digits kept; undefined for what is none: empty, cut off, or another kind of value. */
export function argumentsObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseJson(text, { depthMax: argumentsDepthMax, protoKeys: "keep" });
  return parsed.ok && isRecord(parsed.value) && !isRawNumber(parsed.value) ? parsed.value : undefined;
}

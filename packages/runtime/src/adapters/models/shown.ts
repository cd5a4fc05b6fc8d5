// What a provider is shown of names, ids and texts, so that it refuses none of them.
import { isRawNumber, parseJson } from "@signalbox/protocol";
import { isRecord } from "../../document/problems.ts";
import type { HistoryItem } from "../../session/types.ts";
import { callsOf } from "./pairing.ts";

/** Stable, hexadecimal or alphanumeric, at least 26 characters. */
export type StableHash = (text: string) => string;

const usable = /^[A-Za-z0-9_-]{1,64}$/;
const argumentsDepthMax = 512;

/**
 * The ids of the calls of each item of a history, of an answer and of the results behind it the same ones. The
 * provider's own is kept where it is usable and new; else it is `call_` and 26 characters that hang on the call's place.
 */
export function shownCallIds(history: readonly HistoryItem[], hash: StableHash): readonly (readonly string[])[] {
  const seen = new Set<string>();
  let ids: readonly string[] = [];
  return history.map((item) => {
    if (item.type === "user") return [];
    if (item.type === "results") return ids;
    ids = callsOf(item.parts).map(({ providerId }, index) => {
      const id = usable.test(providerId) && !seen.has(providerId) ? providerId : `call_${hash(`${item.turn}.${item.step}.${index}`).slice(0, 26)}`;
      seen.add(id);
      return id;
    });
    return ids;
  });
}

/** A name that a model made up may hold anything, and must not make every later request fail. */
export function shownName(name: string): string {
  return usable.test(name) ? name : name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
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

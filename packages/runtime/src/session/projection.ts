// The chronological projection of a session: what was said and what tools emitted, in one numbered list that is the same on every replay.
import { cutText, limits, parseJson, utf8Bytes } from "@signalbox/protocol";
import type { HistoryItem, HostEvent, ToldResult } from "./types.ts";

/** `index` counts from 0 over the whole session, and never changes: a longer history only adds to the end. */
export type Projected = { readonly index: number; readonly turn: number } & (
  | { readonly type: "user"; readonly by: string; readonly text: string }
  | { readonly type: "assistant"; readonly step: number; readonly text: string; readonly calls: readonly { readonly name: string; readonly arguments: string }[] }
  /** `cut`: the payload is too large for this list, or is no JSON; it stays with its call. */
  | { readonly type: "event"; readonly step: number; readonly execution_id: string; readonly event: string; readonly ordinal: number; readonly payload: unknown; readonly cut?: true }
  | { readonly type: "result"; readonly step: number; readonly execution_id: string; readonly name: string; readonly status: ToldResult["status"]; readonly text: string }
);

export interface Projection {
  /** The newest that fit, oldest first. */
  readonly items: readonly Projected[];
  /** There are older ones. */
  readonly cut: boolean;
}

/** By call id, each list by ordinal. */
export type EmittedByCall = ReadonlyMap<string, readonly Pick<HostEvent, "ordinal" | "type" | "payloadJson">[]>;

export const projectionBounds = {
  /** Of one text; what is longer ends in `…`. */
  textCharsMax: 2_000,
  /** Of one event; what is larger is left out, and that is said. */
  payloadBytesMax: 2 * 1024,
  /** Of the whole list, as a tool is given it beside the rest of its context. */
  projectionBytesMax: 12 * 1024,
} as const;

type Unnumbered<T> = T extends unknown ? Omit<T, "index"> : never;

/**
 * Results stand in the order in which their calls settled, behind what these emitted. Of a call that the model was told about sooner than
 * it ended nothing more is told, whatever it emits since: else the list would change.
 */
export function projectionOf(history: readonly HistoryItem[], emitted: EmittedByCall): readonly Projected[] {
  return history.flatMap((item) => entriesOf(item, emitted)).map((entry, index) => ({ index, ...entry }));
}

function entriesOf(item: HistoryItem, emitted: EmittedByCall): readonly Unnumbered<Projected>[] {
  const { turn } = item;
  if (item.type === "user") return [{ type: "user", turn, by: item.by, text: shortened(item.text) }];
  const { step } = item;
  if (item.type === "assistant") {
    const text = item.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    const calls = item.parts.flatMap((part) => (part.type === "tool_call" ? [{ name: part.name, arguments: shortened(part.argumentsText) }] : []));
    return [{ type: "assistant", turn, step, text: shortened(text), calls }];
  }
  return item.settled.flatMap((index) => {
    const result = item.results.find((one) => one.index === index);
    if (result === undefined) return [];
    const { callId, name, status, text, told } = result;
    const events = told === "row" ? (emitted.get(callId) ?? []) : [];
    return [
      ...events.map(({ ordinal, type, payloadJson }) => ({ type: "event", turn, step, execution_id: callId, event: type, ordinal, ...payloadOf(payloadJson) }) as const),
      { type: "result", turn, step, execution_id: callId, name, status, text: shortened(text) } as const,
    ];
  });
}

/** @param bytesMax of the items as JSON, in UTF-8 */
export function newestOf(items: readonly Projected[], bytesMax: number): Projection {
  let left = bytesMax;
  let from = items.length;
  for (; from > 0; from--) {
    left -= utf8Bytes(JSON.stringify(items[from - 1])) + 1;
    if (left < 0) break;
  }
  return { items: items.slice(from), cut: from > 0 };
}

function shortened(text: string): string {
  return cutText(text, projectionBounds.textCharsMax);
}

function payloadOf(payloadJson: string): { readonly payload: unknown; readonly cut?: true } {
  if (utf8Bytes(payloadJson) > projectionBounds.payloadBytesMax) return { payload: null, cut: true };
  const parsed = parseJson(payloadJson, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  return parsed.ok ? { payload: parsed.value } : { payload: null, cut: true };
}

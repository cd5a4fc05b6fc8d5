// Looks at a cursor before it becomes parameters: PostgreSQL takes no text for a number, and would refuse the statement.
import { SignalboxError } from "@signalbox/protocol";
import { readCursor } from "../sqlite/paging.ts";

export type KeyKind = "number" | "text";

/**
 * The cursor, if it is one of a list that is sorted by columns of these kinds.
 * @throws SignalboxError invalid_input when it is not
 */
export function fittingCursor(cursor: string | undefined, ...kinds: readonly KeyKind[]): string | undefined {
  if (cursor === undefined) return undefined;
  const key = readCursor(cursor, kinds.length);
  const fits = (part: string | number, at: number): boolean =>
    kinds[at] === "text" ? typeof part === "string" : Number.isSafeInteger(part);
  if (!key.every(fits))
    throw new SignalboxError("invalid_input", "The cursor is not one that this list gave out; start without a cursor.");
  return cursor;
}

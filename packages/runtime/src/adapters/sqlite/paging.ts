// Builds the conditions of a list and its opaque cursor: the sort key of the last row that was handed out.
import type { SQLInputValue } from "node:sqlite";
import { SignalboxError } from "@signalbox/protocol";
import type { Page } from "../../ledger/port.ts";

type SortKey = readonly (string | number)[];

export function writeCursor(key: SortKey): string {
  return Buffer.from(JSON.stringify(key), "utf8").toString("base64url");
}

/**
 * @param columns how many sort columns the list has; undefined: any number of pairs
 * @throws SignalboxError invalid_input when the text is no cursor of such a list
 */
export function readCursor(cursor: string, columns?: number): SortKey {
  let key: unknown;
  try {
    key = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    key = undefined;
  }
  const isPart = (part: unknown): boolean => typeof part === "string" || typeof part === "number";
  if (
    !Array.isArray(key) ||
    (columns === undefined ? key.length % 2 !== 0 : key.length !== columns) ||
    !key.every(isPart)
  ) {
    throw new SignalboxError("invalid_input", "The cursor is not one that this list gave out; start without a cursor.");
  }
  return key as SortKey;
}

/** AND-ed conditions; a value that is undefined adds none. Column names are constants of the caller, never input. */
export function conditions() {
  const terms: string[] = [];
  const bound: SQLInputValue[] = [];
  const add = (term: string, values: readonly SQLInputValue[]): void => {
    terms.push(term);
    bound.push(...values);
  };
  const builder = {
    equal(column: string, value: string | undefined) {
      if (value !== undefined) add(`${column} = ?`, [value]);
      return builder;
    },
    /** From inclusive, to exclusive. */
    range(column: string, from: number | undefined, to: number | undefined) {
      if (from !== undefined) add(`${column} >= ?`, [from]);
      if (to !== undefined) add(`${column} < ?`, [to]);
      return builder;
    },
    /** Both inclusive. */
    between(column: string, first: string | undefined, last: string | undefined) {
      if (first !== undefined) add(`${column} >= ?`, [first]);
      if (last !== undefined) add(`${column} <= ?`, [last]);
      return builder;
    },
    /** Rows behind the cursor of a list that is sorted by these columns, all descending. */
    before(columns: readonly string[], cursor: string | undefined) {
      if (cursor !== undefined) rowCompare(columns, "<", cursor);
      return builder;
    },
    /** The same for an ascending list. */
    after(columns: readonly string[], cursor: string | undefined) {
      if (cursor !== undefined) rowCompare(columns, ">", cursor);
      return builder;
    },
    /** The same for a list that is sorted by `first` ascending and, where that is equal, by these columns descending. */
    behind(first: string, columns: readonly string[], cursor: string | undefined) {
      if (cursor === undefined) return builder;
      const [at = "", ...rest] = readCursor(cursor, columns.length + 1);
      const compared = `(${columns.join(", ")}) < (${columns.map(() => "?").join(", ")})`;
      // The first term alone names the range that an index can be searched for.
      add(`${first} >= ? AND (${first} > ? OR ${compared})`, [at, at, ...rest]);
      return builder;
    },
    /** A condition of the caller, word for word. */
    also(term: string) {
      add(term, []);
      return builder;
    },
    sql: () => (terms.length === 0 ? "TRUE" : terms.join(" AND ")),
    values: () => bound,
  };
  const rowCompare = (columns: readonly string[], sign: "<" | ">", cursor: string): void => {
    const parameters = columns.map(() => "?").join(", ");
    add(`(${columns.join(", ")}) ${sign} (${parameters})`, [...readCursor(cursor, columns.length)]);
  };
  return builder;
}

/** Makes a page of rows that were asked for with one more than the limit. */
export function pageOf<T>(rows: readonly T[], limit: number, sortKey: (row: T) => SortKey): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(sortKey(last)) : undefined };
}

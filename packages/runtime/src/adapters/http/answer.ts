// What a route hands back: a status and a body that is already text. Nothing between it and the socket looks inside.

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** In place of the text: written as it comes, and asked for no faster than the reader takes it. */
  readonly stream?: AsyncIterable<string>;
  /** JSON unless said otherwise. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The call that the answer is about; for the log line. */
  readonly executionId?: string;
  /** The code of the error that the answer tells; for the log line. */
  readonly code?: string;
}

export const jsonType = "application/json; charset=utf-8";

/** Numbers that are `JSON.rawJSON` values keep their digits. */
export function jsonAnswer(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Answer {
  const text = JSON.stringify(value);
  return headers === undefined ? { status, text } : { status, text, headers };
}

/** A list's answer. `items` is JSON texts, so that each keeps its digits. */
export function listAnswer(items: readonly string[], next: string | undefined): Answer {
  return { status: 200, text: `{"items":[${items.join(",")}],"next_cursor":${JSON.stringify(next ?? null)}}` };
}

/**
 * One page of a list that the runtime hands over whole. Ids that were made later sort later, and the cursor is the
 * last id shown, so inserts and removals between two pages shift nothing.
 */
export function pageById<T>(
  all: readonly T[],
  idOf: (item: T) => string,
  viewOf: (item: T) => Record<string, unknown>,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Answer {
  const later = all
    .filter((item) => cursor === undefined || idOf(item) > cursor)
    .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  const page = later.slice(0, limit);
  const last = page.at(-1);
  return listAnswer(
    page.map((item) => JSON.stringify(viewOf(item))),
    later.length > page.length && last !== undefined ? idOf(last) : undefined,
  );
}

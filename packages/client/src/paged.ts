// Lists that come in pages: one page for who awaits, every item for who loops.
import type { AskOptions } from "./ask.ts";
import type { CallEvent, EventPage, EventQuery, Page, PageQuery } from "./types.ts";

/**
 * Awaited, it is one page. In a `for await` it is every item from that page on; pages are asked for as the loop gets to
 * them, and stay right while things are added. `query.limit` is then the size of a page.
 */
export type Paged<Item> = Promise<Page<Item>> & AsyncIterable<Item>;

/** The same for the events of one call. */
export type PagedEvents = Promise<EventPage> & AsyncIterable<CallEvent>;

/** What every list takes: its query, and how to ask. */
export type Lister<Item, Query extends PageQuery = PageQuery> = (query?: Query, options?: AskOptions) => Paged<Item>;

type Load<Query, Found> = (query: Query, options: AskOptions | undefined) => Promise<Found>;

export function lister<Item, Query extends PageQuery = PageQuery>(load: Load<Query, Page<Item>>): Lister<Item, Query> {
  return (query, options) =>
    iterable(load, query ?? ({} as Query), options, ({ next_cursor: cursor }) =>
      cursor === null ? undefined : { cursor },
    );
}

export function pagedEvents(
  load: Load<EventQuery, EventPage>,
  query: EventQuery,
  options: AskOptions | undefined,
): PagedEvents {
  return pagedBySeq(load, query, options);
}

interface SeqPage<Item> {
  readonly items: readonly Item[];
  readonly next_after_seq: number | null;
}

/** A list whose pages begin behind a number. */
export function pagedBySeq<Item, Found extends SeqPage<Item>>(
  load: Load<EventQuery, Found>,
  query: EventQuery,
  options: AskOptions | undefined,
): Promise<Found> & AsyncIterable<Item> {
  return iterable(load, query, options, ({ next_after_seq: seq }) => (seq === null ? undefined : { after_seq: seq }));
}

/** @param next what is asked otherwise for the page behind this one; undefined = there is none */
function iterable<Item, Query extends object, Found extends { readonly items: readonly Item[] }>(
  load: Load<Query, Found>,
  query: Query,
  options: AskOptions | undefined,
  next: (page: Found) => object | undefined,
): Promise<Found> & AsyncIterable<Item> {
  const first = load(query, options);
  async function* items(): AsyncGenerator<Item, undefined> {
    for (let page = await first; ;) {
      yield* page.items;
      const more = next(page);
      if (more === undefined) return;
      page = await load({ ...query, ...more }, options);
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: items });
}

// Documents with mistakes: a good one with a few places spoilt, the way hands and programs spoil them.
import fc from "fast-check";

/** One spoilt place. `at` says which, among all there are; small numbers are far out. */
export interface Mutation {
  readonly at: number;
  readonly how: "replace" | "remove" | "rename" | "misspell" | "wrap" | "repeat" | "add" | "swap";
  readonly other: number;
  readonly key: string;
  readonly value: unknown;
}

type Holder = Record<string, unknown> | unknown[];
interface Place {
  readonly holder: Holder;
  readonly key: string | number;
}

const hows = ["replace", "replace", "remove", "rename", "misspell", "wrap", "repeat", "add", "swap"] as const;

/** @param words that stand in such documents, or nearly */
export function anyMutations(words: readonly string[]): fc.Arbitrary<readonly Mutation[]> {
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<unknown>(...words) },
    {
      weight: 3,
      arbitrary: fc.constantFrom<unknown>(
        null,
        true,
        false,
        0,
        -1,
        1.5,
        1e308,
        "",
        " ",
        "*",
        "1",
        {},
        [],
        [null],
        "\u0000",
        "🚀",
        "\ud800",
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<unknown>(
        "x".repeat(100_000),
        Array(300).fill("a"),
        Number.NaN,
        undefined,
        7n,
        "__proto__",
      ),
    },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  );
  const mutation = fc.record({
    at: fc.nat(500),
    how: fc.constantFrom(...hows),
    other: fc.nat(500),
    key: fc.constantFrom(...words, "__proto__", "constructor", "toString", ""),
    value,
  });
  const many = fc.array(mutation, { minLength: 2, maxLength: 4 });
  return fc.oneof(fc.tuple(mutation), many);
}

/** The document stays as it was; what comes back is another. */
export function spoil(document: unknown, mutations: readonly Mutation[]): unknown {
  const top: { document: unknown } = { document: structuredClone(document) };
  for (const mutation of mutations) {
    const places = placesOf(top);
    const place = places[mutation.at % places.length];
    const other = places[mutation.other % places.length];
    if (place !== undefined && other !== undefined) apply(place, other, mutation);
  }
  return top.document;
}

/** Outermost first. A document that was put into itself ends at the bound. */
function placesOf(top: Record<string, unknown>): readonly Place[] {
  const places: Place[] = Object.keys(top).map((key) => ({ holder: top, key }));
  for (const { holder, key } of places) {
    if (places.length > 2_000) break;
    const value = read(holder, key);
    if (typeof value !== "object" || value === null) continue;
    const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
    for (const inner of keys) places.push({ holder: value as Holder, key: inner });
  }
  return places;
}

const read = (holder: Holder, key: string | number): unknown => (holder as Record<string, unknown>)[key];

function write(holder: Holder, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function apply(place: Place, other: Place, { how, key, value }: Mutation): void {
  const { holder } = place;
  const old = read(holder, place.key);
  const inList = Array.isArray(holder);
  if (how === "replace") write(holder, place.key, value);
  else if (how === "wrap") write(holder, place.key, [old]);
  else if (how === "swap") {
    write(holder, place.key, read(other.holder, other.key));
    write(other.holder, other.key, old);
  } else if (how === "misspell") write(holder, place.key, typeof old === "string" ? misspelt(old) : value);
  else if (how === "add") write(holder, inList ? holder.length : key, value);
  else if (how === "repeat") write(holder, inList ? holder.length : `${String(place.key)}s`, old);
  else if (inList) holder.splice(Number(place.key), 1);
  else {
    delete holder[String(place.key)];
    if (how === "rename") write(holder, misspelt(String(place.key)), old);
  }
}

/** Its middle turned round: `deny` → `dney`. */
function misspelt(text: string): string {
  const middle = Math.floor(text.length / 2);
  return (
    text.slice(0, Math.max(0, middle - 1)) +
    text.slice(middle, middle + 1) +
    text.slice(Math.max(0, middle - 1), middle) +
    text.slice(middle + 1)
  );
}

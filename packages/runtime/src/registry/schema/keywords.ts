// What each JSON Schema keyword is, per dialect: which hold subschemas, which are checked, which only annotate.
import { isRecord } from "../../document/problems.ts";

export type Dialect = "2020-12" | "draft-07";

/**
 * `schema`: one subschema · `list`: a list of them · `map`: named ones · `items`: one or (draft-07) a list ·
 * `dependencies`: named, each a subschema or a list of names · `check`: a plain assertion · `note`: an annotation ·
 * `core`: handled by the survey itself · `refused`: never accepted.
 */
export type KeywordKind = "schema" | "list" | "map" | "items" | "dependencies" | "check" | "note" | "core" | "refused";

interface Keyword {
  readonly kind: KeywordKind;
  /** The one dialect that knows it; undefined = both. */
  readonly only?: Dialect;
  /** The subschema looks at the same value as its parent. */
  readonly inPlace?: true;
}

const both = (kind: KeywordKind, names: readonly string[]): [string, Keyword][] =>
  names.map((name) => [name, { kind }]);
const only = (dialect: Dialect, kind: KeywordKind, names: readonly string[]): [string, Keyword][] =>
  names.map((name) => [name, { kind, only: dialect }]);
const inPlace = (kind: KeywordKind, names: readonly string[]): [string, Keyword][] =>
  names.map((name) => [name, { kind, inPlace: true }]);

const keywords: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ...both("core", ["$ref", "$schema", "$id", "$defs", "definitions"]),
  ...only("2020-12", "core", ["$anchor"]),
  ...both("refused", ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"]),
  ...inPlace("list", ["allOf", "anyOf", "oneOf"]),
  ...inPlace("schema", ["not", "if", "then", "else"]),
  ["dependentSchemas", { kind: "map", only: "2020-12", inPlace: true }],
  ["dependencies", { kind: "dependencies", inPlace: true }],
  ...both("schema", ["contains", "additionalProperties", "propertyNames"]),
  ...both("items", ["items"]),
  ...only("draft-07", "schema", ["additionalItems"]),
  ...only("2020-12", "schema", ["unevaluatedItems", "unevaluatedProperties"]),
  ...only("2020-12", "list", ["prefixItems"]),
  ...both("map", ["properties", "patternProperties"]),
  ...both("check", [
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
  ]),
  ...both("check", ["maxLength", "minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems"]),
  ...both("check", ["maxProperties", "minProperties", "required"]),
  ...only("2020-12", "check", ["minContains", "maxContains", "dependentRequired"]),
  ...both("note", ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"]),
  ...both("note", ["contentEncoding", "contentMediaType", "contentSchema", "$vocabulary"]),
]);

const assertions = [...keywords].filter(([, { kind }]) => kind !== "note" && kind !== "refused").map(([name]) => name);
const longAssertions = assertions.filter((name) => name.length >= 5);

export const typeNames = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;

/** Undefined: no keyword of JSON Schema (an annotation of the author's own). */
export function keywordKind(name: string): KeywordKind | undefined {
  return keywords.get(name)?.kind;
}

/** The other dialect, if only that one knows the keyword. */
export function foreignDialect(name: string, dialect: Dialect): Dialect | undefined {
  const home = keywords.get(name)?.only;
  return home === undefined || home === dialect ? undefined : home;
}

/** The keyword that a misspelt one was meant to be; short ones are no evidence (`note` is not `not`). */
export function misspeltKeyword(
  name: string,
  distance: (a: string, b: string, max: number) => number,
): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const same = assertions.find((known) => plain(known) === plain(name));
  return same ?? longAssertions.find((known) => distance(name, known, 1) <= 1);
}

export interface Subschema {
  readonly keyword: string;
  /** Keys from the parent schema to the subschema. */
  readonly path: readonly string[];
  readonly schema: unknown;
  readonly inPlace: boolean;
}

function below(keyword: string, value: unknown, kind: KeywordKind, inPlace: boolean): Subschema[] {
  const named = (): Subschema[] =>
    isRecord(value)
      ? Object.entries(value).map(([key, schema]) => ({ keyword, path: [keyword, key], schema, inPlace }))
      : [];
  const listed = (): Subschema[] =>
    Array.isArray(value)
      ? value.map((schema: unknown, index) => ({ keyword, path: [keyword, String(index)], schema, inPlace }))
      : [];
  const one = { keyword, path: [keyword], schema: value, inPlace };
  if (kind === "schema") return [one];
  if (kind === "list") return listed();
  if (kind === "map") return named();
  if (kind === "items") return Array.isArray(value) ? listed() : [one];
  if (kind === "dependencies") return named().filter(({ schema }) => !Array.isArray(schema));
  return [];
}

/** Every subschema directly inside a schema; `$defs` and `definitions` count, though nothing applies them by itself. */
export function subschemasOf(schema: Readonly<Record<string, unknown>>, dialect: Dialect): readonly Subschema[] {
  return Object.entries(schema).flatMap(([name, value]) => {
    if (name === "$defs" || name === "definitions") return below(name, value, "map", false);
    const keyword = keywords.get(name);
    if (keyword === undefined || foreignDialect(name, dialect) !== undefined) return [];
    return below(name, value, keyword.kind, keyword.inPlace === true);
  });
}

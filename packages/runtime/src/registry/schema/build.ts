// Builds the schema that is compiled: only known keywords, references hoisted under plain names, a price on every place.
import { isRecord } from "../../document/problems.ts";
import { metaSchemaIds } from "./dialects.ts";
import { formatNames } from "./format-names.ts";
import { keywordKind, subschemasOf, type Dialect } from "./keywords.ts";
import { pointerText } from "./references.ts";
import type { Survey } from "./survey.ts";

/** Our own keyword: what visiting this place costs, in work units. No author can write it, unknown keywords are left out. */
export const priceKeyword = "$price";

export type Prepared = boolean | Readonly<Record<string, unknown>>;

interface Plan {
  readonly survey: Survey;
  /** Pointer of a referenced place → its name under `$defs`. */
  readonly names: ReadonlyMap<string, string>;
}

/** `default` stays although it checks nothing: a null that counts as absent is replaced by it. */
function isKept(name: string, value: unknown): boolean {
  if (name === "default") return true;
  if (name === "format") return typeof value === "string" && formatNames.has(value);
  return keywordKind(name) === "check";
}

/** Named properties are looked up one by one, also in a small value, so they must be paid for. */
function priceOf(schema: Readonly<Record<string, unknown>>): number {
  const sizes = [
    "properties",
    "required",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "anyOf",
    "oneOf",
    "allOf",
  ].map((name) => {
    const value = schema[name];
    if (Array.isArray(value)) return value.length;
    return isRecord(value) ? Object.keys(value).length : 0;
  });
  return 1 + Math.floor(sizes.reduce((sum, size) => sum + size, 0) / 8);
}

function referenceTo(plan: Plan, pointer: string, dialect: Dialect): string {
  const target = plan.survey.references.get(pointer);
  if (target === undefined) throw new Error(`no reference at ${pointer}`);
  return "meta" in target ? metaSchemaIds[dialect] : `#/$defs/${plan.names.get(target.pointer) ?? ""}`;
}

/** Sets a path of one or two keys (`not`; `properties`, `a`; `anyOf`, `0`). */
function place(
  copy: Record<string, unknown>,
  original: unknown,
  [keyword, key]: readonly string[],
  value: Prepared,
): void {
  if (keyword === undefined) return;
  if (key === undefined) {
    copy[keyword] = value;
    return;
  }
  copy[keyword] ??= Array.isArray(original) ? [] : {};
  (copy[keyword] as Record<string, Prepared>)[key] = value;
}

function content(plan: Plan, schema: Readonly<Record<string, unknown>>, keys: readonly string[]): Prepared {
  const { dialect } = plan.survey;
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (isKept(name, value)) copy[name] = value;
    // Lists of names inside `dependencies` are no subschemas; empty maps and lists still have to be there.
    else if (["properties", "patternProperties", "dependentSchemas"].includes(name)) copy[name] = {};
    else if (name === "dependencies" && isRecord(value))
      copy[name] = Object.fromEntries(Object.entries(value).filter(([, one]) => Array.isArray(one)));
  }
  for (const { keyword, path, schema: child } of subschemasOf(schema, dialect)) {
    if (keyword === "$defs" || keyword === "definitions") continue;
    place(copy, schema[keyword], path, prepare(plan, child, [...keys, ...path]));
  }
  if (schema["$ref"] !== undefined) copy["$ref"] = referenceTo(plan, pointerText(keys), dialect);
  return Object.keys(copy).length === 0 ? copy : { [priceKeyword]: priceOf(schema), ...copy };
}

function prepare(plan: Plan, schema: unknown, keys: readonly string[]): Prepared {
  const name = plan.names.get(pointerText(keys));
  if (name !== undefined) return { $ref: `#/$defs/${name}`, [priceKeyword]: 1 };
  return isRecord(schema) ? content(plan, schema, keys) : schema === true;
}

/** @param placeOf the surveyed schema at a pointer, with the keys that lead there */
export function buildSchema(survey: Survey): Record<string, unknown> {
  const targets = new Set([...survey.references.values()].flatMap((one) => ("pointer" in one ? [one.pointer] : [])));
  const plan: Plan = { survey, names: new Map([...targets].map((pointer, index) => [pointer, `r${index}`])) };
  const definitions = [...plan.names].map(([pointer, name]) => {
    const { keys, schema } = placeAt(survey, pointer);
    return [name, isRecord(schema) ? content(plan, schema, keys) : schema];
  });
  const root = prepare(plan, survey.schema, []);
  const top = typeof root === "boolean" ? {} : root;
  return definitions.length === 0 ? { ...top } : { ...top, $defs: Object.fromEntries(definitions) };
}

function placeAt(survey: Survey, pointer: string): { readonly keys: readonly string[]; readonly schema: unknown } {
  const keys = pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  let schema: unknown = survey.schema;
  for (const key of keys) schema = (schema as Readonly<Record<string, unknown>>)[key];
  return { keys, schema };
}

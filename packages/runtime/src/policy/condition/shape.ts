// What a place in a value can hold, read from a JSON Schema: kinds, fields and items, as far as a condition looks.
import { isRecord } from "../../document/problems.ts";
import { policyBounds } from "../bounds.ts";

export const kinds = ["null", "bool", "int", "double", "string", "list", "map", "timestamp", "duration"] as const;
export type Kind = (typeof kinds)[number];

/** `never`: a closed mapping has no such field, or none of the known tools has. */
export type Presence = "always" | "maybe" | "never";

export interface Member {
  readonly shape: Shape;
  readonly presence: Presence;
}

export interface Shape {
  readonly kinds: ReadonlySet<Kind>;
  /** The only values that can stand here, where there is a list of them. */
  readonly values: readonly unknown[] | undefined;
  member(name: string): Member;
  item(): Shape;
  /** Names of its declared fields, for the hint at a misspelt one. */
  readonly names: readonly string[];
}

const memberless = (): Member => ({ shape: untyped, presence: "maybe" });

function plainShape(of: readonly Kind[], rest: Partial<Shape> = {}): Shape {
  return { kinds: new Set(of), values: undefined, member: memberless, item: () => untyped, names: [], ...rest };
}

/** JSON of which nothing is known; its numbers are read as doubles. */
export const untyped: Shape = plainShape(["null", "bool", "double", "string", "list", "map"]);

/** Arguments of a tool that is not known yet: a number may turn out to be either kind. */
export const unknownArgs: Shape = plainShape(["null", "bool", "int", "double", "string", "list", "map"], {
  member: () => ({ shape: unknownArgs, presence: "maybe" }),
  item: () => unknownArgs,
});

export const scalarShape = (kind: Kind): Shape => plainShape([kind]);

export const listOf = (item: Shape): Shape => plainShape(["list"], { item: () => item });

export const shapeOfKinds = (of: Iterable<Kind>): Shape => plainShape([...of]);

/** A mapping with exactly these fields, all of them there. */
export function recordOf(fields: Readonly<Record<string, Shape>>): Shape {
  const member = (name: string): Member => {
    const shape = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return shape === undefined ? { shape: untyped, presence: "never" } : { shape, presence: "always" };
  };
  return plainShape(["map"], { member, names: Object.keys(fields) });
}

/** A mapping in which any field may stand. */
export const mapOf = (value: Shape): Shape =>
  plainShape(["map"], { member: () => ({ shape: value, presence: "maybe" }) });

const kindsOfType: Readonly<Record<string, readonly Kind[]>> = {
  null: ["null"],
  boolean: ["bool"],
  integer: ["int"],
  number: ["double"],
  string: ["string"],
  array: ["list"],
  object: ["map"],
};

function kindOfJson(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return typeof value === "object" ? "map" : "double";
}

/**
 * What the arguments of a tool can be, by its input schema (draft 2020-12 or 07; references within the schema).
 * Keywords that it does not understand widen the shape, never narrow it. Made once per tool version, then kept.
 */
export function inputShape(schema: unknown): Shape {
  return schemaShape(schema, { root: schema, chain: 0 });
}

interface At {
  readonly root: unknown;
  /** References followed to get here without going a level down. */
  readonly chain: number;
}

function schemaShape(schema: unknown, at: At): Shape {
  if (!isRecord(schema) || at.chain > policyBounds.schemaRefChainMax) return untyped;
  const parts = [...allParts(schema, at), ...eitherParts(schema, at)];
  const own = ownKinds(schema);
  const all = [...(own === undefined ? [] : [own]), ...parts.map((part) => part.kinds)];
  const [first = untyped.kinds, ...others] = all;
  const together = numbersAlike(new Set([...first].filter((kind) => others.every((other) => holds(other, kind)))));
  const members = new Map<string, Member>();
  let item: Shape | undefined;
  return {
    kinds: together.size === 0 ? untyped.kinds : together,
    values: valuesOf(schema) ?? parts.find((part) => part.values !== undefined)?.values,
    names: [...new Set([...declared(schema), ...parts.flatMap((part) => part.names)])],
    member(name) {
      const known = members.get(name);
      if (known !== undefined) return known;
      const found = memberOf(schema, name, parts, at);
      // Names come from conditions, so there are few; a computed key is not kept.
      if (members.size < policyBounds.conditionNodesMax) members.set(name, found);
      return found;
    },
    item: () => (item ??= itemOf(schema, parts, at)),
  };
}

/** An integer is a number too: `integer` in one part and `number` in another leave an integer. */
const holds = (set: ReadonlySet<Kind>, kind: Kind): boolean => set.has(kind) || (kind === "int" && set.has("double"));

/** Where both kinds of number can stand, numbers are read as doubles; conditions must see one kind only. */
function numbersAlike(found: Set<Kind>): Set<Kind> {
  if (found.has("int") && found.has("double")) found.delete("int");
  return found;
}

function ownKinds(schema: Readonly<Record<string, unknown>>): ReadonlySet<Kind> | undefined {
  const { type } = schema;
  if (typeof type === "string") return new Set(kindsOfType[type] ?? untyped.kinds);
  if (Array.isArray(type))
    return new Set(type.flatMap((one) => (typeof one === "string" ? (kindsOfType[one] ?? [...untyped.kinds]) : [])));
  const values = valuesOf(schema);
  return values === undefined ? undefined : new Set(values.map(kindOfJson));
}

function valuesOf(schema: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  const listed = schema["enum"];
  return Array.isArray(listed) && listed.length <= policyBounds.schemaBranchesMax ? listed : undefined;
}

const declared = (schema: Readonly<Record<string, unknown>>): readonly string[] =>
  isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [];

/** What must hold beside the schema's own words: the target of `$ref`, and every part of `allOf`. */
function allParts(schema: Readonly<Record<string, unknown>>, at: At): readonly Shape[] {
  const inner = { root: at.root, chain: at.chain + 1 };
  const target = typeof schema["$ref"] === "string" ? resolve(schema["$ref"], at.root) : undefined;
  const all = Array.isArray(schema["allOf"]) ? schema["allOf"].slice(0, policyBounds.schemaBranchesMax) : [];
  return [...(target === undefined ? [] : [target]), ...all].map((one) => schemaShape(one, inner));
}

/** `anyOf` and `oneOf`, each as one shape that is as wide as its branches together. */
function eitherParts(schema: Readonly<Record<string, unknown>>, at: At): readonly Shape[] {
  const inner = { root: at.root, chain: at.chain + 1 };
  return ["anyOf", "oneOf"].flatMap((keyword) => {
    const branches = schema[keyword];
    if (!Array.isArray(branches) || branches.length === 0) return [];
    if (branches.length > policyBounds.schemaBranchesMax) return [untyped];
    return [either(branches.map((branch) => schemaShape(branch, inner)))];
  });
}

function either(branches: readonly Shape[]): Shape {
  const values = branches.map((branch) => branch.values);
  return {
    kinds: numbersAlike(new Set(branches.flatMap((branch) => [...branch.kinds]))),
    values: values.every((one) => one !== undefined) ? values.flat() : undefined,
    names: [...new Set(branches.flatMap((branch) => branch.names))],
    member(name) {
      const found = branches.filter((branch) => branch.kinds.has("map")).map((branch) => branch.member(name));
      const there = found.filter(({ presence }) => presence !== "never");
      if (there.length === 0) return { shape: untyped, presence: found.length === 0 ? "maybe" : "never" };
      const always = there.length === found.length && there.every(({ presence }) => presence === "always");
      return { shape: either(there.map(({ shape }) => shape)), presence: always ? "always" : "maybe" };
    },
    item: () => either(branches.filter((branch) => branch.kinds.has("list")).map((branch) => branch.item())),
  };
}

/** `#/$defs/money` in the schema itself; anything else is not followed. */
function resolve(reference: string, root: unknown): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/") || reference.length > 1_024) return undefined;
  let place = root;
  for (const step of reference.slice(2).split("/")) {
    const key = unescaped(step);
    if (key === undefined || typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as Record<string, unknown>)[key];
  }
  return place;
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

function memberOf(
  schema: Readonly<Record<string, unknown>>,
  name: string,
  parts: readonly Shape[],
  at: At,
): Member {
  const inner: At = { root: at.root, chain: 0 };
  const { properties, required, patternProperties, additionalProperties, unevaluatedProperties } = schema;
  const own = isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const beside = parts.filter((part) => part.kinds.has("map")).map((part) => part.member(name));
  const always =
    (Array.isArray(required) && required.includes(name)) || beside.some(({ presence }) => presence === "always");
  const presence = always ? "always" : "maybe";
  const known = own === undefined ? beside.filter((one) => one.shape !== untyped) : [];
  if (own !== undefined) {
    const shape = schemaShape(own, inner);
    const typed = ownKinds(isRecord(own) ? own : {}) !== undefined || beside.length === 0;
    return { shape: typed ? shape : (beside.find((one) => one.shape !== untyped)?.shape ?? shape), presence };
  }
  const closed = additionalProperties === false || unevaluatedProperties === false;
  const elsewhere = additionalProperties === false ? false : known.length > 0;
  if (beside.some((one) => one.presence === "never")) return { shape: untyped, presence: "never" };
  // Which names a pattern takes is not looked into: any could be one of them.
  if (closed && !elsewhere && !isRecord(patternProperties)) return { shape: untyped, presence: "never" };
  if (known[0] !== undefined) return { shape: known[0].shape, presence };
  const open = isRecord(additionalProperties) && !isRecord(patternProperties);
  return { shape: open ? schemaShape(additionalProperties, inner) : untyped, presence };
}

function itemOf(schema: Readonly<Record<string, unknown>>, parts: readonly Shape[], at: At): Shape {
  const inner: At = { root: at.root, chain: 0 };
  const { items, prefixItems } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? schema["additionalItems"] : items;
  if (first.length > 0) {
    const all = [...first.slice(0, policyBounds.schemaBranchesMax), ...(rest === false ? [] : [rest])];
    return either(all.map((one) => schemaShape(one, inner)));
  }
  if (isRecord(rest)) return schemaShape(rest, inner);
  return parts.find((part) => part.kinds.has("list"))?.item() ?? untyped;
}

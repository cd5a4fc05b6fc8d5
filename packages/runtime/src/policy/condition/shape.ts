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
  return schemaShape(schema, start(schema));
}

interface At {
  readonly root: unknown;
  /** References followed to get here without going a level down. */
  readonly chain: number;
  /** Schemas that may still be looked at on this level: references can double at every step. */
  readonly left: { schemas: number };
}

const start = (root: unknown): At => ({ root, chain: 0, left: { schemas: policyBounds.schemaLooksMax } });

type Schema = Readonly<Record<string, unknown>>;

function schemaShape(schema: unknown, at: At): Shape {
  if (!isRecord(schema) || at.chain > policyBounds.schemaRefChainMax || --at.left.schemas < 0) return untyped;
  const inner = { ...at, chain: at.chain + 1 };
  const target = typeof schema["$ref"] === "string" ? resolve(schema["$ref"], at.root) : undefined;
  const parts = [...(target === undefined ? [] : [target]), ...branchesOf(schema["allOf"])];
  const choices = ["anyOf", "oneOf"].flatMap((keyword) => {
    const branches = branchesOf(schema[keyword]);
    return branches.length === 0 ? [] : [anyShape(branches.map((branch) => schemaShape(branch, inner)))];
  });
  return allShape([ownShape(schema, at.root), ...parts.map((part) => schemaShape(part, inner)), ...choices]);
}

/** No branches at all where there are too many: what is not looked at must not narrow. */
function branchesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) && value.length <= policyBounds.schemaBranchesMax ? value : [];
}

/** What the schema's own words say, without the schemas beside it. */
function ownShape(schema: Schema, root: unknown): Shape {
  return kept({
    kinds: numbersAlike(ownKinds(schema)),
    values: valuesOf(schema),
    names: isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [],
    member: (name) => memberOf(schema, name, root),
    item: () => itemOf(schema, root),
  });
}

/** Looks into the schema once per place: shapes live as long as their tool version. */
function kept(shape: Shape): Shape {
  const members = new Map<string, Member>();
  let item: Shape | undefined;
  return {
    ...shape,
    member(name) {
      const found = members.get(name) ?? shape.member(name);
      // Conditions name few; names that they compute must not fill the memory.
      if (members.size < policyBounds.conditionNodesMax) members.set(name, found);
      return found;
    },
    item: () => (item ??= shape.item()),
  };
}

/** Where both kinds of number can stand, numbers are read as doubles; conditions must see one kind only. */
function numbersAlike(found: ReadonlySet<Kind>): ReadonlySet<Kind> {
  return found.has("int") && found.has("double") ? new Set([...found].filter((kind) => kind !== "int")) : found;
}

function ownKinds(schema: Schema): ReadonlySet<Kind> {
  const { type } = schema;
  const named = typeof type === "string" ? [type] : Array.isArray(type) ? type : [];
  if (named.length > 0)
    return new Set(
      named.flatMap((one) => (typeof one === "string" ? kindsOfType[one] : undefined) ?? [...untyped.kinds]),
    );
  const values = valuesOf(schema);
  return values === undefined ? untyped.kinds : new Set(values.map(kindOfJson));
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  const listed = branchesOf(schema["enum"]);
  return listed.length === 0 ? undefined : listed;
}

function memberOf(schema: Schema, name: string, root: unknown): Member {
  const { properties, required, patternProperties, additionalProperties } = schema;
  const presence = Array.isArray(required) && required.includes(name) ? "always" : "maybe";
  if (isRecord(properties) && Object.hasOwn(properties, name))
    return { shape: schemaShape(properties[name], start(root)), presence };
  // Which names a pattern takes is not looked into: this could be one of them.
  if (isRecord(patternProperties)) return { shape: untyped, presence };
  if (additionalProperties === false) return { shape: untyped, presence: "never" };
  return { shape: schemaShape(additionalProperties, start(root)), presence };
}

function itemOf(schema: Schema, root: unknown): Shape {
  const { items, prefixItems } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? schema["additionalItems"] : items;
  if (first.length > policyBounds.schemaBranchesMax) return untyped;
  const all = rest === false && first.length > 0 ? first : [...first, rest];
  return anyShape(all.map((one) => schemaShape(one, start(root))));
}

/** As wide as the branches together. */
function anyShape(branches: readonly Shape[]): Shape {
  if (branches.length === 0 || branches.includes(untyped)) return untyped;
  const [only, ...more] = branches;
  if (only !== undefined && more.length === 0) return only;
  const values = branches.map((branch) => branch.values);
  return kept({
    kinds: numbersAlike(new Set(branches.flatMap((branch) => [...branch.kinds]))),
    values: values.every((one) => one !== undefined) ? values.flat() : undefined,
    names: [...new Set(branches.flatMap((branch) => branch.names))],
    member(name) {
      const found = branches.filter((branch) => branch.kinds.has("map")).map((branch) => branch.member(name));
      const there = found.filter(({ presence }) => presence !== "never");
      if (there.length === 0) return { shape: untyped, presence: found.length === 0 ? "maybe" : "never" };
      const always = there.length === found.length && there.every(({ presence }) => presence === "always");
      return { shape: anyShape(there.map(({ shape }) => shape)), presence: always ? "always" : "maybe" };
    },
    item: () => anyShape(branches.filter((branch) => branch.kinds.has("list")).map((branch) => branch.item())),
  });
}

/** As narrow as all the parts leave it. */
function allShape(parts: readonly Shape[]): Shape {
  const telling = parts.filter((part) => part !== untyped);
  const [only, ...more] = telling;
  if (only === undefined) return untyped;
  if (more.length === 0) return only;
  const together = kinds.filter((kind) => telling.every((part) => allows(part.kinds, kind)));
  return kept({
    // Nothing fits all of them: no value gets past such a schema, so nothing needs to be said of it.
    kinds: together.length === 0 ? untyped.kinds : numbersAlike(new Set(together)),
    values: telling.find((part) => part.values !== undefined)?.values,
    names: [...new Set(telling.flatMap((part) => part.names))],
    member(name) {
      const found = telling.map((part) => part.member(name));
      if (found.some(({ presence }) => presence === "never")) return { shape: untyped, presence: "never" };
      const always = found.some(({ presence }) => presence === "always");
      return { shape: allShape(found.map(({ shape }) => shape)), presence: always ? "always" : "maybe" };
    },
    item: () => allShape(telling.map((part) => part.item())),
  });
}

/** An integer is a number too: `integer` in one part and `number` in another leave integers. */
const allows = (found: ReadonlySet<Kind>, kind: Kind): boolean =>
  found.has(kind) || (kind === "int" && found.has("double"));

/** `#/$defs/money` in the schema itself; anything else is not followed. */
function resolve(reference: string, root: unknown): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/") || reference.length > 1_024) return undefined;
  let place = root;
  for (const step of reference.slice(2).split("/")) {
    const key = unescaped(step);
    if (key === undefined || typeof place !== "object" || place === null || !Object.hasOwn(place, key))
      return undefined;
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

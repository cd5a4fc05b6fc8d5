// The values that a condition works on: JSON bound by its schema, and what operators make of it.
import { isRawNumber } from "@signalbox/protocol";
import { isRecord } from "../../document/problems.ts";
import { Failed } from "./failed.ts";
import type { Kind, Shape } from "./shape.ts";
import { exactNumber } from "./exact-number.ts";
import { scalarText } from "./text.ts";
import type { Moment, Scalar, Span } from "./tree.ts";

/** A list or mapping of the arguments; what stands in it is bound when it is read. */
export interface Bound {
  readonly type: "json";
  readonly raw: Readonly<Record<string, unknown>> | readonly unknown[];
  readonly shape: Shape;
}

/** A list that the condition itself has made. */
export interface Listed {
  readonly type: "list";
  readonly items: readonly Value[];
}

export type Value = Scalar | Bound | Listed;

/**
 * Reads JSON as its schema means it: a number where only integers can stand is an int, any other a double; a whole number
 * that no double holds is an int everywhere.
 * @param raw parsed JSON; digits past a double's precision may be raw numbers or bigints
 */
export function bind(raw: unknown, shape: Shape): Value {
  if (raw === null || typeof raw === "boolean" || typeof raw === "string") return raw;
  if (typeof raw === "number" || typeof raw === "bigint") return numberOf(raw, shape);
  if (isRawNumber(raw)) return numberOf(exactNumber(raw.rawJSON), shape);
  if (Array.isArray(raw) || isRecord(raw)) return { type: "json", raw, shape };
  throw new Failed("there is something that is not JSON");
}

function numberOf(raw: number | bigint, shape: Shape): Value {
  const integers = shape.kinds.has("int") && !shape.kinds.has("double");
  // A whole number that a double would change stays whole: the handler gets its digits, so rules compare them.
  if (!integers) return typeof raw === "bigint" && BigInt(Number(raw)) === raw ? Number(raw) : raw;
  return typeof raw === "number" && Number.isInteger(raw) ? BigInt(raw) : raw;
}

export const isMoment = (value: Value): value is Moment =>
  typeof value === "object" && value !== null && value.type === "timestamp";
export const isSpan = (value: Value): value is Span =>
  typeof value === "object" && value !== null && value.type === "duration";

export function kindOf(value: Value): Kind {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
      if (value.type === "json") return Array.isArray(value.raw) ? "list" : "map";
      return value.type;
  }
}

/** What a person calls it. */
export const kindText: Readonly<Record<Kind, string>> = {
  null: "null",
  bool: "true or false",
  int: "a whole number",
  double: "a number",
  string: "a text",
  list: "a list",
  map: "a mapping",
  timestamp: "a timestamp",
  duration: "a duration",
};

/** The mapping's own field; undefined when it has none. A null has no fields. */
export function memberOf(value: Value, name: string): Value | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object" || value.type !== "json" || !isRecord(value.raw))
    throw new Failed(`${kindText[kindOf(value)]} has no fields`);
  // Own fields only: arguments have no `constructor` because objects have one.
  return Object.hasOwn(value.raw, name) ? bind(value.raw[name], value.shape.member(name).shape) : undefined;
}

export interface ListView {
  readonly size: number;
  at(index: number): Value;
}

export function listOf(value: Value): ListView | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (value.type === "list") {
    const { items } = value;
    return { size: items.length, at: (index) => items[index] ?? null };
  }
  if (value.type !== "json" || isRecord(value.raw)) return undefined;
  const { raw, shape } = value;
  return { size: raw.length, at: (index) => bind(raw[index], shape.item()) };
}

/** The names of a mapping's fields; undefined when it is none. */
export function namesOf(value: Value): readonly string[] | undefined {
  return typeof value === "object" && value !== null && value.type === "json" && isRecord(value.raw)
    ? Object.keys(value.raw)
    : undefined;
}

/** A value as it may stand in an explanation: short, on one line. */
export function valueText(value: Value): string {
  const names = namesOf(value);
  if (names !== undefined) return `a mapping of ${names.length}`;
  const list = listOf(value);
  if (list !== undefined) return `a list of ${list.size}`;
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (isMoment(value)) return new Date(value.ms).toISOString();
  if (isSpan(value)) return `${value.ms}ms`;
  if (typeof value === "number") return String(value);
  return scalarText(value as Scalar);
}

// Reads JSON from outside: bounded depth, no lost digits, no ill-formed text, no prototype keys, no echo of the body.
import { bigIntDigitsMax, holdsExactNumber, isRawNumber, parseKeepingDigits } from "./exact-number.ts";
import { findDuplicateKey } from "./duplicate-key.ts";
import { jsonPointer, placeInWords } from "./pointer.ts";
import { scanJson } from "./scan.ts";
import { findSyntaxError } from "./syntax-error.ts";
import { isWellFormed } from "./well-formed.ts";

/** The engine's own reviver and writer recurse; beyond this many levels they could run out of stack. */
export const jsonDepthCeiling = 1_000;

export interface JsonProblem {
  readonly kind: "too_deep" | "malformed" | "lone_surrogate" | "proto_key" | "number_range" | "duplicate_key";
  /** Complete sentence for the sender; holds nothing of the text but the pointer's keys. */
  readonly message: string;
  /** RFC 6901; of the closest container that can be named when the full one would be long. */
  readonly pointer?: string;
  /** Index in UTF-16 units. */
  readonly offset?: number;
}

export type JsonParsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem };

export interface ParseJsonOptions {
  /** At most {@link jsonDepthCeiling}. */
  readonly depthMax: number;
  /** `refuse` (default) for what callers send; `keep` for results, where `__proto__` stays an own key like any other. */
  readonly protoKeys?: "refuse" | "keep";
  /** `any` (default) keeps the digits of every number; `finite` refuses what no reader could hold, e.g. `1e400`. */
  readonly numbers?: "any" | "finite";
  /** `last` (default) takes the last one, as `JSON.parse` does; `refuse` for what somebody decides upon. */
  readonly duplicateKeys?: "last" | "refuse";
  /** Where the text stands in a larger document: pointers and places in messages begin there. Offsets count in the text. */
  readonly at?: readonly (string | number)[];
}

/**
 * Parses one JSON text. Numbers that a double would change become raw numbers: `JSON.stringify` of the value gives
 * their digits back, {@link toPlain} makes doubles of them. Of duplicate keys the last one wins, as in `JSON.parse`;
 * other readers may choose the first, so what is passed on must be `JSON.stringify(value)` and never the text itself.
 * @throws RangeError when `depthMax` is no integer from 0 to {@link jsonDepthCeiling}
 * @throws TypeError for long numbers on engines without `JSON.rawJSON` (Node 20): use `parseWithBigInts` there
 */
export function parseJson(text: string, options: ParseJsonOptions): JsonParsed {
  const { depthMax, protoKeys = "refuse", numbers = "any", duplicateKeys = "last", at = [] } = options;
  if (!Number.isInteger(depthMax) || depthMax < 0 || depthMax > jsonDepthCeiling) {
    throw new RangeError(`depthMax must be an integer from 0 to ${jsonDepthCeiling}`);
  }
  const scan = scanJson(text, { depthMax });
  if (!scan.ok) {
    const message = `the JSON text is nested deeper than ${depthMax} levels, at offset ${scan.offset}: flatten it`;
    return { ok: false, problem: { kind: "too_deep", message, offset: scan.offset } };
  }
  let value: unknown;
  try {
    value = scan.longNumbers ? parseKeepingDigits(text) : JSON.parse(text);
  } catch (error) {
    const found = findSyntaxError(text);
    if (found === undefined) throw error;
    return { ok: false, problem: { kind: "malformed", ...found } };
  }
  // The parser keeps one of each; where some are missing, one stood twice.
  if (duplicateKeys === "refuse" && countKeys(value) !== scan.keys)
    return { ok: false, problem: duplicateProblem([...at, ...findDuplicateKey(text)]) };
  const refuseProto = scan.protoKeys && protoKeys === "refuse";
  const refuseRange = scan.longNumbers && numbers === "finite";
  if (scan.surrogateEscapes || refuseProto || refuseRange) {
    const problem = findProblem(value, [...at], { refuseProto, refuseRange });
    if (problem !== undefined) return { ok: false, problem };
  }
  return { ok: true, value };
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return 0;
  const members = Object.values(value);
  let count = Array.isArray(value) ? 0 : members.length;
  for (const member of members) count += countKeys(member);
  return count;
}

function duplicateProblem(path: readonly (string | number)[]): JsonProblem {
  return {
    kind: "duplicate_key",
    message: `a key stands twice in the same object, at ${placeInWords(path)}: keep one of them`,
    pointer: jsonPointer(path),
  };
}

interface Refusing {
  readonly refuseProto: boolean;
  readonly refuseRange: boolean;
}

/** Depth is bounded by then, so recursion is safe. `path` is shared and holds the place of `value`. */
function findProblem(value: unknown, path: (string | number)[], refuse: Refusing): JsonProblem | undefined {
  if (typeof value === "string") return isWellFormed(value) ? undefined : loneSurrogateAt("a string", path);
  if (typeof value !== "object" || value === null) return undefined;
  if (isRawNumber(value)) return refuse.refuseRange ? rangeProblem(value.rawJSON, path) : undefined;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      path.push(index);
      const problem = findProblem(item, path, refuse);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return undefined;
  }
  for (const [key, member] of Object.entries(value)) {
    path.push(key);
    if (!isWellFormed(key)) return loneSurrogateAt("a key", path);
    if (refuse.refuseProto && key === "__proto__") {
      const message = `the key "__proto__" is not allowed, at ${placeInWords(path)}: rename it`;
      return { kind: "proto_key", message, pointer: jsonPointer(path) };
    }
    const problem = findProblem(member, path, refuse);
    if (problem !== undefined) return problem;
    path.pop();
  }
  return undefined;
}

/** A number that no reader could hold must not reach one that makes Infinity of it. */
function rangeProblem(source: string, path: readonly (string | number)[]): JsonProblem | undefined {
  if (Number.isFinite(Number(source)) && source.length <= bigIntDigitsMax) return undefined;
  const message = `a number is beyond ±1.8e308 or has more than ${bigIntDigitsMax} digits, at ${placeInWords(path)}: send it as text`;
  return { kind: "number_range", message, pointer: jsonPointer(path) };
}

function loneSurrogateAt(what: string, path: readonly (string | number)[]): JsonProblem {
  const message = `${what} holds half of a surrogate pair, at ${placeInWords(path)}: send well-formed Unicode`;
  return { kind: "lone_surrogate", message, pointer: jsonPointer(path) };
}

/**
 * The same value with doubles in place of raw numbers and bigints, for readers that know only JavaScript's numbers
 * (schema validation, conditions). Out-of-range ones (`1e400`) become infinite. A value without any comes back as the
 * same object.
 */
export function toPlain(value: unknown): unknown {
  return holdsExactNumber(value) ? copyPlain(value) : value;
}

function copyPlain(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (isRawNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(copyPlain);
  // fromEntries defines its properties: a kept key `__proto__` stays a key, where an assignment would set the prototype.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyPlain(member)]));
}

// Says whether a value is plain, bounded JSON, without recursion, so that everything after it may recurse.
import { isRawNumber, isWellFormed } from "@signalbox/protocol";
import { isRecord, shown } from "./problems.ts";

export interface ShapeBounds {
  /** Nested lists and mappings; the outermost counts as 1. */
  readonly depthMax: number;
  readonly valuesMax: number;
}

export interface ShapeProblem {
  /** Where, from the outside in; cut after a dozen: a path through 100 000 levels helps nobody. */
  readonly keys: readonly (string | number)[];
  readonly message: string;
}

interface Visit {
  readonly value: unknown;
  readonly depth: number;
  readonly parent: Visit | undefined;
  readonly key: string | number;
}

function keysTo(visit: Visit): readonly (string | number)[] {
  const keys: (string | number)[] = [];
  for (let one: Visit | undefined = visit; one?.parent !== undefined; one = one.parent) keys.push(one.key);
  return keys.reverse().slice(0, 12);
}

function leafProblem(value: unknown): string | undefined {
  if (value === null || typeof value === "boolean") return undefined;
  if (typeof value === "string")
    return isWellFormed(value) ? undefined : "holds half of a surrogate pair: not well-formed text";
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${value} is not a JSON number`;
  return `${shown(value)} is not JSON`;
}

/** Exact numbers count as the numbers they are; one beyond a double's range would turn infinite. */
function exactNumberProblem(text: string): string | undefined {
  return Number.isFinite(Number(text)) ? undefined : "is a number out of range";
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function childrenOf(value: object): readonly (readonly [string | number, unknown])[] {
  if (isRecord(value)) return Object.entries(value);
  return Array.from(value as ArrayLike<unknown>, (item, index) => [index, item] as const);
}

/**
 * The first reason why `value` is not JSON within the bounds, or undefined.
 * Circular and shared values end at one of the bounds.
 */
export function shapeProblem(value: unknown, within: ShapeBounds): ShapeProblem | undefined {
  const stack: Visit[] = [{ value, depth: 1, parent: undefined, key: "" }];
  let values = 0;
  for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
    const problem = (message: string): ShapeProblem => ({ keys: keysTo(visit), message });
    if (++values > within.valuesMax) return { keys: [], message: `has more than ${within.valuesMax} values` };
    if (typeof visit.value !== "object" || visit.value === null) {
      const message = leafProblem(visit.value);
      if (message !== undefined) return problem(message);
      continue;
    }
    if (isRawNumber(visit.value)) {
      const message = exactNumberProblem(visit.value.rawJSON);
      if (message !== undefined) return problem(message);
      continue;
    }
    if (visit.depth > within.depthMax) return problem(`is nested more than ${within.depthMax} levels deep`);
    if (!isPlain(visit.value)) return problem("is not a plain JSON value");
    const children = childrenOf(visit.value);
    if (values + stack.length + children.length > within.valuesMax) {
      return { keys: [], message: `has more than ${within.valuesMax} values` };
    }
    for (const [key, child] of children) {
      if (typeof key === "string" && !isWellFormed(key)) return problem("has a key that is not well-formed text");
      stack.push({ value: child, depth: visit.depth + 1, parent: visit, key });
    }
  }
  return undefined;
}

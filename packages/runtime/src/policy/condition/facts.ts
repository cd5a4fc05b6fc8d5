// What is known to be there once a part of a condition has come out true or false: has() and comparisons with null.
import { memberPath, pathOf, type Node } from "./tree.ts";

/** Paths of fields that are there (`args.payee`), and of those that are not null (`args.payee!`). */
export type Known = ReadonlySet<string>;

export const notNull = (path: string): string => `${path}!`;

/** What follows from `node` having come out as `outcome`. */
export function factsWhen(node: Node, outcome: boolean): readonly string[] {
  switch (node.kind) {
    case "has":
      return outcome ? present(pathOf(node.of), node.name) : [];
    case "not":
      return factsWhen(node.of, !outcome);
    case "and":
    case "or":
      // One false part decides an `and`, and nobody knows which; likewise one true part an `or`.
      return (node.kind === "and") === outcome ? node.parts.flatMap((part) => factsWhen(part, outcome)) : [];
    case "operation":
      return comparisonFacts(node, outcome);
    default:
      return [];
  }
}

function present(outer: string | undefined, name: string): readonly string[] {
  // What has a field is there itself, and no null.
  return outer === undefined ? [] : [memberPath(outer, name), outer, notNull(outer)];
}

function comparisonFacts(node: Node & { readonly kind: "operation" }, outcome: boolean): readonly string[] {
  const { operator, left, right } = node;
  if (operator === "in" && outcome && left.kind === "value" && typeof left.value === "string")
    return present(pathOf(right), left.value);
  const unequal = operator === "!=" ? outcome : operator === "==" && !outcome;
  const other = isNull(left) ? right : isNull(right) ? left : undefined;
  const path = unequal && other !== undefined ? pathOf(other) : undefined;
  return path === undefined ? [] : [path, notNull(path)];
}

const isNull = (node: Node): boolean => node.kind === "value" && node.value === null;

export function withFacts(known: Known, more: readonly string[]): Known {
  return more.length === 0 ? known : new Set([...known, ...more]);
}

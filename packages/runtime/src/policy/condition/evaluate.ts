// Evaluates a condition by our own walk: left to right, every absent field noticed, every error final, work bounded.
import { policyBounds } from "../bounds.ts";
import type { CallCounts } from "../types.ts";
import { momentPart, spanPart } from "./clock.ts";
import { callFunction, negative, operate, type Spend } from "./operators.ts";
import { memberPath, pathOf, type Node } from "./tree.ts";
import { Failed } from "./failed.ts";
import { isMoment, isSpan, kindOf, kindText, listOf, memberOf, namesOf, type Value } from "./values.ts";

/** The value of what reads an absent field; what it means for the whole is for the rule to say. */
export const absent = Symbol("absent");
export type Found = Value | typeof absent;

export interface Facts {
  readonly variables: ReadonlyMap<string, Value>;
  /** Undefined where nothing has been counted: a condition that counts then fails. */
  readonly counts: CallCounts | undefined;
}

export interface Evaluation {
  /** What the present fields make of it; undefined where that hangs on an absent one. */
  readonly result: boolean | undefined;
  /** The absent fields that were read, in order, at most so many as there are nodes. */
  readonly absent: readonly string[];
  /** Set when it could not be evaluated; `result` is then undefined. Holds no values of arguments. */
  readonly error: string | undefined;
  readonly steps: number;
}

interface Run {
  readonly facts: Facts;
  readonly absent: Set<string>;
  readonly spend: Spend;
  readonly trace: Map<Node, Found> | undefined;
  /** Inside a loop: its variable and the item at hand. */
  loop: { readonly variable: string; readonly item: Value } | undefined;
  /** Inside has(): absent fields there are the answer, not an absence. */
  asking: number;
}

/**
 * Never throws. What stands behind a decided `&&`, `||` or `?:` is not read.
 * @param stepsMax see `policyBounds.evaluationStepsMax`; running out of them is an error
 * @param trace filled with the value of every node outside of loops that was looked at
 */
export function evaluate(root: Node, facts: Facts, stepsMax: number, trace?: Map<Node, Found>): Evaluation {
  let left = stepsMax;
  const spend: Spend = (steps) => {
    left -= steps;
    if (left < 0) throw new Failed("takes too many steps: the arguments are too large for this condition");
  };
  const run: Run = { facts, absent: new Set(), spend, trace, loop: undefined, asking: 0 };
  const ended = (result: boolean | undefined, error: string | undefined): Evaluation => ({
    result,
    absent: [...run.absent],
    error,
    steps: Math.ceil(stepsMax - Math.max(left, 0)),
  });
  try {
    const found = find(run, root);
    if (found === absent) return ended(undefined, undefined);
    if (typeof found === "boolean") return ended(found, undefined);
    return ended(undefined, `comes to ${kindText[kindOf(found)]}, not to true or false`);
  } catch (error) {
    if (error instanceof Failed) return ended(undefined, error.message);
    // Not foreseen, so not to be trusted; a stack that ran out is such a case.
    return ended(undefined, "could not be evaluated");
  }
}

function find(run: Run, node: Node): Found {
  run.spend(1);
  const found = findInside(run, node);
  if (run.loop === undefined) run.trace?.set(node, found);
  return found;
}

function findInside(run: Run, node: Node): Found {
  switch (node.kind) {
    case "value":
      return node.value;
    case "variable":
      return variable(run, node.name);
    case "field":
      return field(run, node.of, node.name, node);
    case "has":
      return has(run, node.of, node.name);
    case "item":
      return item(run, node.of, node.index);
    case "list":
      return strictly(run, node.items, (items) => {
        run.spend(items.length);
        return { type: "list", items };
      });
    case "and":
    case "or":
      return logic(run, node.parts, node.kind === "or");
    case "not":
      return strictly(run, [node.of], ([of = null]) => !truth(of, "!"));
    case "negative":
      return strictly(run, [node.of], ([of = null]) => negative(of));
    case "choice": {
      const test = find(run, node.test);
      return test === absent ? absent : find(run, truth(test, "?:") ? node.met : node.unmet);
    }
    case "operation":
      return operation(run, node);
    case "call":
      return strictly(run, node.args, (args) => callFunction(node.name, args, run.spend));
    case "matches":
      return strictly(run, [node.of], ([of = null]) => {
        if (typeof of !== "string") throw new Failed(`matches() does not go with ${kindText[kindOf(of)]}`);
        run.spend(1 + (of.length * node.pattern.size) / policyBounds.matchUnitsPerStep);
        return node.pattern.test(of);
      });
    case "clock":
      return strictly(run, [node.of], ([of = null]) => clock(node, of));
    case "count":
      return BigInt(count(run.facts.counts, node.over));
    case "each":
      return each(run, node);
  }
}

function variable(run: Run, name: string): Value {
  if (name === run.loop?.variable) return run.loop.item;
  const value = run.facts.variables.get(name);
  if (value === undefined) throw new Failed(`${name} is not known at this point`);
  return value;
}

/** The values of all parts, or absent as soon as one is. */
function strictly(run: Run, nodes: readonly Node[], make: (values: readonly Value[]) => Value): Found {
  const values: Value[] = [];
  let missing = false;
  for (const node of nodes) {
    const found = find(run, node);
    if (found === absent) missing = true;
    else values.push(found);
  }
  return missing ? absent : make(values);
}

/** The two-sided operators, without the detour over a list: most nodes are of this kind. */
function operation(run: Run, node: Node & { readonly kind: "operation" }): Found {
  const left = find(run, node.left);
  const right = find(run, node.right);
  return left === absent || right === absent ? absent : operate(node.operator, left, right, run.spend);
}

function truth(value: Value, operator: string): boolean {
  if (typeof value === "boolean") return value;
  throw new Failed(`${operator} does not go with ${kindText[kindOf(value)]}`);
}

/** A decided part ends it. An absent part leaves it open, and the parts after it are still looked at. */
function logic(run: Run, parts: readonly Node[], deciding: boolean): Found {
  let open = false;
  for (const part of parts) {
    const found = find(run, part);
    if (found === absent) open = true;
    else if (truth(found, deciding ? "||" : "&&") === deciding) return deciding;
  }
  return open ? absent : !deciding;
}

function miss(run: Run, path: string): typeof absent {
  if (run.asking === 0) run.absent.add(path);
  return absent;
}

function field(run: Run, of: Node, name: string, node: Node): Found {
  const outer = find(run, of);
  if (outer === absent) return absent;
  const found = memberOf(outer, name);
  return found === undefined ? miss(run, pathOf(node) ?? memberPath("…", name)) : found;
}

function has(run: Run, of: Node, name: string): boolean {
  run.asking++;
  try {
    const outer = find(run, of);
    return outer !== absent && memberOf(outer, name) !== undefined;
  } finally {
    run.asking--;
  }
}

function item(run: Run, of: Node, at: Node): Found {
  const outer = find(run, of);
  const index = find(run, at);
  if (outer === absent || index === absent) return absent;
  const path = pathOf(of) ?? "…";
  if (outer === null) return miss(run, `${path}[…]`);
  const list = listOf(outer);
  if (list !== undefined) {
    const place = typeof index === "bigint" || Number.isInteger(index) ? Number(index) : undefined;
    if (place === undefined) throw new Failed(`a list has no place ${kindText[kindOf(index)]}`);
    return place >= 0 && place < list.size ? list.at(place) : miss(run, `${path}[${place}]`);
  }
  if (typeof index !== "string") throw new Failed(`a field's name is a text, not ${kindText[kindOf(index)]}`);
  const found = memberOf(outer, index);
  // The name comes from the arguments, so the record does not show it.
  return found === undefined ? miss(run, `${path}[…]`) : found;
}

function clock(node: Node & { readonly kind: "clock" }, of: Value): bigint {
  const part = isMoment(of) ? momentPart(node.part, of, node.zone) : isSpan(of) ? spanPart(node.part, of) : undefined;
  if (part === undefined) throw new Failed(`${node.part}() does not go with ${kindText[kindOf(of)]}`);
  return BigInt(part);
}

function count(counts: CallCounts | undefined, over: "turn" | "session" | number): number {
  const found = typeof over === "number" ? counts?.windows.get(over) : counts?.[over];
  if (found === undefined || !Number.isSafeInteger(found))
    throw new Failed("the calls it counts have not been counted");
  return found;
}

function each(run: Run, node: Node & { readonly kind: "each" }): Found {
  const range = find(run, node.range);
  if (range === absent) return absent;
  const names = namesOf(range);
  const list =
    names === undefined ? listOf(range) : { size: names.length, at: (index: number) => names[index] ?? null };
  if (list === undefined) throw new Failed(`${node.macro}() does not go with ${kindText[kindOf(range)]}`);
  try {
    return node.macro === "filter" || node.macro === "map" ? chosen(run, node, list) : quantified(run, node, list);
  } finally {
    run.loop = undefined;
  }
}

type Loop = Node & { readonly kind: "each" };
interface Items {
  readonly size: number;
  at(index: number): Value;
}

function tested(run: Run, node: Loop, test: Node, value: Value): boolean | typeof absent {
  run.loop = { variable: node.variable, item: value };
  const found = find(run, test);
  return found === absent ? absent : truth(found, `${node.macro}()`);
}

function quantified(run: Run, node: Loop, items: Items): Found {
  let open = false;
  let met = 0;
  for (let index = 0; index < items.size; index++) {
    const found = tested(run, node, node.body, items.at(index));
    if (found === absent) open = true;
    else if (node.macro === "all") {
      if (!found) return false;
    } else if (found) {
      if (node.macro === "exists") return true;
      met++;
    }
  }
  if (open) return absent;
  return node.macro === "all" || (node.macro === "exists_one" && met === 1);
}

function chosen(run: Run, node: Loop, items: Items): Found {
  const made: Value[] = [];
  let open = false;
  for (let index = 0; index < items.size; index++) {
    const value = items.at(index);
    const test = node.macro === "filter" ? node.body : node.only;
    const wanted = test === undefined ? true : tested(run, node, test, value);
    if (wanted === absent) open = true;
    if (wanted !== true) continue;
    run.loop = { variable: node.variable, item: value };
    const found = node.macro === "filter" ? value : find(run, node.body);
    if (found === absent) open = true;
    else made.push(found);
  }
  return open ? absent : { type: "list", items: made };
}

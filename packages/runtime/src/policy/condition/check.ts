// Checks a condition's types by walking the tree: what it reads, what may be absent, and what can never work.
import { cutText, sideEffectClasses } from "@signalbox/protocol";
import { didYouMean } from "../../document/nearest.ts";
import { policyBounds } from "../bounds.ts";
import { factsWhen, notNull, withFacts, type Known } from "./facts.ts";
import type { ConditionProblem } from "./parse.ts";
import {
  kinds,
  listOf,
  mapOf,
  recordOf,
  scalarShape,
  shapeOfKinds,
  unknownArgs,
  untyped,
  type Kind,
  type Shape,
} from "./shape.ts";
import {
  clockSignature,
  functionSignatures,
  matchesSignature,
  negativeSignatures,
  notSignature,
  operatorSignatures,
  type Signature,
} from "./signatures.ts";
import { scalarText, textOf } from "./text.ts";
import { memberPath, pathOf, type Node } from "./tree.ts";
import { kindOf, kindText } from "./values.ts";

export interface TypeCheck {
  readonly problems: readonly ConditionProblem[];
  readonly warnings: readonly ConditionProblem[];
  /** Fields that are read and may be absent, like `args.payee`. */
  readonly mayBeAbsent: readonly string[];
  /** Fields that the arguments cannot have: misspelt, or another tool's. */
  readonly unknown: readonly { readonly path: string; readonly hint: string | undefined }[];
}

interface Checking {
  readonly variables: Map<string, Shape>;
  readonly problems: Map<string, ConditionProblem>;
  readonly warnings: Map<string, ConditionProblem>;
  readonly mayBeAbsent: Set<string>;
  readonly unknown: Map<string, string | undefined>;
  /** Inside has(): to be absent is one of its two answers. */
  asking: boolean;
}

const text = scalarShape("string");

const standing: Readonly<Record<string, Shape>> = {
  tool: recordOf({
    name: text,
    version: text,
    class: { ...text, values: sideEffectClasses },
    labels: mapOf(text),
  }),
  principal: recordOf({ name: text, roles: listOf(text) }),
  agent: text,
  tenant: text,
  project: text,
  environment: text,
  context: mapOf(untyped),
  now: scalarShape("timestamp"),
};

/** @param args what the arguments can be: a tool's `inputShape`, or `unknownArgs` */
export function checkTypes(root: Node, args: Shape): TypeCheck {
  const checking: Checking = {
    variables: new Map([...Object.entries(standing), ["args", args]]),
    problems: new Map(),
    warnings: new Map(),
    mayBeAbsent: new Set(),
    unknown: new Map(),
    asking: false,
  };
  const shape = shapeAt(checking, root, new Set());
  if (!shape.kinds.has("bool"))
    problem(checking, `comes to ${kindsText(shape.kinds)}, not to true or false`, "compare it with something");
  return {
    problems: [...checking.problems.values()],
    warnings: [...checking.warnings.values()],
    mayBeAbsent: [...checking.mayBeAbsent],
    unknown: [...checking.unknown].map(([path, hint]) => ({ path, hint })),
  };
}

function note(list: Map<string, ConditionProblem>, text: string, hint?: string): void {
  const message = cutText(text, policyBounds.problemCharsMax);
  list.set(message, hint === undefined ? { message } : { message, hint });
}

function problem(checking: Checking, message: string, hint?: string): void {
  note(checking.problems, message, hint);
}

function kindsText(of: ReadonlySet<Kind>): string {
  return [...of].map((kind) => kindText[kind]).join(" or ");
}

/** Of which nothing is known: that some kinds would not do is no news. */
const isOpen = (of: ReadonlySet<Kind>): boolean =>
  of.has("bool") && of.has("string") && of.has("list") && of.has("map");

function shapeAt(checking: Checking, node: Node, known: Known): Shape {
  const under = (part: Node): Shape => shapeAt(checking, part, known);
  const signed = (parts: readonly Node[], signatures: readonly Signature[], what: string): Shape =>
    resultShape(checking, parts, parts.map(under), signatures, what);
  switch (node.kind) {
    case "value":
      return scalarShape(kindOf(node.value));
    case "variable":
      return checking.variables.get(node.name) ?? untyped;
    case "field":
      return fieldShape(checking, node, known);
    case "has":
      return hasShape(checking, node, known);
    case "item":
      return itemShape(checking, node, under(node.of), under(node.index));
    case "list": {
      const items = node.items.map(under);
      return listOf(items.length === 0 ? untyped : shapeOfKinds(items.flatMap((item) => [...item.kinds])));
    }
    case "and":
    case "or":
      return logicShape(checking, node.parts, node.kind, known);
    case "not":
      return signed([node.of], notSignature, "!");
    case "negative":
      return signed([node.of], negativeSignatures, "-");
    case "choice":
      return choiceShape(checking, node, known);
    case "operation":
      if (node.operator === "==" || node.operator === "!=")
        lookAtEquality(checking, node, under(node.left), under(node.right));
      else if (node.operator === "in") lookAtMembership(checking, node, under(node.left), under(node.right));
      return signed([node.left, node.right], operatorSignatures[node.operator], node.operator);
    case "call":
      return signed(node.args, functionSignatures[node.name], `${node.name}()`);
    case "matches":
      return signed([node.of], matchesSignature, "matches()");
    case "clock":
      return signed([node.of], clockSignature, `${node.part}()`);
    case "count":
      return scalarShape("int");
    case "each":
      return eachShape(checking, node, known);
  }
}

/** What comes of it, by all signatures that the arguments could fit. */
function resultShape(
  checking: Checking,
  nodes: readonly Node[],
  shapes: readonly Shape[],
  signatures: readonly Signature[],
  what: string,
): Shape {
  const fitting = signatures.filter(({ takes }) =>
    takes.every((wanted, index) => wanted.some((kind) => shapes[index]?.kinds.has(kind) === true)),
  );
  if (fitting.length === 0) {
    const given = nodes.map((node, index) => `${textOf(node)} (${kindsText(shapes[index]?.kinds ?? new Set())})`);
    problem(checking, `${what} does not go with ${given.join(" and ")}`, misfitHint(shapes));
    return shapeOfKinds(new Set(signatures.map(({ gives }) => gives)));
  }
  for (const [index, shape] of shapes.entries()) {
    const left = [...shape.kinds].filter((kind) => !fitting.some(({ takes }) => takes[index]?.includes(kind) === true));
    const node = nodes[index];
    if (left.length === 0 || isOpen(shape.kinds) || node === undefined) continue;
    const message = `${textOf(node)} may be ${kindsText(new Set(left))}, with which ${what} does not go: the call is then denied`;
    note(checking.warnings, message);
  }
  return shapeOfKinds(new Set(fitting.map(({ gives }) => gives)));
}

function misfitHint(shapes: readonly Shape[]): string | undefined {
  const has = (kind: Kind): boolean => shapes.some((shape) => shape.kinds.has(kind));
  if (has("int") && has("double"))
    return "whole numbers and other numbers do not mix: write 2.0 for 2, or double(…) or int(…) around one of them";
  return has("string") && (has("int") || has("double")) ? "write a text in quotes and a number without" : undefined;
}

function fieldShape(checking: Checking, node: Node & { readonly kind: "field" }, known: Known): Shape {
  const outer = shapeAt(checking, node.of, known);
  const found = memberShape(checking, node.of, outer, node.name);
  if (found === undefined) return untyped;
  const outerPath = pathOf(node.of);
  const path = memberPath(outerPath ?? textOf(node.of), node.name);
  const outerNull = outer.kinds.has("null") && !isOpen(outer.kinds) && !known.has(notNull(outerPath ?? ""));
  const certain = (found.presence === "always" && !outerNull) || known.has(path);
  if (!certain && !checking.asking) checking.mayBeAbsent.add(path);
  if (!known.has(notNull(path)) || !found.shape.kinds.has("null") || found.shape.kinds.size === 1) return found.shape;
  return { ...found.shape, kinds: new Set([...found.shape.kinds].filter((kind) => kind !== "null")) };
}

/** The member of the shape, after a look at whether the shape can have members, and this one. */
function memberShape(
  checking: Checking,
  of: Node,
  outer: Shape,
  name: string,
): { readonly shape: Shape; readonly presence: "always" | "maybe" } | undefined {
  if (!outer.kinds.has("map")) {
    problem(checking, `${textOf(of)} has no fields: it is ${kindsText(outer.kinds)}`);
    return undefined;
  }
  const { shape, presence } = outer.member(name);
  if (presence !== "never") return { shape, presence };
  checking.unknown.set(memberPath(textOf(of), name), didYouMean(name, outer.names) ?? namesHint(outer.names));
  // That it is unknown says enough; it is not listed as absent too.
  return { shape: unknownArgs, presence: "always" };
}

function namesHint(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `it has ${names.slice(0, 12).join(", ")}${names.length > 12 ? " …" : ""}`;
}

function hasShape(checking: Checking, node: Node & { readonly kind: "has" }, known: Known): Shape {
  const before = checking.asking;
  checking.asking = true;
  const outer = shapeAt(checking, node.of, known);
  checking.asking = before;
  memberShape(checking, node.of, outer, node.name);
  return scalarShape("bool");
}

function itemShape(checking: Checking, node: Node & { readonly kind: "item" }, outer: Shape, index: Shape): Shape {
  const list = outer.kinds.has("list") && (index.kinds.has("int") || index.kinds.has("double"));
  const map = outer.kinds.has("map") && index.kinds.has("string");
  if (!list && !map) {
    problem(checking, `${textOf(node)} does not work: ${kindsText(outer.kinds)}, at ${kindsText(index.kinds)}`);
    return untyped;
  }
  if (!checking.asking) checking.mayBeAbsent.add(textOf(node));
  return list && !map ? outer.item() : unknownArgs;
}

function logicShape(checking: Checking, parts: readonly Node[], kind: "and" | "or", known: Known): Shape {
  let sofar = known;
  for (const part of parts) {
    const shape = shapeAt(checking, part, sofar);
    if (!shape.kinds.has("bool"))
      problem(checking, `${textOf(part)} is ${kindsText(shape.kinds)}, where true or false is needed`);
    sofar = withFacts(sofar, factsWhen(part, kind === "and"));
  }
  return scalarShape("bool");
}

function choiceShape(checking: Checking, node: Node & { readonly kind: "choice" }, known: Known): Shape {
  const test = shapeAt(checking, node.test, known);
  if (!test.kinds.has("bool"))
    problem(checking, `${textOf(node.test)} is ${kindsText(test.kinds)}, where true or false is needed`);
  const met = shapeAt(checking, node.met, withFacts(known, factsWhen(node.test, true)));
  const unmet = shapeAt(checking, node.unmet, withFacts(known, factsWhen(node.test, false)));
  return shapeOfKinds(new Set([...met.kinds, ...unmet.kinds]));
}

function eachShape(checking: Checking, node: Node & { readonly kind: "each" }, known: Known): Shape {
  const range = shapeAt(checking, node.range, known);
  const list = range.kinds.has("list");
  if (!list && !range.kinds.has("map"))
    problem(
      checking,
      `${node.macro}() goes over lists and mappings; ${textOf(node.range)} is ${kindsText(range.kinds)}`,
    );
  const item = range.kinds.has("map") ? (list ? unknownArgs : text) : range.item();
  checking.variables.set(node.variable, item);
  const test = node.macro === "map" ? node.only : node.body;
  const tested = test === undefined ? undefined : shapeAt(checking, test, known);
  if (tested !== undefined && test !== undefined && !tested.kinds.has("bool"))
    problem(checking, `${textOf(test)} is ${kindsText(tested.kinds)}, where true or false is needed`);
  const inside = test === undefined ? known : withFacts(known, factsWhen(test, true));
  const made = node.macro === "map" ? shapeAt(checking, node.body, inside) : item;
  checking.variables.delete(node.variable);
  return node.macro === "filter" || node.macro === "map" ? listOf(made) : scalarShape("bool");
}

/** Kinds that can be equal: the two kinds of number can be, across. */
function canBeEqual(left: Shape, right: Shape): boolean {
  const number = (shape: Shape): boolean => shape.kinds.has("int") || shape.kinds.has("double");
  // A look for null where there is none is cautious, not mistaken.
  const onlyNull = (shape: Shape): boolean => shape.kinds.has("null") && shape.kinds.size === 1;
  if (onlyNull(left) || onlyNull(right)) return true;
  return (number(left) && number(right)) || kinds.some((kind) => left.kinds.has(kind) && right.kinds.has(kind));
}

function lookAtEquality(
  checking: Checking,
  node: Node & { readonly kind: "operation" },
  left: Shape,
  right: Shape,
): void {
  if (!canBeEqual(left, right))
    problem(
      checking,
      `${textOf(node.left)} (${kindsText(left.kinds)}) is never equal to ${textOf(node.right)} (${kindsText(right.kinds)})`,
      misfitHint([left, right]),
    );
  else {
    lookAtValues(checking, node.left, left, node.right);
    lookAtValues(checking, node.right, right, node.left);
  }
}

function lookAtMembership(
  checking: Checking,
  node: Node & { readonly kind: "operation" },
  left: Shape,
  right: Shape,
): void {
  if (right.kinds.has("map")) {
    // "payee" in args, with a closed set of fields: a misspelt name would never be there.
    const { left: name } = node;
    if (name.kind === "value" && typeof name.value === "string" && !right.kinds.has("list"))
      memberShape(checking, node.right, right, name.value);
    return;
  }
  if (!right.kinds.has("list")) return;
  if (node.right.kind !== "list") {
    if (!canBeEqual(left, right.item()))
      problem(checking, `${textOf(node.left)} (${kindsText(left.kinds)}) is never in ${textOf(node.right)}`);
    return;
  }
  for (const item of node.right.items) {
    if (item.kind !== "value") continue;
    if (canBeEqual(left, scalarShape(kindOf(item.value)))) lookAtValues(checking, node.left, left, item);
    else problem(checking, `${textOf(node.left)} (${kindsText(left.kinds)}) is never ${scalarText(item.value)}`);
  }
}

/** A place with a list of values, compared with a value that is not in it. */
function lookAtValues(checking: Checking, place: Node, shape: Shape, other: Node): void {
  if (shape.values === undefined || other.kind !== "value") return;
  const { value } = other;
  if (typeof value !== "string" || shape.values.includes(value)) return;
  const texts = shape.values.filter((one) => typeof one === "string");
  const message = `${textOf(place)} is never ${scalarText(value)}`;
  const hint = didYouMean(value, texts) ?? `it is one of ${texts.slice(0, 12).join(", ")}`;
  // What the runtime itself names is certain; a tool's schema may grow another value.
  const list = pathOf(place)?.startsWith("tool.") === true ? checking.problems : checking.warnings;
  note(list, message, hint);
}

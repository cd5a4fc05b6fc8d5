// Writes a condition's nodes as the text that a person would have written.
import { childrenOf, memberPath, type Node, type Scalar } from "./tree.ts";

/** How tightly a node's text holds together; smaller needs brackets inside larger. */
function strength(node: Node): number {
  if (node.kind === "choice") return 1;
  if (node.kind === "or") return 2;
  if (node.kind === "and") return 3;
  if (node.kind === "not" || node.kind === "negative") return 7;
  if (node.kind !== "operation") return 8;
  if (node.operator === "*" || node.operator === "/" || node.operator === "%") return 6;
  return node.operator === "+" || node.operator === "-" ? 5 : 4;
}

export function scalarText(value: Scalar): string {
  if (value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
  if (typeof value === "object")
    return value.type === "timestamp"
      ? `timestamp(${JSON.stringify(new Date(value.ms).toISOString())})`
      : `duration("${spanText(value.ms)}")`;
  return String(value);
}

/** In the largest unit that is whole: `10m`, not `600000ms`. */
function spanText(ms: number): string {
  const [unit, size] = spanUnits.find(([, one]) => ms !== 0 && ms % one === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

const spanUnits = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

const listText = (nodes: readonly Node[]): string => nodes.map((node) => textOf(node)).join(", ");

/** CEL that parses to the same node. */
export function textOf(node: Node): string {
  const inside = (part: Node, least: number): string => {
    const text = textOf(part);
    return strength(part) < least ? `(${text})` : text;
  };
  switch (node.kind) {
    case "value":
      return scalarText(node.value);
    case "variable":
      return node.name;
    case "field":
      return memberPath(inside(node.of, 8), node.name);
    case "has":
      return `has(${memberPath(inside(node.of, 8), node.name)})`;
    case "item":
      return `${inside(node.of, 8)}[${textOf(node.index)}]`;
    case "list":
      return `[${listText(node.items)}]`;
    case "and":
      return node.parts.map((part) => inside(part, 4)).join(" && ");
    case "or":
      return node.parts.map((part) => inside(part, 3)).join(" || ");
    case "not":
      return `!${inside(node.of, 8)}`;
    case "negative":
      // Before a number the sign would become a part of it.
      return node.of.kind === "value" ? `-(${textOf(node.of)})` : `-${inside(node.of, 8)}`;
    case "choice":
      return `${inside(node.test, 2)} ? ${inside(node.met, 2)} : ${inside(node.unmet, 1)}`;
    case "operation":
      return `${inside(node.left, strength(node))} ${node.operator} ${inside(node.right, strength(node) + 1)}`;
    case "matches":
      return `${inside(node.of, 8)}.matches(${JSON.stringify(node.pattern.source)})`;
    case "clock":
      return `${inside(node.of, 8)}.${node.part}(${node.zone.name === "" ? "" : JSON.stringify(node.zone.name)})`;
    case "count":
      return typeof node.over === "number" ? `calls.window("${spanText(node.over)}")` : `calls.${node.over}`;
    case "call":
      return callText(node.name, node.args, inside);
    case "each":
      return `${inside(node.range, 8)}.${node.macro}(${node.variable}, ${listText(childrenOf(node).slice(1))})`;
  }
}

const methods = ["contains", "startsWith", "endsWith", "lowerAscii", "upperAscii"];

function callText(name: string, args: readonly Node[], inside: (part: Node, least: number) => string): string {
  const [first, ...rest] = args;
  return first !== undefined && methods.includes(name)
    ? `${inside(first, 8)}.${name}(${listText(rest)})`
    : `${name}(${listText(args)})`;
}

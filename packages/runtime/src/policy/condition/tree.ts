// A condition as a tree of our own: every kind of node is known, so that what is not known cannot be evaluated.

/** A point in time, ms since 1970; finer digits are cut. */
export interface Moment {
  readonly type: "timestamp";
  readonly ms: number;
}

/** A length of time in whole ms. */
export interface Span {
  readonly type: "duration";
  readonly ms: number;
}

export type Scalar = null | boolean | bigint | number | string | Moment | Span;

export const operators = ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "in"] as const;
export type Operator = (typeof operators)[number];

export const functionNames = [
  "size",
  "contains",
  "startsWith",
  "endsWith",
  "lowerAscii",
  "upperAscii",
  "int",
  "double",
  "string",
  "timestamp",
  "duration",
] as const;
export type FunctionName = (typeof functionNames)[number];

export const clockParts = [
  "getFullYear",
  "getMonth",
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getDayOfYear",
  "getHours",
  "getMinutes",
  "getSeconds",
  "getMilliseconds",
] as const;
export type ClockPart = (typeof clockParts)[number];

export const macros = ["exists", "all", "exists_one", "filter", "map"] as const;
export type Macro = (typeof macros)[number];

export interface TextPattern {
  readonly source: string;
  test(text: string): boolean;
  /** Instructions of its program: what one character costs at worst. */
  readonly size: number;
}

/** Where a clock is read: an offset in minutes, or a zone by name with its formatter. */
export type Zone =
  | { readonly name: string; readonly offsetMinutes: number }
  | { readonly name: string; readonly format: Intl.DateTimeFormat };

export type Node =
  | { readonly kind: "value"; readonly value: Scalar }
  | { readonly kind: "variable"; readonly name: string }
  /** `of.name`, also `of["name"]`. */
  | { readonly kind: "field"; readonly of: Node; readonly name: string }
  | { readonly kind: "has"; readonly of: Node; readonly name: string }
  | { readonly kind: "item"; readonly of: Node; readonly index: Node }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "and" | "or"; readonly parts: readonly Node[] }
  | { readonly kind: "not"; readonly of: Node }
  | { readonly kind: "negative"; readonly of: Node }
  | { readonly kind: "choice"; readonly test: Node; readonly met: Node; readonly unmet: Node }
  | { readonly kind: "operation"; readonly operator: Operator; readonly left: Node; readonly right: Node }
  /** A method's object is its first argument. */
  | { readonly kind: "call"; readonly name: FunctionName; readonly args: readonly Node[] }
  | { readonly kind: "matches"; readonly of: Node; readonly pattern: TextPattern }
  | { readonly kind: "clock"; readonly part: ClockPart; readonly of: Node; readonly zone: Zone }
  /** Calls of a turn, of a session, or of so many ms. */
  | { readonly kind: "count"; readonly over: "turn" | "session" | number }
  | {
      readonly kind: "each";
      readonly macro: Macro;
      readonly variable: string;
      readonly range: Node;
      /** The test; of `map` what becomes of an item. */
      readonly body: Node;
      /** Of `map` alone: which items. */
      readonly only: Node | undefined;
    };

/** `args.payee.iban` for fields of a variable and nothing else. */
export function pathOf(node: Node): string | undefined {
  if (node.kind === "variable") return node.name;
  if (node.kind !== "field") return undefined;
  const outer = pathOf(node.of);
  return outer === undefined ? undefined : memberPath(outer, node.name);
}

export function memberPath(path: string, name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** The nodes directly under a node. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "value":
    case "variable":
    case "count":
      return [];
    case "field":
    case "has":
    case "not":
    case "negative":
    case "matches":
    case "clock":
      return [node.of];
    case "item":
      return [node.of, node.index];
    case "list":
      return node.items;
    case "and":
    case "or":
      return node.parts;
    case "choice":
      return [node.test, node.met, node.unmet];
    case "operation":
      return [node.left, node.right];
    case "call":
      return node.args;
    case "each":
      return node.only === undefined ? [node.range, node.body] : [node.range, node.only, node.body];
  }
}

// Parses the text of a condition and turns the parser's tree into ours, refusing everything that is not known.
import { parse } from "@bufbuild/cel";
import { RE2JS } from "re2js";
import { cutText, timeInWords } from "@signalbox/protocol";
import { didYouMean } from "../../document/nearest.ts";
import { parseDuration } from "../../document/units.ts";
import { policyBounds } from "../bounds.ts";
import { parseMoment, parseSpan, parseZone, utc } from "./clock.ts";
import { callable, functions, variableNames, variables } from "./names.ts";
import { nestingOf } from "./nesting.ts";
import {
  clockParts,
  functionNames,
  macros,
  operators,
  type ClockPart,
  type FunctionName,
  type Macro,
  type Node,
  type Scalar,
  type TextPattern,
} from "./tree.ts";

export interface ConditionProblem {
  readonly message: string;
  readonly hint?: string;
}

export type ParsedCondition =
  | { readonly ok: true; readonly root: Node }
  | { readonly ok: false; readonly problems: readonly ConditionProblem[] };

type Parsed = ReturnType<typeof parse>;
type Expr = Parsed["expr"];
type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];
type Loop = Extract<Expr["exprKind"], { case: "comprehensionExpr" }>["value"];

/** Ends the reading of one part; its neighbours are still read, so that all problems are seen. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

interface Reading {
  readonly sourceInfo: Parsed["sourceInfo"];
  readonly problems: ConditionProblem[];
  nodes: number;
  readonly windows: Set<number>;
}

interface Place {
  readonly depth: number;
  /** The variable of the loop around this place. */
  readonly loop: string | undefined;
}

/** Never throws, whatever the text is. */
export function parseCondition(source: string): ParsedCondition {
  const { conditionCharsMax } = policyBounds;
  const refused = (message: string, hint?: string): ParsedCondition => ({
    ok: false,
    problems: [hint === undefined ? { message } : { message, hint }],
  });
  if (source.length > conditionCharsMax) return refused(`is longer than ${conditionCharsMax} characters`);
  if (nestingOf(source) > policyBounds.conditionDepthMax) return refused("is nested too deeply");
  let parsed: Parsed;
  try {
    parsed = parse(source);
  } catch (error) {
    if (error instanceof RangeError) return refused("is nested too deeply");
    const text = error instanceof Error ? error.message : "unknown error";
    return refused(`is no condition: ${text.slice(0, 300)}`, "conditions are CEL, like args.amount > 1000.0");
  }
  const reading: Reading = { sourceInfo: parsed.sourceInfo, problems: [], nodes: 0, windows: new Set() };
  const root = attempt(reading, () => nodeOf(reading, parsed.expr, { depth: 1, loop: undefined }));
  if (root === undefined || reading.problems.length > 0) return { ok: false, problems: reading.problems };
  return { ok: true, root };
}

function attempt<T>(reading: Reading, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { hint } = error;
    const message = cutText(error.message, policyBounds.problemCharsMax);
    // An empty message: said before, further in. What is wrong everywhere is said once.
    const said = message === "" || reading.problems.some((one) => one.message === message);
    if (!said) reading.problems.push(hint === undefined ? { message } : { message, hint });
    return undefined;
  }
}

/** All of them are read before the first problem ends anything. */
function nodesOf(reading: Reading, exprs: readonly (Expr | undefined)[], place: Place): readonly Node[] {
  const nodes = exprs.map((expr) => attempt(reading, () => nodeOf(reading, expr, place)));
  const good = nodes.filter((node) => node !== undefined);
  if (good.length < nodes.length) throw new Refusal("");
  return good;
}

function nodeOf(reading: Reading, expr: Expr | undefined, outer: Place): Node {
  const place = { ...outer, depth: outer.depth + 1 };
  if (++reading.nodes > policyBounds.conditionNodesMax)
    throw new Refusal(`has more than ${policyBounds.conditionNodesMax} parts`, "split it into several policies");
  if (place.depth > policyBounds.conditionDepthMax) throw new Refusal("is nested too deeply");
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case "constExpr":
      return { kind: "value", value: scalarOf(kind.value.constantKind) };
    case "identExpr":
      return variableOf(kind.value.name, place);
    case "selectExpr":
      return kind.value.testOnly
        ? hasOf(reading, kind.value.operand, kind.value.field, place)
        : fieldOf(reading, kind.value.operand, kind.value.field, place);
    case "listExpr":
      return { kind: "list", items: nodesOf(reading, kind.value.elements, place) };
    case "callExpr":
      return callOf(reading, kind.value, place);
    case "comprehensionExpr":
      return loopOf(reading, kind.value, macroName(reading, expr?.id ?? 0n), place);
    default:
      throw new Refusal("builds a map or a message", "conditions compare what is there; they build lists at most");
  }
}

function scalarOf(constant: { readonly case: string | undefined; readonly value?: unknown }): Scalar {
  const { value } = constant;
  if (constant.case === "nullValue") return null;
  if (constant.case === "int64Value" && typeof value === "bigint") {
    if (BigInt.asIntN(64, value) !== value) throw new Refusal(`${value} is out of range for an int`, "write a double");
    return value;
  }
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new Refusal(
    "has a value that is not accepted: bytes, unsigned or infinite",
    "write a text, a number, true, false or null",
  );
}

function variableOf(name: string, place: Place): Node {
  if (name === place.loop) return { kind: "variable", name };
  if (!Object.hasOwn(variables, name))
    throw new Refusal(
      `${JSON.stringify(name)} is no variable`,
      didYouMean(name, variableNames) ?? `variables: ${variableNames.join(", ")}`,
    );
  const fields = variables[name];
  if (fields !== undefined) throw new Refusal(`${name} stands alone`, `name one of ${fields.join(", ")}`);
  return { kind: "variable", name };
}

/** The variable with fixed fields that an expression is, if it is one. */
function fixedVariable(expr: Expr | undefined, place: Place): string | undefined {
  const name = expr?.exprKind.case === "identExpr" ? expr.exprKind.value.name : undefined;
  return name !== undefined && name !== place.loop && Object.hasOwn(variables, name) && variables[name] !== undefined
    ? name
    : undefined;
}

function fieldOf(reading: Reading, operand: Expr | undefined, name: string, place: Place): Node {
  const fixed = fixedVariable(operand, place);
  if (fixed === undefined) return { kind: "field", of: nodeOf(reading, operand, place), name };
  const known = variables[fixed] ?? [];
  if (!known.includes(name))
    throw new Refusal(
      `${fixed} has no ${JSON.stringify(name)}`,
      didYouMean(name, known) ?? `it has ${known.join(", ")}`,
    );
  if (fixed !== "calls") return { kind: "field", of: { kind: "variable", name: fixed }, name };
  if (name === "turn" || name === "session") return { kind: "count", over: name };
  throw new Refusal("calls.window stands without a length", 'write calls.window("10m")');
}

function hasOf(reading: Reading, operand: Expr | undefined, name: string, place: Place): Node {
  const fixed = fixedVariable(operand, place);
  if (fixed !== undefined) throw new Refusal(`has(${fixed}.${name}) asks for what is always there`);
  return { kind: "has", of: nodeOf(reading, operand, place), name };
}

const operatorOf: ReadonlyMap<string, (typeof operators)[number]> = new Map(
  operators.map((operator) => [operator === "in" ? "@in" : `_${operator}_`, operator]),
);

function callOf(reading: Reading, call: Call, place: Place): Node {
  const { target, args } = call;
  if (target !== undefined) return methodOf(reading, call.function, target, args, place);
  const operator = operatorOf.get(call.function);
  if (operator !== undefined) {
    const [left, right] = nodesOf(reading, args, place);
    if (left !== undefined && right !== undefined) return { kind: "operation", operator, left, right };
  }
  switch (call.function) {
    case "_&&_":
    case "_||_": {
      const kind = call.function === "_&&_" ? "and" : "or";
      return { kind, parts: nodesOf(reading, partsOf(call.function, args), place) };
    }
    case "!_":
    case "-_": {
      const [of] = nodesOf(reading, args, place);
      if (of !== undefined) return { kind: call.function === "!_" ? "not" : "negative", of };
      break;
    }
    case "_?_:_": {
      const [test, met, unmet] = nodesOf(reading, args, place);
      if (test !== undefined && met !== undefined && unmet !== undefined) return { kind: "choice", test, met, unmet };
      break;
    }
    case "_[_]": {
      // `args["a b"]` is a field like any other.
      const key = args[1]?.exprKind.case === "constExpr" ? args[1].exprKind.value.constantKind.value : undefined;
      if (typeof key === "string") return fieldOf(reading, args[0], key, place);
      const [of, index] = nodesOf(reading, args, place);
      if (of !== undefined && index !== undefined) return { kind: "item", of, index };
      break;
    }
    default:
  }
  return functionOf(reading, call.function, args, "function", place);
}

/** The parser balances long chains; one list of parts reads and explains better. */
function partsOf(name: string, args: readonly Expr[]): readonly Expr[] {
  return args.flatMap((arg) => {
    const { exprKind } = arg;
    return exprKind.case === "callExpr" && exprKind.value.function === name
      ? partsOf(name, exprKind.value.args)
      : [arg];
  });
}

function methodOf(reading: Reading, name: string, target: Expr, args: readonly Expr[], place: Place): Node {
  if (fixedVariable(target, place) === "calls") {
    if (name === "window") return windowOf(reading, args);
    throw new Refusal(`calls has no ${JSON.stringify(name)}`, "it has turn, session and window");
  }
  if (name === "matches") {
    const pattern = patternOf(textConstant(args, "matches", 'a pattern in quotes, like matches("^[a-z]+$")'));
    return { kind: "matches", of: nodeOf(reading, target, place), pattern };
  }
  if ((clockParts as readonly string[]).includes(name)) {
    const zoneName = args.length === 0 ? undefined : textConstant(args, name, "a time zone in quotes, or nothing");
    const zone = zoneName === undefined ? utc : parseZone(zoneName);
    if (zone === undefined)
      throw new Refusal(`${JSON.stringify(zoneName)} is no time zone`, 'like "Europe/Berlin", "+02:00" or "UTC"');
    return { kind: "clock", part: name as ClockPart, of: nodeOf(reading, target, place), zone };
  }
  return functionOf(reading, name, [target, ...args], "method", place);
}

function functionOf(
  reading: Reading,
  name: string,
  exprs: readonly Expr[],
  form: "function" | "method",
  place: Place,
): Node {
  if (name === "has") throw new Refusal("has() is given something else than a field", "like has(args.payee)");
  if ((macros as readonly string[]).includes(name))
    throw new Refusal(`${name}() is not called as it should be`, `like args.items.${name}(item, item.price > 10.0)`);
  if (!(functionNames as readonly string[]).includes(name))
    throw new Refusal(
      `${JSON.stringify(name)} is no function that a condition can use`,
      didYouMean(name, callable) ?? `functions: ${callable.join(", ")}`,
    );
  const known = functions[name as FunctionName];
  if (exprs.length !== known.args || (known.form !== "either" && known.form !== form)) {
    const wanted = known.form === "method" ? known.args - 1 : known.args;
    throw new Refusal(
      `${name}() is not called as it should be`,
      `it is a ${known.form === "method" ? "method of a text" : "function"} with ${wanted} argument${wanted === 1 ? "" : "s"}`,
    );
  }
  const args = nodesOf(reading, exprs, place);
  return constantTime(name, args) ?? { kind: "call", name: name as FunctionName, args };
}

/** `timestamp("…")` and `duration("…")` of a written text are values, found wrong here rather than at every call. */
function constantTime(name: string, [only]: readonly Node[]): Node | undefined {
  if ((name !== "timestamp" && name !== "duration") || only?.kind !== "value" || typeof only.value !== "string")
    return undefined;
  const value = name === "timestamp" ? parseMoment(only.value) : parseSpan(only.value);
  if (value !== undefined) return { kind: "value", value };
  throw new Refusal(
    `${JSON.stringify(only.value.slice(0, 60))} is no ${name}`,
    name === "timestamp" ? "like 2026-03-01T08:00:00Z" : "like 90s or 1h30m",
  );
}

function textConstant(args: readonly Expr[], name: string, hint: string): string {
  const [only, ...more] = args;
  const constant = only?.exprKind.case === "constExpr" ? only.exprKind.value.constantKind.value : undefined;
  if (more.length > 0 || typeof constant !== "string") throw new Refusal(`${name}() needs ${hint}`);
  return constant;
}

function patternOf(source: string): TextPattern {
  const { matchPatternCharsMax, matchProgramMax } = policyBounds;
  if (source.length > matchPatternCharsMax)
    throw new Refusal(`has a pattern of more than ${matchPatternCharsMax} characters`);
  try {
    const engine = RE2JS.compile(source);
    const size = engine.programSize();
    if (size <= matchProgramMax) return { source, size, test: (text) => engine.test(text) };
  } catch (error) {
    const text = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "unknown error";
    throw new Refusal(
      `has a pattern that is not accepted: ${text.slice(0, 200)}`,
      "patterns are RE2, without look-around",
    );
  }
  throw new Refusal("has a pattern that is too large", "lower its repeat counts");
}

function windowOf(reading: Reading, args: readonly Expr[]): Node {
  const { windowMsMin, windowMsMax, windowsPerConditionMax } = policyBounds;
  const text = textConstant(args, "calls.window", 'a length in quotes, like calls.window("10m")');
  const length = parseDuration(text);
  if (!length.ok)
    throw new Refusal(`calls.window(${JSON.stringify(text.slice(0, 60))}) ${length.message}`, length.hint);
  if (length.value < windowMsMin || length.value > windowMsMax)
    throw new Refusal(`calls.window("${text}") is out of range`, `${timeInWords(windowMsMin)} to ${timeInWords(windowMsMax)}`);
  reading.windows.add(length.value);
  if (reading.windows.size > windowsPerConditionMax)
    throw new Refusal(`counts calls in more than ${windowsPerConditionMax} windows`);
  return { kind: "count", over: length.value };
}

function macroName(reading: Reading, id: bigint): string {
  const call = reading.sourceInfo?.macroCalls[id.toString()]?.exprKind;
  return call?.case === "callExpr" ? call.value.function : "";
}

const callArgs = (expr: Expr | undefined): readonly Expr[] =>
  expr?.exprKind.case === "callExpr" ? expr.exprKind.value.args : [];
const listItems = (expr: Expr | undefined): readonly Expr[] =>
  expr?.exprKind.case === "listExpr" ? expr.exprKind.value.elements : [];

/** The parser has written the macros out as loops; this finds their parts again. */
function loopOf(reading: Reading, loop: Loop, written: string, place: Place): Node {
  const macro = macros.find((one) => one === (written === "existsOne" ? "exists_one" : written));
  const variable = loop.iterVar;
  if (macro === undefined) throw new Refusal("has a loop that is none of the known macros");
  if (place.loop !== undefined)
    throw new Refusal(`has ${macro}() inside another loop`, "loops inside loops take too long: split the policy");
  if (Object.hasOwn(variables, variable))
    throw new Refusal(`calls a loop's variable ${variable}, which is a variable already`, "take another name");
  const inside = { ...place, loop: variable };
  const [body, only] = loopParts(macro, loop);
  const range = nodesOf(reading, [loop.iterRange], { ...place, loop: "" });
  const parts = nodesOf(reading, only === undefined ? [body] : [body, only], inside);
  const [first, second] = parts;
  if (range[0] === undefined || first === undefined) throw new Refusal("has an incomplete loop");
  return { kind: "each", macro, variable, range: range[0], body: first, only: second };
}

function loopParts(macro: Macro, { loopStep }: Loop): readonly [Expr | undefined, Expr | undefined] {
  const step = callArgs(loopStep);
  if (macro === "exists" || macro === "all") return [step[1], undefined];
  if (macro !== "map") return [step[0], undefined];
  const filtered = step.length === 3;
  return [listItems(filtered ? callArgs(step[1])[1] : step[1])[0], filtered ? step[0] : undefined];
}

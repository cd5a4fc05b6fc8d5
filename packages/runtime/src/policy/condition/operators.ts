// What the operators and functions of conditions do; a combination of kinds that is not here is an error.
import { policyBounds } from "../bounds.ts";
import { moment, parseMoment, parseSpan, span } from "./clock.ts";
import type { FunctionName, Operator } from "./tree.ts";
import { Failed } from "./failed.ts";
import { isMoment, isSpan, kindOf, kindText, listOf, memberOf, namesOf, type Value } from "./values.ts";

/** Takes so many steps from what the evaluation may still spend; throws when there are none left. */
export type Spend = (steps: number) => void;

const charsPerStep = 64;
export const textSteps = (...texts: readonly string[]): number =>
  texts.reduce((steps, text) => steps + text.length / charsPerStep, 1);

const intMin = -(2n ** 63n);
const intMax = 2n ** 63n - 1n;

function int(value: bigint): bigint {
  if (value >= intMin && value <= intMax) return value;
  throw new Failed("a whole number is out of range");
}

function misfit(operator: string, left: Value, right: Value): Failed {
  return new Failed(`${operator} does not go with ${kindText[kindOf(left)]} and ${kindText[kindOf(right)]}`);
}

export function operate(operator: Operator, left: Value, right: Value, spend: Spend): Value {
  switch (operator) {
    case "==":
      return same(left, right, spend);
    case "!=":
      return !same(left, right, spend);
    case "<":
      return order(operator, left, right, spend) < 0;
    case "<=":
      return order(operator, left, right, spend) <= 0;
    case ">":
      return order(operator, left, right, spend) > 0;
    case ">=":
      return order(operator, left, right, spend) >= 0;
    case "in":
      return contained(left, right, spend);
    default:
      return arithmetic(operator, left, right, spend);
  }
}

/** Numbers compare across their kinds; values of different kinds are different. */
export function same(left: Value, right: Value, spend: Spend): boolean {
  spend(1);
  if (typeof left === "string" && typeof right === "string") {
    if (left.length === right.length) spend(textSteps(left));
    return left === right;
  }
  // Across kinds 2n === 2.0 would be false.
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right) === 0;
  if (typeof left !== "object" || left === null || typeof right !== "object" || right === null) return left === right;
  if (isMoment(left)) return isMoment(right) && left.ms === right.ms;
  if (isSpan(left)) return isSpan(right) && left.ms === right.ms;
  const names = namesOf(left);
  if (names !== undefined) {
    const others = namesOf(right);
    return (
      names.length === others?.length &&
      names.every((name) => {
        const [mine, theirs] = [memberOf(left, name), memberOf(right, name)];
        return mine !== undefined && theirs !== undefined && same(mine, theirs, spend);
      })
    );
  }
  const [mine, theirs] = [listOf(left), listOf(right)];
  if (mine === undefined || theirs === undefined || mine.size !== theirs.size) return false;
  for (let index = 0; index < mine.size; index++) if (!same(mine.at(index), theirs.at(index), spend)) return false;
  return true;
}

const isNumber = (value: Value): value is number | bigint => typeof value === "number" || typeof value === "bigint";

/** NaN is in no order with anything: NaN itself comes back, and no comparison with it holds. */
function compareNumbers(left: number | bigint, right: number | bigint): number {
  if (left < right) return -1;
  if (left > right) return 1;
  return left <= right ? 0 : Number.NaN;
}

/** Negative, 0 or positive; NaN where there is no order. */
function order(operator: Operator, left: Value, right: Value, spend: Spend): number {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (typeof left === "string" && typeof right === "string") {
    spend(textSteps(left, right));
    return compareTexts(left, right);
  }
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (isMoment(left) && isMoment(right)) return left.ms - right.ms;
  if (isSpan(left) && isSpan(right)) return left.ms - right.ms;
  throw misfit(operator, left, right);
}

/** By code points; comparing code units would put U+FFFF after U+10000. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  let index = 0;
  while (left.charCodeAt(index) === right.charCodeAt(index)) index++;
  const [mine, theirs] = [left.charCodeAt(index), right.charCodeAt(index)];
  if (Number.isNaN(mine) || Number.isNaN(theirs)) return left.length - right.length;
  const surrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
  return surrogate(mine) === surrogate(theirs) ? mine - theirs : surrogate(mine) ? 1 : -1;
}

function contained(left: Value, right: Value, spend: Spend): boolean {
  const list = listOf(right);
  if (list !== undefined) {
    for (let index = 0; index < list.size; index++) if (same(list.at(index), left, spend)) return true;
    return false;
  }
  if (namesOf(right) !== undefined && typeof left === "string") return memberOf(right, left) !== undefined;
  throw misfit("in", left, right);
}

function arithmetic(operator: Operator, left: Value, right: Value, spend: Spend): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return integers(operator, left, right);
  if (typeof left === "number" && typeof right === "number") {
    if (operator === "+") return left + right;
    if (operator === "-") return left - right;
    if (operator === "*") return left * right;
    if (operator === "/") return left / right;
  }
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") return joined(left, right, spend);
    const lists = [listOf(left), listOf(right)];
    const [first, second] = lists;
    if (first !== undefined && second !== undefined) {
      spend(first.size + second.size);
      const items = [first, second].flatMap((list) => Array.from({ length: list.size }, (_, index) => list.at(index)));
      return { type: "list", items };
    }
  }
  return times(operator, left, right) ?? raise(misfit(operator, left, right));
}

function integers(operator: Operator, left: bigint, right: bigint): bigint {
  if (operator === "+") return int(left + right);
  if (operator === "-") return int(left - right);
  if (operator === "*") return int(left * right);
  if (right === 0n) throw new Failed("a whole number is divided by zero");
  return int(operator === "/" ? left / right : left % right);
}

function joined(left: string, right: string, spend: Spend): string {
  if (left.length + right.length > policyBounds.textCharsMax) throw new Failed("a text becomes too long");
  spend(textSteps(left, right));
  return left + right;
}

function times(operator: Operator, left: Value, right: Value): Value | undefined {
  const outOfRange = (value: Value | undefined): Value => value ?? raise(new Failed("a time is out of range"));
  if (operator === "+") {
    if (isMoment(left) && isSpan(right)) return outOfRange(moment(left.ms + right.ms));
    if (isSpan(left) && isMoment(right)) return outOfRange(moment(left.ms + right.ms));
    if (isSpan(left) && isSpan(right)) return outOfRange(span(left.ms + right.ms));
  } else if (operator === "-") {
    if (isMoment(left) && isMoment(right)) return outOfRange(span(left.ms - right.ms));
    if (isMoment(left) && isSpan(right)) return outOfRange(moment(left.ms - right.ms));
    if (isSpan(left) && isSpan(right)) return outOfRange(span(left.ms - right.ms));
  }
  return undefined;
}

function raise(error: Failed): never {
  throw error;
}

export function negative(value: Value): Value {
  if (typeof value === "bigint") return int(-value);
  if (typeof value === "number") return -value;
  throw new Failed(`- does not go with ${kindText[kindOf(value)]}`);
}

/** @param args as many as the function takes; a method's object comes first */
export function callFunction(name: FunctionName, args: readonly Value[], spend: Spend): Value {
  const [first = null, second = null] = args;
  switch (name) {
    case "size":
      return sizeOf(first, spend);
    case "int":
      return toInt(first);
    case "double":
      return toDouble(first);
    case "string":
      return toText(first, spend);
    case "timestamp":
      return isMoment(first) ? first : parsed(name, first, parseMoment);
    case "duration":
      return isSpan(first) ? first : parsed(name, first, parseSpan);
    default:
  }
  if (typeof first !== "string") throw new Failed(`${name}() does not go with ${kindText[kindOf(first)]}`);
  spend(textSteps(first));
  // ASCII letters alone, so that no locale and no special case of Unicode has a say.
  if (name === "lowerAscii") return first.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  if (name === "upperAscii") return first.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
  if (typeof second !== "string") throw new Failed(`${name}() does not go with ${kindText[kindOf(second)]}`);
  if (name === "contains") return first.includes(second);
  return name === "startsWith" ? first.startsWith(second) : first.endsWith(second);
}

/** Of a text, its code points. */
function sizeOf(value: Value, spend: Spend): bigint {
  if (typeof value === "string") {
    spend(textSteps(value));
    let pairs = 0;
    for (let index = 0; index < value.length - 1; index++)
      if ((value.codePointAt(index) ?? 0) > 0xffff) {
        pairs++;
        index++;
      }
    return BigInt(value.length - pairs);
  }
  const size = listOf(value)?.size ?? namesOf(value)?.length;
  if (size === undefined) throw new Failed(`size() does not go with ${kindText[kindOf(value)]}`);
  return BigInt(size);
}

function toInt(value: Value): bigint {
  if (typeof value === "bigint") return value;
  // Doubles next to 2^63 round to it, so the bound itself is out.
  if (typeof value === "number" && Math.abs(value) < 2 ** 63) return BigInt(Math.trunc(value));
  if (typeof value === "string" && /^-?[0-9]{1,19}$/.test(value)) return int(BigInt(value));
  if (isMoment(value)) return BigInt(Math.floor(value.ms / 1_000));
  throw new Failed(`int() cannot make a whole number of this: ${kindText[kindOf(value)]}`);
}

function toDouble(value: Value): number {
  if (isNumber(value)) return Number(value);
  if (typeof value === "string" && value.length <= 40 && /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(value))
    return Number(value);
  throw new Failed(`double() cannot make a number of this: ${kindText[kindOf(value)]}`);
}

function toText(value: Value, spend: Spend): string {
  spend(1);
  if (typeof value === "string") return value;
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (isMoment(value)) return new Date(value.ms).toISOString().replace(/\.?0*Z$/, "Z");
  if (isSpan(value)) return `${value.ms / 1_000}s`;
  throw new Failed(`string() does not go with ${kindText[kindOf(value)]}`);
}

function parsed<T>(name: string, value: Value, parse: (text: string) => T | undefined): T {
  const made = typeof value === "string" ? parse(value) : undefined;
  // The text itself is left out: what fails is recorded, and records hold no arguments.
  return made ?? raise(new Failed(`${name}() cannot read this: ${kindText[kindOf(value)]}`));
}

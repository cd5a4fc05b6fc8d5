// Numbers whose source digits a double would lose: how they are told apart, kept, and read.
import { DIGIT_0, MINUS, isDigit } from "./char-codes.ts";

/** Longest integer read as a bigint: a million digits would block the process for half a second. */
export const bigIntDigitsMax = 4_300;

/**
 * A number as its source text (`{ rawJSON: "9007199254740993" }`): the engine's own frozen object, which
 * `JSON.stringify` writes out digit by digit. Data cannot imitate one: an object with a key `rawJSON` is not it.
 */
export interface RawNumber {
  readonly rawJSON: string;
}

/** What newer engines have (Node ≥ 21) and TypeScript's library does not yet declare. */
interface SourceAccess {
  readonly rawJSON?: (text: string) => RawNumber;
  readonly isRawJSON?: (value: unknown) => boolean;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
}

const { parse, rawJSON, isRawJSON = () => false } = JSON as unknown as SourceAccess;

export function isRawNumber(value: unknown): value is RawNumber {
  return isRawJSON(value);
}

/**
 * Whether a raw number or a bigint stands anywhere in the value. Recursive: for values of bounded depth. It runs on
 * every request, so it allocates nothing.
 */
export function holdsExactNumber(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "bigint";
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (holdsExactNumber(value[i])) return true;
    return false;
  }
  if (isRawNumber(value)) return true;
  for (const key in value) {
    if (holdsExactNumber((value as Readonly<Record<string, unknown>>)[key])) return true;
  }
  return false;
}

/**
 * `JSON.parse` that keeps numbers which a double would change as {@link RawNumber}s.
 * @throws SyntaxError as `JSON.parse` does
 * @throws TypeError on an engine without source access: rounding silently would be worse
 */
export function parseKeepingDigits(text: string): unknown {
  if (rawJSON === undefined) {
    throw new TypeError(
      "this engine cannot keep the digits of long numbers: use Node 21 or newer, or parseWithBigInts",
    );
  }
  return parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && losesDigits(source, value) ? rawJSON(source) : value,
  );
}

/**
 * Whether writing `value` out again gives another number than `source`, or an integer in exponent form (which
 * some languages read as a float). `1.0`, `1e2` and `-0` come back as `1`, `100` and `0`: nothing is lost.
 */
export function losesDigits(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  const written = String(value);
  if (written === source || source === "-0") return false;
  if (isIntegerText(source)) return true;
  return decimalOf(source) !== decimalOf(written);
}

/** True for a JSON number without fraction and exponent. */
export function isIntegerText(source: string): boolean {
  for (let i = 0; i < source.length; i++) {
    const code = source.charCodeAt(i);
    if (!isDigit(code) && code !== MINUS) return false;
  }
  return true;
}

/** One spelling per decimal value: sign, digits without zeros at either end, power of ten. Linear in the text. */
function decimalOf(source: string): string {
  const sign = source.charCodeAt(0) === MINUS ? "-" : "";
  const [mantissa = "", power = "0"] = source.slice(sign.length).split(/[eE]/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = whole + fraction;

  // Loops, not /0+$/: that pattern takes quadratic time on a long run of zeros that does not end the text.
  let from = 0;
  let to = digits.length;
  while (from < to && digits.charCodeAt(from) === DIGIT_0) from++;
  if (from === to) return "0";
  while (digits.charCodeAt(to - 1) === DIGIT_0) to--;
  const exponent = Number(power) - fraction.length + (digits.length - to);
  return `${sign}${digits.slice(from, to)}e${exponent}`;
}

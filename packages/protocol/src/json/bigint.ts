// JSON for the SDKs, where integers beyond 2^53 are bigints; needs no engine support beyond Node 20.
import { BACKSLASH, COLON, DIGIT_0, DIGIT_9, MINUS, QUOTE, skipSpace } from "./char-codes.ts";
import { bigIntDigitsMax, isIntegerText, isRawNumber } from "./exact-number.ts";
import { jsonDepthCeiling } from "./parse.ts";
import { placeInWords } from "./pointer.ts";
import { scanJson } from "./scan.ts";
import { findSyntaxError } from "./syntax-error.ts";


/** First characters that tell the strings of a tagged text apart; see {@link tagLongIntegers}. */
const stringTag = "s";
const integerTag = "i";

/**
 * `JSON.parse`, except that integers (written without fraction and exponent) outside ±(2^53 − 1) become bigints.
 * All other numbers are doubles; `1e400` is Infinity.
 * @throws SyntaxError with the place, not the text, when it is malformed
 * @throws RangeError when it is nested too deep, or an integer has more than {@link bigIntDigitsMax} digits
 */
export function parseWithBigInts(text: string): unknown {
  const scan = scanJson(text, { depthMax: jsonDepthCeiling });
  if (!scan.ok) throw new RangeError(`the JSON text is nested deeper than ${jsonDepthCeiling} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(findSyntaxError(text)?.message ?? "malformed JSON", { cause: error });
  }
  if (!scan.longNumbers) return value;
  const tagged = tagLongIntegers(text);
  if (tagged === undefined) return value;
  return JSON.parse(tagged, (_key, tag: unknown) => {
    if (typeof tag !== "string") return tag;
    return tag.startsWith(integerTag) ? BigInt(tag.slice(1)) : tag.slice(1);
  });
}

/**
 * Rewrites valid JSON text so that every string value starts with a tag, and every integer beyond 2^53 is a string
 * with another tag. Each string of the result was tagged here, so no string of the sender can pass for a number. Keys
 * stay as they are. Undefined when the text has no such integer.
 */
function tagLongIntegers(text: string): string | undefined {
  let result = "";
  let copied = 0;
  let found = false;
  for (let i = 0; i < text.length;) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const end = stringEnd(text, i);
      if (text.charCodeAt(skipSpace(text, end)) !== COLON) {
        result += `${text.slice(copied, i)}"${stringTag}`;
        copied = i + 1;
      }
      i = end;
    } else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) {
      const end = numberEnd(text, i);
      const token = text.slice(i, end);
      if (isIntegerText(token) && !Number.isSafeInteger(Number(token))) {
        if (token.length - (code === MINUS ? 1 : 0) > bigIntDigitsMax) {
          throw new RangeError(`an integer at offset ${i} has over ${bigIntDigitsMax} digits: send it as a string`);
        }
        result += `${text.slice(copied, i)}"${integerTag}${token}"`;
        copied = end;
        found = true;
      }
      i = end;
    } else i++;
  }
  return found ? result + text.slice(copied) : undefined;
}

function stringEnd(text: string, from: number): number {
  let i = from + 1;
  for (; text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++;
  return i + 1;
}

function numberEnd(text: string, from: number): number {
  let i = from;
  while (i < text.length && "0123456789+-.eE".includes(text.charAt(i))) i++;
  return i;
}

/**
 * JSON text with bigints as digits. Otherwise as `JSON.stringify`: `toJSON` is asked, undefined members are left out,
 * undefined items and an undefined value are `null`. What `JSON.stringify` would drop or falsify in silence is an error.
 * @throws TypeError that names the place of a cycle, a function, a symbol, a Map or Set, NaN or an infinity, or of
 *   nesting beyond 1 000 levels
 */
export function stringifyWithBigInts(value: unknown): string {
  return write(value, [], new Set()) ?? "null";
}

function write(given: unknown, path: (string | number)[], ancestors: Set<object>): string | undefined {
  const value = unwrap(given, String(path.at(-1) ?? ""));
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) throw noJsonForm(String(value), path, "send null or a string");
      return JSON.stringify(value);
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "function":
    case "symbol":
      throw noJsonForm(`a ${typeof value}`, path, "leave it out");
    case "object":
      return value === null ? "null" : writeObject(value, path, ancestors);
  }
}

function writeObject(value: object, path: (string | number)[], ancestors: Set<object>): string {
  if (isRawNumber(value)) return value.rawJSON;
  if (ancestors.has(value)) throw noJsonForm("a reference to an object that contains it", path, "break the cycle");
  if (path.length >= jsonDepthCeiling) throw noJsonForm("a value nested this deep", path, "flatten it");
  if (value instanceof Map || value instanceof Set) {
    const kind = value instanceof Map ? "a Map" : "a Set";
    throw noJsonForm(kind, path, "turn it into an object or an array");
  }
  ancestors.add(value);
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      parts.push(write(value[index], path, ancestors) ?? "null");
      path.pop();
    }
  } else {
    for (const [key, member] of Object.entries(value)) {
      path.push(key);
      const written = write(member, path, ancestors);
      if (written !== undefined) parts.push(`${JSON.stringify(key)}:${written}`);
      path.pop();
    }
  }
  ancestors.delete(value);
  return Array.isArray(value) ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
}

/** What `JSON.stringify` looks at instead: the answer of `toJSON`, the primitive in a boxed one. */
function unwrap(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  const seen: unknown = typeof toJSON === "function" ? toJSON.call(value, key) : value;
  const boxed = [Number, String, Boolean, BigInt].some((kind) => seen instanceof kind);
  return boxed ? (seen as object).valueOf() : seen;
}

function noJsonForm(what: string, path: readonly (string | number)[], step: string): TypeError {
  return new TypeError(`${what} has no JSON form, at ${placeInWords(path)}: ${step}`);
}

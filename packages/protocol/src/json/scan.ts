// Looks over JSON text once, before anything parses it: bounds its depth and says which slower checks it needs.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  DIGIT_0,
  DOT,
  LOWER_CASE_BIT,
  LOWER_E,
  LOWER_U,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  isDigit,
} from "./char-codes.ts";

/**
 * Every decimal of at most 15 digits survives the way into a double and back; the 16th may not.
 * Under that, only an exponent of three digits or more can leave the range in which this holds.
 */
const longNumberDigits = 16;
const longExponentDigits = 3;

const protoKey = "__proto__";
const DIGIT_5 = 0x35;
const DIGIT_7 = 0x37;
const DIGIT_8 = 0x38;
const LOWER_D = 0x64;

/** The flags may be set without need (the closer check decides), but are never missing where they are due. */
export type JsonScan =
  | {
      readonly ok: true;
      /** A number outside strings may have digits that a double would lose. */
      readonly longNumbers: boolean;
      /** A string holds a surrogate, raw or as an escape, which may be a lone one. */
      readonly surrogateEscapes: boolean;
      /** A string may be `__proto__`, perhaps in escapes. */
      readonly protoKeys: boolean;
      /** Keys that the text holds, those of an object that has the same one twice included. */
      readonly keys: number;
    }
  | {
      readonly ok: false;
      readonly reason: "too_deep";
      /** Index (UTF-16 units) of the bracket that goes too deep. */
      readonly offset: number;
      /** The depth that bracket opens, `depthMax + 1`. */
      readonly depth: number;
    };

/**
 * One pass, no recursion, and it ends at the first bracket beyond `depthMax`. A scalar has depth 0,
 * `[]` has depth 1. It does not check syntax: malformed text gets some answer, and the parser refuses it.
 */
export function scanJson(text: string, { depthMax }: { readonly depthMax: number }): JsonScan {
  let longNumbers = false;
  let surrogateEscapes = false;
  let protoKeys = false;
  let depth = 0;
  let keys = 0;

  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      const start = ++i;
      for (; i < text.length; i++) {
        const inside = text.charCodeAt(i);
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) {
          i++; // the escaped character, which may be a quote
          if (text.charCodeAt(i) !== LOWER_U) continue;
          if (isSurrogateEscape(text, i)) surrogateEscapes = true;
          else if (isProtoEscape(text, i)) protoKeys = true;
        } else if (inside >= 0xd800 && inside <= 0xdfff) {
          surrogateEscapes = true;
        }
      }
      if (i - start === protoKey.length && text.startsWith(protoKey, start)) protoKeys = true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > depthMax) return { ok: false, reason: "too_deep", offset: i, depth };
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      // Stray closing brackets must not buy depth for what follows.
      if (depth > 0) depth--;
    } else if (code === COLON) {
      keys++;
    } else if (isDigit(code)) {
      let digits = 0;
      let next = code;
      for (; isDigit(next) || next === DOT; next = text.charCodeAt(++i)) {
        if (next !== DOT) digits++;
      }
      if (digits >= longNumberDigits) longNumbers = true;
      if ((next | LOWER_CASE_BIT) === LOWER_E) {
        next = text.charCodeAt(++i);
        if (next === PLUS || next === MINUS) next = text.charCodeAt(++i);
        let exponentDigits = 0;
        for (; isDigit(next); next = text.charCodeAt(++i)) exponentDigits++;
        if (exponentDigits >= longExponentDigits) longNumbers = true;
      }
      i--; // the outer loop steps onto what ended the number
    }
  }
  return { ok: true, longNumbers, surrogateEscapes, protoKeys, keys };
}

/** `at` is the index of the `u`; `\ud8..` to `\udf..` in either case. */
function isSurrogateEscape(text: string, at: number): boolean {
  return (text.charCodeAt(at + 1) | LOWER_CASE_BIT) === LOWER_D && text.charCodeAt(at + 2) >= DIGIT_8;
}

/** `\u005f` to `\u007a`: every character of `__proto__` is among `\u005.`, `\u006.` and `\u007.`. */
function isProtoEscape(text: string, at: number): boolean {
  const third = text.charCodeAt(at + 3);
  return (
    text.charCodeAt(at + 1) === DIGIT_0 && text.charCodeAt(at + 2) === DIGIT_0 && third >= DIGIT_5 && third <= DIGIT_7
  );
}

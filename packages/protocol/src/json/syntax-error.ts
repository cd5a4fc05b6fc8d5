// Says where malformed JSON text goes wrong, in words that repeat nothing of the text.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DIGIT_0,
  DOT,
  LINE_FEED,
  LOWER_CASE_BIT,
  LOWER_E,
  LOWER_U,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  isDigit,
  skipSpace,
} from "./char-codes.ts";

export interface JsonSyntaxError {
  /** Index in UTF-16 units; the text's length when it ends too soon. */
  readonly offset: number;
  readonly message: string;
}

/** A place and what would have been right there. */
interface Miss {
  readonly offset: number;
  readonly expected: string;
}

type Want = "value" | "first item" | "key" | "first key" | "colon" | "after a value";

const byteOrderMark = 0xfeff;
const keyExpected = "a key in double quotes";

/**
 * Finds the first offence against RFC 8259; undefined when there is none. The engine's own message is not used:
 * it quotes the text (which may be secret) and often gives no place. Meant for the error path, but linear.
 */
export function findSyntaxError(text: string): JsonSyntaxError | undefined {
  const miss = findMiss(text);
  if (miss === undefined) return undefined;
  const { offset, expected } = miss;
  if (skipSpace(text, 0) === text.length) {
    return { offset, message: "the JSON text is empty: send a JSON value, for example {}" };
  }
  if (text.charCodeAt(0) === byteOrderMark) {
    return { offset: 0, message: "the JSON text begins with a byte order mark: send it without" };
  }
  const what = offset >= text.length ? `the text ends where ${expected} was expected` : `expected ${expected}`;
  return { offset, message: `malformed JSON at ${placeOf(text, offset)}: ${what}` };
}

function placeOf(text: string, offset: number): string {
  let line = 1;
  let lineStart = 0;
  for (let i = 0; i < offset; i++) {
    if (text.charCodeAt(i) === LINE_FEED) {
      line++;
      lineStart = i + 1;
    }
  }
  return `line ${line}, column ${offset - lineStart + 1}`;
}

function findMiss(text: string): Miss | undefined {
  const open: number[] = [];
  let want: Want = "value";
  let i = 0;
  for (;;) {
    i = skipSpace(text, i);
    const code = text.charCodeAt(i); // NaN at the end of the text
    if (want === "after a value") {
      const container = open.at(-1);
      if (container === undefined) return i === text.length ? undefined : { offset: i, expected: "nothing more" };
      const close = container === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      if (code === COMMA) want = container === OPEN_BRACE ? "key" : "value";
      else if (code === close) open.pop();
      else return { offset: i, expected: container === OPEN_BRACE ? "',' or '}'" : "',' or ']'" };
      i++;
    } else if (want === "colon") {
      if (code !== COLON) return { offset: i, expected: "':'" };
      want = "value";
      i++;
    } else if ((want === "first key" && code === CLOSE_BRACE) || (want === "first item" && code === CLOSE_BRACKET)) {
      open.pop();
      want = "after a value";
      i++;
    } else if (want === "key" || want === "first key") {
      if (code !== QUOTE) return { offset: i, expected: want === "key" ? keyExpected : `${keyExpected}, or '}'` };
      const end = stringEnd(text, i);
      if (typeof end !== "number") return end;
      want = "colon";
      i = end;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      open.push(code);
      want = code === OPEN_BRACE ? "first key" : "first item";
      i++;
    } else {
      const end = scalarEnd(text, i);
      if (typeof end !== "number") return end;
      want = "after a value";
      i = end;
    }
  }
}

/** The index after the scalar that starts at `from`. */
function scalarEnd(text: string, from: number): number | Miss {
  const code = text.charCodeAt(from);
  if (code === QUOTE) return stringEnd(text, from);
  if (code === MINUS || isDigit(code)) return numberEnd(text, from);
  for (const word of ["true", "false", "null"]) {
    if (text.startsWith(word, from)) return from + word.length;
  }
  return { offset: from, expected: "a JSON value" };
}

function stringEnd(text: string, from: number): number | Miss {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code < SPACE) return { offset: i, expected: "control characters in a string to be escaped" };
    if (code !== BACKSLASH) continue;
    i++;
    if (text.charCodeAt(i) === LOWER_U) {
      for (let hex = 1; hex <= 4; hex++) {
        if (!/^[0-9a-fA-F]$/.test(text.charAt(i + hex)))
          return { offset: i + hex, expected: "four hex digits after \\u" };
      }
      i += 4;
    } else if (i >= text.length || !'"\\/bfnrt'.includes(text.charAt(i))) {
      return { offset: i, expected: 'one of " \\ / b f n r t u after a backslash' };
    }
  }
  return { offset: text.length, expected: "the closing quote of a string" };
}

/** Stops at what cannot go on; whether that may follow a number is for the caller's next step to say. */
function numberEnd(text: string, from: number): number | Miss {
  let i = text.charCodeAt(from) === MINUS ? from + 1 : from;
  if (!isDigit(text.charCodeAt(i))) return { offset: i, expected: "a digit" };
  i = text.charCodeAt(i) === DIGIT_0 ? i + 1 : digitsEnd(text, i);
  if (text.charCodeAt(i) === DOT) {
    if (!isDigit(text.charCodeAt(i + 1))) return { offset: i + 1, expected: "a digit" };
    i = digitsEnd(text, i + 1);
  }
  if ((text.charCodeAt(i) | LOWER_CASE_BIT) === LOWER_E) {
    const sign = text.charCodeAt(i + 1);
    const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1;
    if (!isDigit(text.charCodeAt(exponent))) return { offset: exponent, expected: "a digit" };
    i = digitsEnd(text, exponent);
  }
  return i;
}

function digitsEnd(text: string, from: number): number {
  let i = from;
  while (isDigit(text.charCodeAt(i))) i++;
  return i;
}

// Proves that the locator finds an error exactly where the engine's parser does, and puts it where a person would look.
import fc from "fast-check";
import { expect, test } from "vitest";
import { findSyntaxError } from "./syntax-error.ts";

test.each([
  ["[1,2", 4, "malformed JSON at line 1, column 5: the text ends where ',' or ']' was expected"],
  ['{"a":1', 6, "malformed JSON at line 1, column 7: the text ends where ',' or '}' was expected"],
  ["[1,]", 3, "malformed JSON at line 1, column 4: expected a JSON value"],
  ['{"a":1,}', 7, "malformed JSON at line 1, column 8: expected a key in double quotes"],
  ["{a:1}", 1, "malformed JSON at line 1, column 2: expected a key in double quotes, or '}'"],
  ['{"a" 1}', 5, "malformed JSON at line 1, column 6: expected ':'"],
  ["[1}", 2, "malformed JSON at line 1, column 3: expected ',' or ']'"],
  ['{"a":1]', 6, "malformed JSON at line 1, column 7: expected ',' or '}'"],
  ["1 2", 2, "malformed JSON at line 1, column 3: expected nothing more"],
  ["01", 1, "malformed JSON at line 1, column 2: expected nothing more"],
  ["-", 1, "malformed JSON at line 1, column 2: the text ends where a digit was expected"],
  ["1.e5", 2, "malformed JSON at line 1, column 3: expected a digit"],
  ["1e+", 3, "malformed JSON at line 1, column 4: the text ends where a digit was expected"],
  ["NaN", 0, "malformed JSON at line 1, column 1: expected a JSON value"],
  ["'a'", 0, "malformed JSON at line 1, column 1: expected a JSON value"],
  ['"a', 2, "malformed JSON at line 1, column 3: the text ends where the closing quote of a string was expected"],
  ['"a\nb"', 2, "malformed JSON at line 1, column 3: expected control characters in a string to be escaped"],
  ['"\\x"', 2, 'malformed JSON at line 1, column 3: expected one of " \\ / b f n r t u after a backslash'],
  ['"\\u12g4"', 5, "malformed JSON at line 1, column 6: expected four hex digits after \\u"],
  ['{\n  "a": 1,\n  b: 2\n}', 14, "malformed JSON at line 3, column 3: expected a key in double quotes"],
  ["", 0, "the JSON text is empty: send a JSON value, for example {}"],
  [" \n ", 3, "the JSON text is empty: send a JSON value, for example {}"],
  ["\ufeff{}", 0, "the JSON text begins with a byte order mark: send it without"],
])("%j fails at %i", (text, offset, message) => {
  expect(findSyntaxError(text)).toEqual({ offset, message });
});

test.each([
  "0",
  "-0",
  "1e5",
  "-1.5E-7",
  '"\\u00e9\\n\\/"',
  "[]",
  "{}",
  ' { "a" : [ true , false , null ] } ',
  '"\u2028\u007f"',
])("%j has no error", (text) => {
  expect(findSyntaxError(text)).toBeUndefined();
});

function engineAccepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("it finds an error if and only if the engine does", () => {
  const token = fc.constantFrom(
    ...'{}[],:"\\ \n\t-+.eE019au',
    "true",
    "false",
    "null",
    '"k"',
    '"a":',
    '"\\u00',
    '\\"',
    "\u0001",
    "\u00a0",
    "\ud800",
    "0.5",
    "1e9",
    "nul",
  );
  const soup = fc.array(token, { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(soup, (text) => {
      expect(findSyntaxError(text) === undefined).toBe(engineAccepts(text));
    }),
    { numRuns: 20_000 },
  );
});

test("it agrees with the engine on valid text with one character changed", () => {
  const changed = fc
    .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom(...'{}[],:"\\ 0-.ex'))
    .map(([value, at, character]) => {
      const text = JSON.stringify(value, null, 1);
      const place = at % text.length;
      return text.slice(0, place) + character + text.slice(place + 1);
    });
  fc.assert(
    fc.property(changed, (text) => {
      const found = findSyntaxError(text);
      expect(found === undefined).toBe(engineAccepts(text));
      if (found !== undefined) expect(found.offset).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: 5_000 },
  );
});

// Patterns mean what ECMAScript says they mean, and take linear time.
import fc from "fast-check";
import { expect, test } from "vitest";
import { compilePattern } from "./patterns.ts";

function matches(source: string, text: string): boolean {
  const outcome = compilePattern(source);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.pattern.test(text);
}

test.each([
  ["^a$", "a", "a\n"],
  ["^.$", "a", "\r"],
  ["^.$", "😀", "\u2028"],
  ["^\\s$", "\u00a0", "a"],
  ["^\\s$", "\u2003", "\u180e"],
  ["^\\S$", "a", "\ufeff"],
  ["^[\\s_]+$", "_\u3000", "-"],
  ["^[^\\s]$", "a", "\u2029"],
  ["^[\\S]$", "a", "\v"],
  ["^[^\\S]$", " ", "a"],
  ["^\\u0041\\x42\\u{43}$", "ABC", "abc"],
  ["^\\ud83d\\ude00$", "😀", "\ud83d"],
  ["^[\\ud83d\\ude00]$", "😀", "a"],
  ["^\\p{L}+$", "äß", "1"],
  ["^\\p{Script=Greek}$", "α", "a"],
  ["^\\P{Lu}$", "a", "A"],
  ["^(?<year>\\d{4})$", "2024", "٢٠٢٤"],
  ["^[\\b]$", "\b", "b"],
  ["\\bcat\\b", "a cat", "concat"],
  ["^[^]$", "\n", ""],
  ["^\\cA$", "\u0001", "A"],
  ["^\\0$", "\u0000", "0"],
  ["^\\/\\.\\$$", "/.$", "/a$"],
  ["^[[(.]$", "[", "a"],
  ["^[\\]\\-a]$", "]", "b"],
  ["^(?:a|b){2,3}$", "aba", "a"],
  ["^a+?b$", "aab", "b"],
  ["", "anything", undefined],
])("%j takes %j", (source, good, bad) => {
  expect(matches(source, good)).toBe(true);
  if (bad !== undefined) expect(matches(source, bad)).toBe(false);
});

test("an empty class matches nothing", () => {
  expect(matches("[]", "a")).toBe(false);
  expect(matches("a|[]", "a")).toBe(true);
});

test.each([
  ["(?=a)", "look-ahead and look-behind are not supported: the time they take has no bound"],
  ["(?!a)", "look-ahead and look-behind are not supported: the time they take has no bound"],
  ["(?<=a)", "look-ahead and look-behind are not supported: the time they take has no bound"],
  ["(?<!a)", "look-ahead and look-behind are not supported: the time they take has no bound"],
  ["(a)\\1", "back-references are not supported: the time they take has no bound"],
  ["(?<n>a)\\k<n>", "back-references are not supported: the time they take has no bound"],
  ["(?i:a)", "flags inside a pattern are not supported"],
  ["a{1001}", "repeats more than 1000 times"],
  ["((a{100}){100}){100}", "repeats more than 1000 times"],
  [".{1000}.{1000}.{1000}.{1000}", "is too large: lower its repeat counts"],
  ["a".repeat(1_025), "is longer than 1024 characters"],
  ["(", "is no pattern: Unterminated group"],
  ["[", "is no pattern: Unterminated character class"],
  ["a**", "is no pattern: Nothing to repeat"],
  ["\\A", "is no pattern: Invalid escape"],
  ["\\Qa", "is no pattern: Invalid escape"],
  ["[[:alpha:]]", "is no pattern: Lone quantifier brackets"],
])("%j is refused", (source, message) => {
  expect(compilePattern(source)).toEqual({ ok: false, message });
});

test("a group inside a class is text", () => {
  expect(matches("^[(?=]+$", "(?=")).toBe(true);
});

// Small on purpose: the oracle is a backtracking engine.
const atom = fc.constantFrom(
  "a",
  "b",
  "-",
  "é",
  ".",
  "\\s",
  "\\S",
  "\\d",
  "\\w",
  "\\W",
  "[ab]",
  "[^a]",
  "[\\s-]",
  "[\\S]",
  "[^\\s]",
  "[a-c\\-]",
  "\\u0061",
  "\\x62",
  "\\p{L}",
  "^",
  "$",
  "\\b",
  "\\n",
  "\\/",
);
const pattern = fc.letrec<{ part: string }>((tie) => ({
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    atom,
    fc.tuple(tie("part"), tie("part")).map(([one, other]) => one + other),
    fc.tuple(tie("part"), tie("part")).map(([one, other]) => `(?:${one}|${other})`),
    fc.tuple(atom, fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "*?")).map(([one, times]) => `(${one})${times}`),
  ),
})).part;
const text = fc.string({
  unit: fc.constantFrom("a", "b", "c", "-", "1", " ", "\n", "\r", "\u00a0", "\u2028", "é", "😀"),
  maxLength: 6,
});

test("agrees with the language's own engine", () => {
  fc.assert(
    fc.property(pattern, text, (source, value) => {
      const outcome = compilePattern(source);
      let own: RegExp;
      try {
        own = new RegExp(source, "u");
      } catch {
        expect(outcome.ok).toBe(false);
        return;
      }
      if (!outcome.ok) throw new Error(`${source}: ${outcome.message}`);
      expect(outcome.pattern.test(value)).toBe(own.test(value));
    }),
    { numRuns: 3_000, seed: 2 },
  );
});

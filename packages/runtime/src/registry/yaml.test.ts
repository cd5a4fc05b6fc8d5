// The text of a manifest: what is read, what is refused, and on which line.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDocument } from "./yaml.ts";

test.each([
  ["a: 1", { a: 1 }],
  ["a: yes\nb: no\nc: true\nd: null\ne: ~\nf:", { a: "yes", b: "no", c: true, d: null, e: null, f: null }],
  ["version: 1.0.0\nday: 2001-01-01\noctal: 0o17", { version: "1.0.0", day: "2001-01-01", octal: 15 }],
  ['{"a": [1, 2.5, "x"], "b": {"c": false}}', { a: [1, 2.5, "x"], b: { c: false } }],
  ['{\n\t"a":\n\t\t["\\ud83d\\ude00", "\\/"]\n}', { a: ["😀", "/"] }],
  ["- a\n- - b", ["a", ["b"]]],
  ["\ufeffa: 1\r\n# end\r\n", { a: 1 }],
  ["a: |\n  one\n  two\n", { a: "one\ntwo\n" }],
  ["a: &x {b: 1}\nc: *x", { a: { b: 1 }, c: { b: 1 } }],
  ["<<: {a: 1}", { "<<": { a: 1 } }],
  ["1: x\ntrue: y", { "1": "x", true: "y" }],
  ["a: !!str 1", { a: "1" }],
])("%j", (text, value) => {
  expect(parseDocument(text)).toEqual({ ok: true, value });
});

test.each([
  ["", 1, "is empty"],
  ["# nothing\n", 1, "is empty"],
  ["a: 1\nb: 2\na: 3", 3, 'the key "a" stands there twice'],
  ['{"a": 1,\n "b": {"c": 1, "c": 2}}', 2, 'the key "c" stands there twice'],
  ["a: 1\n---\nb: 2", 2, "holds more than one document"],
  ["a: 1\nb: !danger x", 2, "Unresolved tag: !danger"],
  ["a: !!js/function 'x'", 1, "Unresolved tag"],
  ["a: !!binary aGk=", 1, "Unresolved tag"],
  ["a: 1\nb: *nowhere", 2, "*nowhere has no anchor before it"],
  ["a: .nan", 1, "NaN is not a JSON value"],
  ["a: 1\nb: .inf", 2, "Infinity is not a JSON value"],
  ["? [a]\n: 1", 1, "all keys must be strings"],
  ["a:\n\t- 1", 2, "Tabs are not allowed"],
  ["a: 1\nb: [1, 2", 2, "Flow sequence"],
  ["a: b: c", 1, "Nested mappings"],
  ["a: &a [*a]", 1, "has more than 20 aliases"],
])("%j is refused on line %d", (text, line, message) => {
  const parsed = parseDocument(text);
  if (parsed.ok) throw new Error("should be refused");
  expect(parsed.problems[0]).toMatchObject({ path: "", line, message: expect.stringContaining(message) });
});

test("all syntax problems are told, each with line and column", () => {
  const parsed = parseDocument("a: !x 1\nb: !y 2");
  if (parsed.ok) throw new Error("should be refused");
  expect(parsed.problems.map(({ line, column }) => [line, column])).toEqual([
    [1, 4],
    [2, 4],
  ]);
});

test("`__proto__` stays a key", () => {
  const parsed = parseDocument("__proto__: {polluted: true}");
  if (!parsed.ok) throw new Error("should parse");
  expect(Object.keys(parsed.value as object)).toEqual(["__proto__"]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

const bytes = 256 * 1024;
const laughs = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ...["b", "c", "d", "e", "f", "g"].map(
    (name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[index]}`).join(", ")}]`,
  ),
];

test.each([
  ["too large", "x".repeat(bytes + 1), "is larger than 262144 bytes"],
  ["too large in UTF-8 only", "é".repeat(bytes / 2 + 1), "is larger than 262144 bytes"],
  ["nested lists", "[".repeat(bytes), "is nested more than 48 levels deep"],
  ["nested mappings", "{a: ".repeat(bytes / 4), "is nested more than 48 levels deep"],
  ["nested dashes", "- ".repeat(bytes / 2), "is nested more than 48 levels deep"],
  ["nested question marks", "? ".repeat(bytes / 2), "is nested more than 48 levels deep"],
  [
    "nested by indentation",
    Array.from({ length: 600 }, (_, level) => `${" ".repeat(level)}a:`).join("\n"),
    "is nested more than 48 levels deep",
  ],
  ["a billion laughs", laughs.join("\n"), "has more than 20 aliases"],
  ["many small aliases", `a: &a 1\nb: [${Array(21).fill("*a").join(", ")}]`, "has more than 20 aliases"],
  ["many documents", "---\n".repeat(bytes / 4), "is too large"],
  ["wide", `[${"1,".repeat(20_000)}1]`, "has more than 20000 values"],
  ["many keys", Array.from({ length: 20_001 }, (_, index) => `k${index}: 1`).join("\n"), "is too large"],
])("hostile text ends quickly: %s", (_, text, message) => {
  const begun = performance.now();
  const parsed = parseDocument(text);
  expect(performance.now() - begun).toBeLessThan(3_000);
  if (parsed.ok) throw new Error("should be refused");
  expect(parsed.problems[0]?.message).toContain(message);
});

test("the depth bound holds on both sides", () => {
  const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  expect(parseDocument(nested(48)).ok).toBe(true);
  expect(parseDocument(nested(49)).ok).toBe(false);
});

test("JSON is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      const expected: unknown = JSON.parse(text);
      const parsed = parseDocument(text);
      expect(parsed).toEqual({ ok: true, value: JSON.parse(JSON.stringify(expected)) as unknown });
    }),
    { numRuns: 300 },
  );
});

test("no text makes it throw", () => {
  const pieces = fc.constantFrom(
    "a",
    ":",
    " ",
    "\n",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&x",
    "*x",
    "!",
    "!!str",
    "|",
    ">",
    '"',
    "'",
    "#",
    "%",
    "---",
    "...",
    "\t",
    "\\",
    "<<",
    "\u0000",
    "\ud800",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
      ),
      (text) => {
        const parsed = parseDocument(text);
        expect(parsed.ok || parsed.problems.length > 0).toBe(true);
      },
    ),
    { numRuns: 1_000 },
  );
});

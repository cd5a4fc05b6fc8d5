// Hostile texts and arguments: nothing throws, nothing takes long, and what is not understood is never a yes or a no.
import fc from "fast-check";
import { expect, test } from "vitest";
import { policyBounds } from "../bounds.ts";
import { checkCondition, compileCondition } from "../condition.ts";
import { evaluate } from "./evaluate.ts";
import { inputShape, untyped } from "./shape.ts";
import { bind } from "./values.ts";

const pieces = fc.constantFrom(
  "args",
  ".",
  "a",
  "[",
  "]",
  "(",
  ")",
  "==",
  "&&",
  "||",
  "!",
  "-",
  "?",
  ":",
  "1",
  "1.0",
  "'x'",
  "has(",
  "exists(",
  "i",
  ",",
  "in",
  "matches(",
  "now",
  "calls.window('1m')",
  "tool.name",
  "null",
  " ",
  "\\",
  "\u0000",
  "\ud800",
  "🚀",
  "%",
  "{",
  "}",
  '"',
  "r'",
  "0x",
  "1e9",
  "u",
);
const soup = fc.oneof(
  { weight: 4, arbitrary: fc.array(pieces, { maxLength: 25 }).map((all) => all.join("")) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
);

test("texts that look like conditions", () => {
  fc.assert(
    fc.property(soup, fc.jsonValue({ maxDepth: 3 }), (source, given) => {
      const compiled = compileCondition(source);
      if (!compiled.ok) {
        expect(compiled.problems.length).toBeGreaterThan(0);
        return;
      }
      checkCondition(compiled.condition, inputShape(given));
      const variables = new Map([["args", bind(given, untyped)]]);
      const { result, error, absent } = evaluate(compiled.condition.root, { variables, counts: undefined }, 1_000);
      if (error !== undefined) expect(result).toBeUndefined();
      else if (result === undefined) expect(absent.length).toBeGreaterThan(0);
    }),
    { numRuns: 3_000 },
  );
});

test("schemas of any shape widen, and never stop the check", () => {
  const key = fc.constantFrom(
    "type",
    "properties",
    "a",
    "$ref",
    "allOf",
    "anyOf",
    "items",
    "enum",
    "required",
    "additionalProperties",
    "prefixItems",
    "const",
  );
  const { any } = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(
        "object",
        "integer",
        "#",
        "#/properties/a",
        "#/%",
        true,
        false,
        null,
        1,
        "a",
        ["a"],
        ["integer", "object"],
      ),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie("any")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
  }));
  const compiled = compileCondition("args.a.a[0].a > 1.0 || args.a.exists(i, i.a == 'x') || !has(args.a.b)");
  fc.assert(
    fc.property(any, any, (schema, given) => {
      const shape = inputShape(schema);
      if (!compiled.ok) throw new Error("the condition is good");
      checkCondition(compiled.condition, shape);
      const variables = new Map([["args", bind(given, shape)]]);
      evaluate(compiled.condition.root, { variables, counts: undefined }, 1_000);
    }),
    { numRuns: 2_000 },
  );
});

/** Wall time; far above what it takes, far below what a runaway would. */
function within(ms: number, work: () => void): void {
  const began = performance.now();
  work();
  expect(performance.now() - began).toBeLessThan(ms);
}

test("hundreds of brackets, open or closed, are refused before the parser gets lost in them", () => {
  const deep = (levels: number): string => `${"[".repeat(levels)}1${"]".repeat(levels)} == args.a`;
  for (const text of ["[".repeat(400), "{".repeat(400), "(".repeat(700), deep(400), `r"\\" + ${deep(600)}`])
    within(200, () => expect(compileCondition(text)).toEqual({ ok: false, problems: [{ message: "is nested too deeply" }] }));
  within(1_000, () => expect(compileCondition("[".repeat(64)).ok).toBe(false));
});

test("thousands of signs come to one or none", () => {
  within(2_000, () => expect(compileCondition(`${"!".repeat(4_000)}args.a`).ok).toBe(true));
  within(2_000, () => expect(compileCondition(`${"-".repeat(4_000)}args.a > 1`).ok).toBe(true));
});

test.each([
  ["brackets", "(".repeat(4_000)],
  ["lists", "[".repeat(4_000)],
  ["braces", "{1:".repeat(1_300)],
  ["calls", "f(".repeat(2_000)],
  ["choices", `${"a?b:".repeat(1_000)}c`],
  ["ors", `${"a||".repeat(1_300)}c`],
  ["sums", `${"1+".repeat(2_000)}1`],
  ["fields", `args${".b".repeat(2_000)}`],
  ["loops", `${"[1].exists(x,".repeat(300)}true${")".repeat(300)}`],
  ["quotes", `"${'\\"'.repeat(2_000)}`],
])("4 000 characters of %s are refused in time", (_, source) => {
  within(2_000, () => expect(compileCondition(source).ok).toBe(false));
});

test.each(["(a+)+$", "(a|a)*$", "(a|aa)+$", "([a-z]+)*[0-9]$", "(.*)(.*)(.*)x$", "(a?){100}a{100}$"])(
  "the pattern %s takes time in proportion to the text",
  (pattern) => {
    const compiled = compileCondition(`args.text.matches('${pattern}')`);
    if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
    const variables = new Map([["args", bind({ text: `${"a".repeat(5_000)}!` }, untyped)]]);
    const facts = { variables, counts: undefined };
    within(2_000, () => evaluate(compiled.condition.root, facts, policyBounds.evaluationStepsMax));
  },
);

test("no argument reaches the error that a record may keep", () => {
  const secret = "s3cr3t-argument";
  const sources = [
    "args.a > 1.0",
    "int(args.a) == 1",
    "timestamp(args.a) > now",
    "args.a[args.a] == 1",
    "args[args.a] == 1",
    "args.a.b == 1",
    "args.l[args.a] == 1",
    "duration(args.a) > duration('1s')",
    "args.a && true",
  ];
  for (const source of sources) {
    const compiled = compileCondition(source);
    if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
    const variables = new Map([["args", bind({ a: secret, l: [1] }, untyped)]]);
    const { error = "", absent } = evaluate(compiled.condition.root, { variables, counts: undefined }, 1_000);
    expect(`${error} ${absent.join(" ")}`).not.toContain(secret);
    expect(`${error}${absent.join("")}`).not.toBe("");
  }
});

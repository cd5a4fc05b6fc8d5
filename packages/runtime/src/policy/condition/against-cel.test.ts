// Random conditions come out as the CEL library's own evaluator has them, wherever the two mean the same.
import { celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import fc from "fast-check";
import { expect, test } from "vitest";
import { policyBounds } from "../bounds.ts";
import { compileCondition } from "../condition.ts";
import { evaluate } from "./evaluate.ts";
import { parseCondition } from "./parse.ts";
import { inputShape } from "./shape.ts";
import { textOf } from "./text.ts";
import { bind } from "./values.ts";

const schema = {
  type: "object",
  required: ["n", "x", "s", "b", "l", "r", "o"],
  properties: {
    n: { type: "integer" },
    x: { type: "number" },
    s: { type: "string" },
    b: { type: "boolean" },
    l: { type: "array", items: { type: "integer" } },
    r: { type: "array", items: { type: "string" } },
    o: { type: "object", properties: { p: { type: "integer" }, q: { type: "string" } } },
  },
};
const shape = inputShape(schema);

const word = fc.constantFrom("", "a", "ab", "b", "ba", "Ü", "ünder", "a.b", "0");
const whole = fc.integer({ min: -3, max: 4 });
const half = whole.map((n) => n / 2);
const args = fc.record({
  n: whole,
  x: half,
  s: word,
  b: fc.boolean(),
  l: fc.array(whole, { maxLength: 3 }),
  r: fc.array(word, { maxLength: 3 }),
  o: fc.record({ p: whole, q: word }, { requiredKeys: [] }),
});

const joined = (join: string, ...parts: fc.Arbitrary<string>[]) =>
  fc.tuple(...parts).map((all) => `(${all.join(join)})`);
const double = (n: number) => (Number.isInteger(n) ? `${n}.0` : String(n));

/** Every line is one kind of expression; `depthSize` keeps them readable. */
const { bool } = fc.letrec<{ bool: string; int: string; dbl: string; str: string }>((tie) => {
  const comparison = fc.constantFrom(" == ", " != ", " < ", " <= ", " > ", " >= ");
  const compared = (kind: fc.Arbitrary<string>) =>
    fc.tuple(kind, comparison, kind).map(([left, operator, right]) => `(${left}${operator}${right})`);
  return {
    bool: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("args.b", "true", "false", "has(args.o.p)", "has(args.o.q)", "has(args.gone)", "('q' in args.o)"),
      compared(tie("int")),
      compared(tie("dbl")),
      compared(tie("str")),
      fc.tuple(tie("int"), comparison, tie("dbl")).map((parts) => `(${parts.join("")})`),
      joined(" && ", tie("bool"), tie("bool")),
      joined(" || ", tie("bool"), tie("bool"), tie("bool")),
      tie("bool").map((one) => `!${one}`),
      fc.tuple(tie("bool"), tie("bool"), tie("bool")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      tie("int").map((one) => `(${one} in args.l)`),
      tie("str").map((one) => `(${one} in args.r)`),
      fc
        .tuple(fc.constantFrom("exists", "all", "exists_one"), tie("int"))
        .map(([macro, n]) => `args.l.${macro}(i, i > ${n})`),
      tie("str").map((one) => `(args.r.filter(w, w != ${one}).size() > 1)`),
      tie("str").map((one) => `(args.r.map(w, w.size() > 0, w + ${one}) == args.r)`),
      fc
        .tuple(tie("str"), fc.constantFrom("contains", "startsWith", "endsWith"), tie("str"))
        .map(([a, f, b]) => `${a}.${f}(${b})`),
      fc
        .tuple(tie("str"), fc.constantFrom("^a", "b$", "(a|b)+", ".", "^$", "[^a]"))
        .map(([a, pattern]) => `${a}.matches('${pattern}')`),
      fc.constantFrom("(args.o.p > 1)", "(args.o.q == 'a')", "(args.l[0] > 0)", "(args.l + [1] == [1])"),
    ),
    int: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("args.n", "size(args.s)", "args.r.size()", "int(args.x)"),
      whole.map(String),
      fc
        .tuple(tie("int"), fc.constantFrom(" + ", " - ", " * ", " / ", " % "), tie("int"))
        .map((parts) => `(${parts.join("")})`),
      tie("int").map((one) => `(-(${one}))`),
    ),
    dbl: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("args.x", "double(args.n)"),
      half.map(double),
      fc
        .tuple(tie("dbl"), fc.constantFrom(" + ", " - ", " * ", " / "), tie("dbl"))
        .map((parts) => `(${parts.join("")})`),
    ),
    str: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom("args.s", "string(args.n)"),
      word.map((one) => `'${one}'`),
      joined(" + ", tie("str"), tie("str")),
    ),
  };
});

/** As the library is to be given them: whole numbers as bigints where the schema says integer. */
function forLibrary({ n, l, o, ...rest }: typeof args extends fc.Arbitrary<infer T> ? T : never): object {
  const inner = { ...o, ...(o.p === undefined ? {} : { p: BigInt(o.p) }) };
  return { ...rest, n: BigInt(n), l: l.map(BigInt), o: inner };
}

test("well-typed conditions", () => {
  const env = celEnv();
  let compared = 0;
  fc.assert(
    fc.property(bool, args, (source, given) => {
      const compiled = compileCondition(source);
      if (!compiled.ok) {
        // Too large for us, and nothing else: all of these are well typed.
        expect(compiled.problems[0]?.message).toMatch(/nested too deeply|more than 500 parts/);
        return;
      }
      const variables = new Map([["args", bind(given, shape)]]);
      const ours = evaluate(compiled.condition.root, { variables, counts: undefined }, policyBounds.evaluationStepsMax);
      const theirs = plan(env, parse(source))({ args: forLibrary(given) } as never);
      // The library forgets an error or an absent field where another part decides; we never do.
      if (ours.error !== undefined) expect(ours.error).toMatch(/divided by zero/);
      else if (isCelError(theirs)) expect(ours.absent.length).toBeGreaterThan(0);
      else if (ours.result === undefined) expect(ours.absent.length).toBeGreaterThan(0);
      else {
        compared++;
        expect(ours.result).toBe(theirs);
      }
    }),
    { numRuns: 1_500 },
  );
  expect(compared).toBeGreaterThan(800);
});

test("what is written is read as the same condition again", () => {
  fc.assert(
    fc.property(bool, (source) => {
      const parsed = parseCondition(source);
      if (!parsed.ok) return;
      const again = parseCondition(textOf(parsed.root));
      expect(again.ok && textOf(again.root)).toBe(textOf(parsed.root));
      if (again.ok) expect(stripped(again.root)).toEqual(stripped(parsed.root));
    }),
    { numRuns: 500 },
  );
});

const stripped = (root: unknown): unknown =>
  JSON.parse(JSON.stringify(root, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)));

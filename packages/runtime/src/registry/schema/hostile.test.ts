// Hostile schemas and hostile values: refused or answered, and always soon.
import { describe, expect, test } from "vitest";
import { compileSchema, type CompiledSchema } from "../schema.ts";

function compile(schema: unknown): CompiledSchema {
  const outcome = compileSchema(schema, "input");
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  return outcome;
}

/** The fastest of three runs: what the work takes, whatever else the machine does. */
function fastestMs(work: () => void): number {
  const runs = [1, 2, 3].map(() => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  });
  return Math.min(...runs);
}

const keywordsOf = (compiled: CompiledSchema, value: unknown): readonly string[] => {
  const result = compiled.validate(value);
  return result.ok ? [] : result.errors.map(({ keyword }) => keyword);
};

function nested(levels: number, wrap: (inner: unknown) => unknown, core: unknown): unknown {
  let value = core;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const named = (count: number, make: (index: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(times(count, (index) => [`k${index}`, make(index)]));

describe("schemas refused at registration, quickly", () => {
  test.each<[string, () => unknown, string]>([
    ["100 000 levels deep", () => nested(100_000, (not) => ({ not }), {}), "is nested more than 32 levels deep"],
    [
      "100 000 lists deep",
      () => ({ enum: nested(100_000, (inner) => [inner], 1) }),
      "is nested more than 32 levels deep",
    ],
    [
      "circular",
      () => {
        const circle: Record<string, unknown> = {};
        circle["not"] = circle;
        return circle;
      },
      "is nested more than 32 levels deep",
    ],
    ["wide", () => ({ properties: named(2_001, () => ({})) }), "has more than 2000 subschemas"],
    ["many values", () => ({ enum: times(30_000, (index) => index) }), "has more than 20000 values"],
    ["large", () => ({ description: "x".repeat(65_536) }), "is 65554 bytes of JSON; at most 65536 are accepted"],
    [
      "large in UTF-8",
      () => ({ description: "é".repeat(32_760) }),
      "is 65538 bytes of JSON; at most 65536 are accepted",
    ],
    ["many branches", () => ({ anyOf: times(101, () => ({})) }), "has more than 100 entries"],
    [
      "many branches in all",
      () => ({ allOf: times(6, () => ({ oneOf: times(90, () => ({})) })) }),
      "has more than 500 anyOf, oneOf and allOf entries in all",
    ],
    ["a long enum", () => ({ enum: times(1_001, (index) => index) }), "has more than 1000 values"],
    [
      "many patterns",
      () => ({ patternProperties: Object.fromEntries(times(101, (index) => [`^${index}`, {}])) }),
      "has more than 100 patterns",
    ],
    [
      "a long chain of references",
      () => ({
        $defs: named(18, (index) => (index === 17 ? {} : { $ref: `#/$defs/k${index + 1}` })),
        $ref: "#/$defs/k0",
      }),
      "follows more than 16 $refs in a row",
    ],
    [
      "2 000 references in a row",
      () => ({ $defs: named(1_900, (index) => (index === 1_899 ? {} : { $ref: `#/$defs/k${index + 1}` })) }),
      "follows more than 16 $refs in a row",
    ],
  ])("%s", (_, make, message) => {
    const schema = make();
    const begun = performance.now();
    const outcome = compileSchema(schema, "input");
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(outcome.ok ? [] : outcome.problems.map((problem) => problem.message)).toContain(message);
  });

  test("the largest that are accepted compile in a moment", () => {
    expect(
      fastestMs(() => void compile({ type: "object", properties: named(1_900, () => ({ type: "string" })) })),
    ).toBeLessThan(2_000);
    expect(compile(nested(14, (inner) => ({ properties: { a: inner } }), {})).validate({}).ok).toBe(true);
  });
});

describe("values", () => {
  test("an exponential pattern takes no time", () => {
    const compiled = compile({ type: "string", pattern: "^(a+)+$" });
    const text = `${"a".repeat(30)}!`;
    expect(keywordsOf(compiled, text)).toEqual(["pattern"]);
    expect(fastestMs(() => void compiled.validate(text))).toBeLessThan(50);
    expect(fastestMs(() => void compiled.validate(`${"a".repeat(1_000_000)}!`))).toBeLessThan(500);
  });

  test("a pattern with large repeats on a long text costs too much, and is not tried", () => {
    const compiled = compile({ type: "string", pattern: "(a|b)*a(a|b){900}[cd]" });
    const text = times(1_000_000, (index) => "ab"[(index * 7919) % 2]).join("");
    expect(keywordsOf(compiled, text)).toEqual(["cost"]);
    expect(fastestMs(() => void compiled.validate(text))).toBeLessThan(200);
  });

  test("branches over recursion, which double with every level, end at the budget", () => {
    const branch = { properties: { a: { $ref: "#/$defs/n" } } };
    const compiled = compile({ $defs: { n: { oneOf: [branch, branch, { type: "string" }] } }, $ref: "#/$defs/n" });
    const value = nested(62, (a) => ({ a }), "x");
    expect(keywordsOf(compiled, value)).toEqual(["cost"]);
    expect(fastestMs(() => void compiled.validate(value))).toBeLessThan(1_000);
  });

  test("references that double with every definition end at the budget", () => {
    const twice = (index: number): unknown => ({
      allOf: [{ $ref: `#/$defs/k${index + 1}` }, { $ref: `#/$defs/k${index + 1}` }],
    });
    const compiled = compile({
      $defs: named(16, (index) => (index === 15 ? { type: "object" } : twice(index))),
      type: "array",
      items: { $ref: "#/$defs/k0" },
    });
    const value = times(1_000, () => ({}));
    expect(keywordsOf(compiled, value)).toEqual(["cost"]);
    expect(fastestMs(() => void compiled.validate(value))).toBeLessThan(1_000);
  });

  test.each<[string, unknown, () => unknown, readonly string[]]>([
    [
      "wrong items",
      { type: "array", items: { type: "string" } },
      () => times(400_000, () => 1),
      times(10, () => "type"),
    ],
    [
      "wrong items by reference",
      { $defs: { s: { type: "string" } }, type: "array", items: { $ref: "#/$defs/s" } },
      () => times(400_000, () => 1),
      times(10, () => "type"),
    ],
    ["different lists", { type: "array", uniqueItems: true }, () => times(100_000, (index) => [index]), []],
    [
      "nothing to be contained",
      { type: "array", contains: { type: "string" } },
      () => times(400_000, () => 1),
      ["cost"],
    ],
    [
      "small objects under many names",
      { type: "array", items: { properties: named(1_900, () => true) } },
      () => times(300_000, () => ({})),
      ["cost"],
    ],
    [
      "a long enum",
      { type: "array", items: { enum: times(1_000, (index) => `v${index}`) } },
      () => times(100_000, (index) => `v${index % 1_000}`),
      [],
    ],
    [
      "many names against many patterns",
      { type: "object", patternProperties: Object.fromEntries(times(100, (index) => [`^[a-z]+${index}$`, true])) },
      () => named(50_000, () => 1),
      ["cost"],
    ],
  ])("%s", (_, schema, make, keywords) => {
    const compiled = compile(schema);
    const value = make();
    expect(keywordsOf(compiled, value)).toEqual(keywords);
    expect(fastestMs(() => void compiled.validate(value))).toBeLessThan(2_000);
  });

  test("a large honest value is no hostile one", () => {
    const json = {
      $defs: {
        j: {
          anyOf: [
            { type: ["string", "number", "null"] },
            { type: "array", items: { $ref: "#/$defs/j" } },
            { type: "object", additionalProperties: { $ref: "#/$defs/j" } },
          ],
        },
      },
      $ref: "#/$defs/j",
    };
    expect(compile(json).validate(times(50_000, (index) => ({ a: [index, "x"], b: { c: null } })))).toEqual({
      ok: true,
    });
    const base64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
    expect(compile({ type: "string", pattern: base64 }).validate("abcd".repeat(250_000))).toEqual({ ok: true });
  });

  test("a value deeper than callers may send is refused, not a crash", () => {
    const deep = nested(100_000, (inner) => [inner], 1);
    expect(keywordsOf(compile({ $ref: "#/$defs/l", $defs: { l: { items: { $ref: "#/$defs/l" } } } }), deep)).toEqual([
      "cost",
    ]);
  });

  test("keys like `valueOf` do no harm", () => {
    const value = { valueOf: 1, constructor: 2, toString: 3, hasOwnProperty: 4 };
    expect(keywordsOf(compile({ enum: ["a", { b: 1 }] }), value)).toEqual(["enum"]);
    expect(keywordsOf(compile({ const: { b: 1 } }), value)).toEqual(["const"]);
    expect(keywordsOf(compile({ uniqueItems: true }), [value, value])).toEqual(["uniqueItems"]);
    expect(keywordsOf(compile({ required: ["b"] }), value)).toEqual(["required"]);
  });

  test("names that would break out of generated code are names", () => {
    const names = ['"', "'", "`", "${x}", "\\", "\n", "*/", "</script>", "\u2028", "a.b", "0", ""];
    const schema = {
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: names,
      additionalProperties: false,
    };
    expect(compile(schema).validate(Object.fromEntries(names.map((name) => [name, "x"])))).toEqual({ ok: true });
    expect(keywordsOf(compile(schema), Object.fromEntries(names.map((name) => [name, 1])))).toEqual(
      times(10, () => "type"),
    );
  });

  test("every format answers soon, whatever the text", () => {
    const formats = [
      "date",
      "time",
      "date-time",
      "duration",
      "uri",
      "uri-reference",
      "uri-template",
      "email",
      "hostname",
      "ipv4",
      "ipv6",
      "uuid",
      "json-pointer",
      "relative-json-pointer",
      "regex",
      "byte",
      "secret-ref",
    ];
    const bits = ["a", "1", ".", ":", "/", "@", "a.", "a-", "1:", "::", "%20", "[", "{a", "~0", "P1D", "0", "\n", "é"];
    const slow = formats.filter((format) => {
      const compiled = compile({ format });
      return bits.some(
        (bit) => fastestMs(() => void compiled.validate(`http://a@${bit.repeat(4_096 / bit.length - 4)}\n`)) > 100,
      );
    });
    expect(slow).toEqual([]);
    expect(keywordsOf(compile({ format: "email" }), `a@${"a".repeat(1_000_000)}.com`)).toEqual(["format"]);
  });
});

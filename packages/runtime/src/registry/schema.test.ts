// Tools' schemas: dialects, references, refusals with their place, errors as callers see them.
import { parseJson } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { compileSchema, compileToolSchemas, type CompiledSchema } from "./schema.ts";

function compile(schema: unknown): CompiledSchema {
  const outcome = compileSchema(schema, "input");
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  return outcome;
}

/** True, or the errors as `pointer keyword`. */
function verdict(schema: unknown, value: unknown): true | readonly string[] {
  const result = compile(schema).validate(value);
  return result.ok ? true : result.errors.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
}

function problems(schema: unknown): readonly string[] {
  const outcome = compileSchema(schema, "output");
  return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("errors", () => {
  const request = {
    type: "object",
    additionalProperties: false,
    required: ["url"],
    properties: {
      url: { type: "string", format: "uri" },
      method: { enum: ["GET", "POST"] },
      retries: { type: "integer", minimum: 0 },
      headers: { type: "object", propertyNames: { pattern: "^[a-z-]+$" } },
    },
  };

  test("a missing property is named by the place where it would be", () => {
    expect(compile(request).validate({})).toEqual({
      ok: false,
      errors: [{ pointer: "/url", keyword: "required", message: "is required" }],
    });
  });

  test.each<[unknown, unknown]>([
    [{ url: "https://example.com" }, true],
    [{ url: "no url" }, ["/url format"]],
    [{ url: "a:b", method: "PUT" }, ["/method enum"]],
    [{ url: "a:b", retries: -1 }, ["/retries minimum"]],
    [{ url: "a:b", retries: 1.5 }, ["/retries type"]],
    [{ url: "a:b", extra: 1, "a/b~c": 2 }, ["/extra additionalProperties", "/a~1b~0c additionalProperties"]],
    [{ url: "a:b", headers: { Accept: "x" } }, ["/headers/Accept pattern", "/headers/Accept propertyNames"]],
    [null, [" type"]],
    [[], [" type"]],
    ["x", [" type"]],
  ])("%j", (value, expected) => {
    expect(verdict(request, value)).toEqual(expected);
  });

  test("messages are for people", () => {
    const result = compile(request).validate({ url: "a:b", method: "PUT", extra: 1 });
    expect(result.ok ? [] : result.errors.map(({ message }) => message)).toEqual([
      "is not allowed here",
      'must be one of "GET", "POST"',
    ]);
    expect(compile({ const: [1, 2] }).validate(1)).toEqual({
      ok: false,
      errors: [{ pointer: "", keyword: "const", message: "must be [1,2]" }],
    });
    expect(compile({ properties: { a: false } }).validate({ a: 1 })).toMatchObject({
      errors: [{ pointer: "/a", message: "is not allowed here" }],
    });
    const needs = { dependentRequired: { card: ["cvc"] } };
    expect(compile(needs).validate({ card: 1 })).toEqual({
      ok: false,
      errors: [{ pointer: "/cvc", keyword: "dependentRequired", message: 'is required when "card" is given' }],
    });
  });

  test("ten at most, also out of many", () => {
    const result = compile({ type: "array", items: { type: "string" } }).validate(Array(1_000).fill(1));
    expect(result.ok ? 0 : result.errors.length).toBe(10);
  });

  test("branches that say the same say it once", () => {
    expect(verdict({ anyOf: [{ type: "string" }, { type: "string", minLength: 1 }] }, 1)).toEqual([" type", " anyOf"]);
  });

  test("nothing of one validation is left for the next", () => {
    const compiled = compile(request);
    expect(compiled.validate({}).ok).toBe(false);
    expect(compiled.validate({ url: "a:b" })).toEqual({ ok: true });
    expect(compiled.validate({})).toMatchObject({ errors: [{ pointer: "/url" }] });
  });
});

describe("dialects", () => {
  const tuple07 = { items: [{ type: "string" }], additionalItems: false };

  test.each([
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema#",
  ])("%s is draft-07", ($schema) => {
    expect(verdict({ $schema, ...tuple07 }, ["a"])).toBe(true);
    expect(verdict({ $schema, ...tuple07 }, ["a", 1])).toEqual([" additionalItems"]);
  });

  test.each([
    undefined,
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "https://example.com/own",
    "http://json-schema.org/draft-04/schema#",
    "",
  ])("%j is 2020-12", ($schema) => {
    const schema = { ...($schema === undefined ? {} : { $schema }), prefixItems: [{ type: "string" }], items: false };
    expect(verdict(schema, ["a"])).toBe(true);
    expect(verdict(schema, ["a", 1])).toEqual([" items"]);
  });

  test("an unknown one is said to be read as 2020-12", () => {
    expect(compile({ $schema: "https://example.com/own" }).warnings).toHaveLength(1);
    expect(compile({ $schema: "https://json-schema.org/draft-07/schema" }).warnings).toHaveLength(0);
  });

  test("a keyword of the other dialect is refused: it would silently not be checked", () => {
    expect(problems(tuple07)).toEqual([
      "spec.output#/items: items must be one schema in 2020-12",
      "spec.output#/additionalItems: additionalItems belongs to draft-07, and this schema is read as 2020-12",
    ]);
    expect(problems({ $schema: "http://json-schema.org/draft-07/schema#", unevaluatedProperties: false })).toEqual([
      "spec.output#/unevaluatedProperties: unevaluatedProperties belongs to 2020-12, and this schema is read as draft-07",
    ]);
  });

  test("unevaluatedProperties sees through references", () => {
    const schema = {
      $defs: { base: { properties: { a: true } } },
      $ref: "#/$defs/base",
      properties: { b: true },
      unevaluatedProperties: false,
    };
    expect(verdict(schema, { a: 1, b: 2 })).toBe(true);
    expect(verdict(schema, { a: 1, c: 2 })).toEqual(["/c unevaluatedProperties"]);
  });

  test("dependencies of draft-07, both kinds", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      dependencies: { a: ["b"], c: { required: ["d"] } },
    };
    expect(verdict(schema, { a: 1, b: 1, c: 1, d: 1 })).toBe(true);
    expect(verdict(schema, { a: 1, c: 1 })).toEqual(["/b dependencies", "/d required"]);
  });
});

describe("schemas that are refused", () => {
  test.each<[string, unknown, readonly string[]]>([
    ["no object", "x", ['spec.output: must be a JSON Schema object, not "x"']],
    ["true", true, ["spec.output: must be a JSON Schema object, not true"]],
    ["a type", { type: "strng" }, ['spec.output#/type: "strng" is no type']],
    ["a type in a list", { type: ["string", "nil"] }, ['spec.output#/type: "nil" is no type']],
    [
      "values keywords cannot have",
      { minLength: "3", properties: { a: { maximum: "x" }, b: { required: "c" } } },
      [
        "spec.output#/properties/a/maximum: must be number",
        "spec.output#/properties/b/required: must be array",
        "spec.output#/minLength: must be integer",
      ],
    ],
    ["an exclusiveMinimum of draft-04", { exclusiveMinimum: true }, ["spec.output#/exclusiveMinimum: must be number"]],
    [
      "misspelt keywords",
      { requird: [], additional_properties: false, item: {} },
      [
        'spec.output#/requird: "requird" is no keyword of JSON Schema',
        'spec.output#/additional_properties: "additional_properties" is no keyword of JSON Schema',
        'spec.output#/item: "item" is no keyword of JSON Schema',
      ],
    ],
    [
      "properties that are none",
      { properties: [] },
      ["spec.output#/properties: must be a mapping of names to schemas, not a list"],
    ],
    [
      "a property that is no schema",
      { properties: { a: "string" } },
      ['spec.output#/properties/a: must be a schema (an object or a boolean), not "string"'],
    ],
    ["an empty anyOf", { anyOf: [] }, ["spec.output#/anyOf: must be a list of schemas, not a list"]],
    [
      "a property `__proto__`",
      JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'),
      ['spec.output#/properties: the name "__proto__" is not accepted'],
    ],
    [
      "look-ahead",
      { pattern: "^(?=.*a)" },
      [
        "spec.output#/pattern: the pattern look-ahead and look-behind are not supported: the time they take has no bound",
      ],
    ],
    [
      "look-behind in a name",
      { patternProperties: { "(?<!a)b": {} } },
      [
        "spec.output#/patternProperties/(?<!a)b: the pattern look-ahead and look-behind are not supported: the time they take has no bound",
      ],
    ],
    [
      "back-references",
      { pattern: "(a)\\1" },
      ["spec.output#/pattern: the pattern back-references are not supported: the time they take has no bound"],
    ],
    ["no pattern", { pattern: "(" }, ["spec.output#/pattern: the pattern is no pattern: Unterminated group"]],
  ])("%s", (_, schema, expected) => {
    expect(problems(schema)).toEqual(expected);
  });
});

describe("schemas that are fine", () => {
  test("annotations and unknown keywords may hold anything", () => {
    const schema = {
      title: 1,
      description: [],
      examples: "x",
      deprecated: "?",
      "x-order": [1],
      example: {},
      nullable: true,
      note: 1,
      $comment: 2,
      readOnly: 0,
      type: "string",
    };
    expect(verdict(schema, "a")).toBe(true);
  });

  test("unknown formats check nothing, and are warned of", () => {
    const compiled = compile({ properties: { a: { format: "iban" } } });
    expect(compiled.validate({ a: "x" })).toEqual({ ok: true });
    expect(compiled.warnings.map(({ path }) => path)).toEqual(["spec.input#/properties/a/format"]);
  });

  test.each([
    ["date", "2024-02-29", "2023-02-29"],
    ["time", "10:00:00Z", "25:00:00Z"],
    ["date-time", "2024-01-01T00:00:00Z", "2024-01-01"],
    ["duration", "P1DT2H", "1d"],
    ["email", "a@example.com", "a@"],
    ["hostname", "example.com", "-a-"],
    ["ipv4", "127.0.0.1", "127.0.0.256"],
    ["ipv6", "::1", ":::"],
    ["uri", "https://a.test/x?y#z", "/x"],
    ["uri-reference", "/x", "\\x"],
    ["uuid", "01234567-89ab-cdef-0123-456789abcdef", "0123"],
    ["json-pointer", "/a~1b", "a"],
    ["regex", "^a+$", "("],
    ["byte", "aGk=", "aGk"],
    ["secret-ref", "secret://acme/key", "acme/key"],
  ])("the format %s", (format, good, bad) => {
    expect(verdict({ format }, good)).toBe(true);
    expect(verdict({ format }, bad)).toEqual([" format"]);
    expect(verdict({ format }, 1)).toBe(true);
  });

  test("several patterns in one schema stay apart", () => {
    const schema = {
      properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } },
      patternProperties: { "^x": { type: "string" }, "^y": { type: "number" } },
    };
    expect(verdict(schema, { a: "a", b: "b", x1: "s", y1: 1 })).toBe(true);
    expect(verdict(schema, { a: "b", b: "a", x1: 1, y1: "s" })).toEqual([
      "/a pattern",
      "/b pattern",
      "/x1 type",
      "/y1 type",
    ]);
  });

  test("money: 19.99 is a multiple of 0.01", () => {
    expect(verdict({ multipleOf: 0.01 }, 19.99)).toBe(true);
    expect(verdict({ multipleOf: 0.01 }, 19.999)).toEqual([" multipleOf"]);
  });

  test("numbers past a double's precision, in the schema and in the value", () => {
    const parsed = parseJson(`{"maximum": 9007199254740993}`, { depthMax: 5 });
    const value = parseJson("[9007199254740995, 12345678901234567890, 1e400]", { depthMax: 5 });
    if (!parsed.ok || !value.ok) throw new Error("should parse");
    expect(verdict({ type: "array", items: { type: "integer", ...(parsed.value as object) } }, value.value)).toEqual([
      "/0 maximum",
      "/1 maximum",
      "/2 type",
    ]);
    expect(verdict({ type: "integer" }, 2n ** 70n)).toBe(true);
  });

  test("names that objects have by themselves are no properties", () => {
    const schema = {
      required: ["toString", "constructor", "__proto__"],
      properties: { constructor: { type: "string" } },
    };
    expect(verdict(schema, {})).toEqual(["/toString required", "/constructor required", "/__proto__ required"]);
    expect(verdict(schema, JSON.parse('{"toString": 1, "constructor": "x", "__proto__": 1}'))).toBe(true);
    expect(verdict({ additionalProperties: false }, JSON.parse('{"__proto__": 1}'))).toEqual([
      "/__proto__ additionalProperties",
    ]);
  });
});

test("both schemas of a tool at once, with all problems", () => {
  const good = compileToolSchemas({ input: { type: "object" }, output: undefined });
  expect(good).toMatchObject({ ok: true, output: undefined });
  const bad = compileToolSchemas({ input: { type: "x" }, output: { pattern: "(" } });
  expect(bad.ok ? [] : bad.problems.map(({ path }) => path)).toEqual(["spec.input#/type", "spec.output#/pattern"]);
});

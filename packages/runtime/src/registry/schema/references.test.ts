// References inside a schema, and all those that are refused.
import { describe, expect, test } from "vitest";
import { compileSchema, type CompiledSchema } from "../schema.ts";

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

describe("references", () => {
  const tree = {
    $defs: {
      node: {
        type: "object",
        required: ["v"],
        properties: { v: { type: "integer" }, kids: { type: "array", items: { $ref: "#/$defs/node" } } },
      },
    },
    $ref: "#/$defs/node",
  };

  test("recursion", () => {
    expect(verdict(tree, { v: 1, kids: [{ v: 2, kids: [] }] })).toBe(true);
    expect(verdict(tree, { v: 1, kids: [{ v: 2, kids: [{ v: "x" }] }] })).toEqual(["/kids/0/kids/0/v type"]);
  });

  test.each<[string, object]>([
    ["$defs", { $defs: { a: { type: "string" } }, properties: { x: { $ref: "#/$defs/a" } } }],
    ["definitions", { definitions: { a: { type: "string" } }, properties: { x: { $ref: "#/definitions/a" } } }],
    ["a place", { properties: { y: { type: "string" }, x: { $ref: "#/properties/y" } } }],
    ["an anchor", { $defs: { a: { $anchor: "text", type: "string" } }, properties: { x: { $ref: "#text" } } }],
    [
      "its own address",
      {
        $id: "https://example.com/s",
        $defs: { a: { type: "string" } },
        properties: { x: { $ref: "https://example.com/s#/$defs/a" } },
      },
    ],
    [
      "an old anchor",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        definitions: { a: { $id: "#text", type: "string" } },
        properties: { x: { $ref: "#text" } },
      },
    ],
    [
      "odd names",
      {
        $defs: { "a/b~c %\"'`${}": { type: "string" } },
        properties: { x: { $ref: "#/$defs/a~1b~0c%20%25%22'%60$%7B%7D" } },
      },
    ],
    [
      "a chain",
      { $defs: { a: { $ref: "#/$defs/b" }, b: { type: "string" } }, properties: { x: { $ref: "#/$defs/a" } } },
    ],
    [
      "a branch",
      { anyOf: [{ properties: { x: { type: "string" } } }], properties: { x: { $ref: "#/anyOf/0/properties/x" } } },
    ],
    [
      "true and false",
      {
        $defs: { no: false, yes: true },
        properties: { x: { anyOf: [{ $ref: "#/$defs/no" }, { type: "string" }] }, z: { $ref: "#/$defs/yes" } },
      },
    ],
  ])("to %s", (_, schema) => {
    expect(verdict(schema, { x: "text" })).toBe(true);
    expect(verdict(schema, { x: 1 })).toContain("/x type");
  });

  test("to the whole schema", () => {
    const schema = { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false };
    expect(verdict(schema, { next: { next: {} } })).toBe(true);
    expect(verdict(schema, { next: { next: { x: 1 } } })).toEqual(["/next/next/x additionalProperties"]);
  });

  test("to the built-in meta-schema of its own dialect", () => {
    const schema = { properties: { s: { $ref: "https://json-schema.org/draft/2020-12/schema" } } };
    expect(verdict(schema, { s: { type: "string" } })).toBe(true);
    expect(verdict(schema, { s: { type: "strng" } })).toContain("/s/type enum");
    const old = {
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { s: { $ref: "http://json-schema.org/draft-07/schema#" } },
    };
    expect(verdict(old, { s: { items: { minLength: 1 } } })).toBe(true);
    expect(verdict(old, { s: { items: { minLength: "1" } } })).not.toBe(true);
  });

  test.each<[string, object, string]>([
    [
      "another document",
      { $ref: "https://example.com/other.json" },
      'spec.output#/$ref: "https://example.com/other.json" is not in this schema',
    ],
    ["a file", { $ref: "other.json#/a" }, 'spec.output#/$ref: "other.json#/a" is not in this schema'],
    [
      "the other meta-schema",
      { $ref: "http://json-schema.org/draft-07/schema#" },
      'spec.output#/$ref: "http://json-schema.org/draft-07/schema#" is not in this schema',
    ],
    ["nothing", { $ref: "#/$defs/none" }, 'spec.output#/$ref: "#/$defs/none" points at no schema of this document'],
    ["no anchor", { $ref: "#none" }, 'spec.output#/$ref: "#none" points at no schema of this document'],
    [
      "something that is no schema",
      { properties: { a: { enum: [{ type: "string" }] }, b: { $ref: "#/properties/a/enum/0" } } },
      'spec.output#/properties/b/$ref: "#/properties/a/enum/0" points at no schema of this document',
    ],
    [
      "an annotation",
      { "x-own": { type: "string" }, properties: { b: { $ref: "#/x-own" } } },
      'spec.output#/properties/b/$ref: "#/x-own" points at no schema of this document',
    ],
    ["a broken escape", { $ref: "#/%zz" }, 'spec.output#/$ref: "#/%zz" is not in this schema'],
    ["a number", { $ref: 1 }, "spec.output#/$ref: must be text, not 1"],
    [
      "itself",
      { $ref: "#" },
      "spec.output: refers to itself without going deeper into the value, so checking it would never end",
    ],
    [
      "itself in a circle",
      { $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { if: { $ref: "#/$defs/a" } } }, $ref: "#/$defs/a" },
      "spec.output#/$defs/a: refers to itself without going deeper into the value, so checking it would never end",
    ],
    [
      "two anchors of a name",
      { $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } },
      'spec.output#/$defs/b: the anchor "x" exists twice',
    ],
    [
      "an inner $id",
      { $defs: { a: { $id: "https://example.com/a" } } },
      "spec.output#/$defs/a/$id: an $id inside a schema is not accepted",
    ],
    [
      "a dynamic one",
      { $defs: { a: { $dynamicAnchor: "n" } }, $dynamicRef: "#n" },
      "spec.output#/$dynamicRef: $dynamicRef is not accepted",
    ],
    ["a recursive one", { $recursiveRef: "#" }, "spec.output#/$recursiveRef: $recursiveRef is not accepted"],
  ])("to %s are refused", (_, schema, problem) => {
    expect(problems(schema)).toContain(problem);
  });
});

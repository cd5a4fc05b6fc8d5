// Our prepared schemas (rebuilt, priced, own checks) judge as a plain ajv judges the schema that was written.
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compileSchema } from "../schema.ts";

const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, 1, 2, 1.5, -1, "", "a", "b", "ab"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const small = fc.integer({ min: 0, max: 3 });
const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 });

const schema = fc.letrec<{ schema: unknown; map: Record<string, unknown>; list: unknown[] }>((tie) => ({
  map: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema"), { maxKeys: 2, noNullPrototype: true }),
  list: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.boolean(),
    fc.constantFrom({ $ref: "#/$defs/a" }, { $ref: "#/$defs/b" }, {}),
    fc.record(
      {
        type: fc.constantFrom("string", "number", "integer", "object", "array", "null", ["string", "object"]),
        enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) }),
        minimum: small,
        multipleOf: fc.constantFrom(1, 2),
        maxLength: small,
        pattern: fc.constantFrom("^a", "b$", "^(a|b)+$"),
        minItems: small,
        uniqueItems: fc.boolean(),
        maxProperties: small,
        required: names,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        const: value,
        properties: tie("map"),
        patternProperties: fc.dictionary(fc.constantFrom("^a", "b"), tie("schema"), {
          maxKeys: 2,
          noNullPrototype: true,
        }),
        additionalProperties: tie("schema"),
        propertyNames: fc.constantFrom({ maxLength: 1 }, { enum: ["a", "b"] }),
        unevaluatedProperties: tie("schema"),
        dependentRequired: fc.dictionary(fc.constantFrom("a", "b"), names, { maxKeys: 1, noNullPrototype: true }),
        dependentSchemas: tie("map"),
        prefixItems: tie("list"),
        items: tie("schema"),
        contains: tie("schema"),
        unevaluatedItems: tie("schema"),
      },
      { requiredKeys: [] },
    ),
    fc.record({ allOf: tie("list"), anyOf: tie("list"), oneOf: tie("list"), not: tie("schema") }, { requiredKeys: [] }),
    fc
      .tuple(tie("schema"), tie("schema"), tie("schema"))
      .map((parts) => Object.fromEntries(parts.map((part, index) => [["if", "then", "else"][index], part]))),
  ),
}));

// References end in these two, so that nothing refers to itself in place.
const whole = fc
  .tuple(
    schema.schema,
    fc.constantFrom({ type: "object", properties: { a: { $ref: "#/$defs/b" } } }, { type: "string" }),
    fc.constantFrom({ items: { $ref: "#" } }, { enum: ["a", { b: 1 }] }, { required: ["c"] }),
  )
  .filter(([root]) => typeof root === "object")
  .map(([root, a, b]) => ({ ...(root as object), $defs: { a, b } }));

test("on random schemas and values", () => {
  let compared = 0;
  fc.assert(
    fc.property(whole, fc.array(value, { minLength: 1, maxLength: 5 }), (written, values) => {
      const ours = compileSchema(written, "input");
      if (!ours.ok) {
        // Only what plain ajv would follow for ever may be refused here.
        expect(ours.problems.map(({ message }) => message)).toEqual([expect.stringContaining("refers to itself")]);
        return;
      }
      // ajv's optimiser drops variables that `unevaluated…` needs: its code would end in a ReferenceError.
      const plain = new Ajv2020({
        strict: false,
        ownProperties: true,
        allErrors: true,
        meta: false,
        validateSchema: false,
        logger: false,
        code: { optimize: false },
      }).compile(written);
      for (const one of values) {
        compared++;
        expect(ours.validate(one).ok).toBe(plain(one));
      }
    }),
    { numRuns: 150, seed: 2020 },
  );
  expect(compared).toBeGreaterThan(150);
});

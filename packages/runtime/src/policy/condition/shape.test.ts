// What a schema says about the places that a condition reads.
import { expect, test } from "vitest";
import { inputShape, type Shape } from "./shape.ts";

/** `kinds presence` of the place at a path; `[]` is an item. */
function at(schema: unknown, path: string): string {
  let shape: Shape = inputShape(schema);
  let presence = "";
  for (const step of path.split(".").filter((one) => one !== "")) {
    if (step === "[]") shape = shape.item();
    else ({ shape, presence } = shape.member(step));
  }
  return `${[...shape.kinds].join("|")} ${presence}`.trim();
}

const anything = "null|bool|double|string|list|map";
const money = {
  type: "object",
  properties: { value: { type: "integer" } },
  required: ["value"],
  additionalProperties: false,
};

test.each([
  [undefined, "", anything],
  [true, "a", `${anything} maybe`],
  [{ type: "object" }, "a", `${anything} maybe`],
  [{ properties: { a: { type: "string" } }, required: ["a"] }, "a", "string always"],
  [{ type: "object", properties: { a: { type: "integer" } } }, "a", "int maybe"],
  [{ type: "object", additionalProperties: false }, "a", `${anything} never`],
  [{ type: "object", additionalProperties: { type: "boolean" } }, "a", "bool maybe"],
  [{ type: "object", additionalProperties: false, patternProperties: { "^x": {} } }, "a", `${anything} maybe`],
  [{ type: ["integer", "null"] }, "", "int|null"],
  [{ type: ["integer", "number"] }, "", "double"],
  [{ enum: ["a", 1, null] }, "", "string|double|null"],
  [{ const: "a" }, "", "string"],
  [{ $ref: "#/$defs/money", $defs: { money } }, "value", "int always"],
  [{ $ref: "#/$defs/money", $defs: { money } }, "other", `${anything} never`],
  [{ properties: { m: { $ref: "#/$defs/a~1b%20c" } }, $defs: { "a/b c": { type: "string" } } }, "m", "string maybe"],
  [{ $ref: "#/$defs/nowhere" }, "a", `${anything} maybe`],
  [{ $ref: "other.json#/a" }, "a", `${anything} maybe`],
  [{ allOf: [{ type: "object", required: ["a"] }, { properties: { a: { type: "integer" } } }] }, "a", "int always"],
  [{ allOf: [{ type: "number" }, { type: "integer" }] }, "", "int"],
  [{ allOf: [{ type: "string" }, { type: "integer" }] }, "", anything],
  [{ allOf: [money, { properties: { more: { type: "string" } } }] }, "more", `${anything} never`],
  [{ oneOf: [money, { type: "object", properties: { value: { type: "string" } } }] }, "value", "int|string maybe"],
  [
    { anyOf: [money, { type: "object", properties: { value: { type: "integer" } }, required: ["value"] }] },
    "value",
    "int always",
  ],
  [{ anyOf: [money, { type: "null" }] }, "value", "int always"],
  [{ anyOf: [money, { type: "null" }] }, "", "null|map"],
  [{ anyOf: [money, { type: "object", additionalProperties: false }] }, "valeu", `${anything} never`],
  [{ type: "array", items: { type: "integer" } }, "[]", "int"],
  [{ type: "array", prefixItems: [{ type: "integer" }], items: { type: "string" } }, "[]", "int|string"],
  [{ type: "array", prefixItems: [{ type: "integer" }], items: false }, "[]", "int"],
  [{ type: "array", items: [{ type: "integer" }], additionalItems: { type: "null" } }, "[]", "int|null"],
  [{ type: "array" }, "[]", anything],
])("%j at %j: %s", (schema, path, expected) => {
  expect(at(schema, path)).toBe(expected);
});

test("references in circles and in doubling chains end", () => {
  expect(at({ $ref: "#" }, "a.b.c")).toBe(`${anything} maybe`);
  expect(at({ properties: { next: { $ref: "#" }, n: { type: "integer" } } }, "next.next.next.n")).toBe("int maybe");
  const fan = { $defs: { a: { allOf: Array(50).fill({ $ref: "#/$defs/a" }) } }, $ref: "#/$defs/a" };
  const began = performance.now();
  expect(at(fan, "a")).toBe(`${anything} maybe`);
  // Without a bound this would be 50 to the power of 16.
  expect(performance.now() - began).toBeLessThan(2_000);
  const doubling = { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" };
  expect(at(doubling, "a")).toBe(`${anything} maybe`);
});

// Schemas as the API's document tells them.
import { expect, test } from "vitest";
import { z } from "zod";
import { toldAs } from "../schemas/told-as.ts";
import { SharedSchemas } from "./schemas.ts";

const answer = (schema: z.ZodType) => new SharedSchemas().tell(schema, "answer");
const request = (schema: z.ZodType) => new SharedSchemas().tell(schema, "request");

test("a request's object takes no other fields, an answer's may gain some", () => {
  const schema = z.strictObject({ n: z.int().min(0) });
  const fields = { type: "object", properties: { n: { type: "integer", minimum: 0 } }, required: ["n"] };
  expect(request(schema)).toEqual({ ...fields, additionalProperties: false });
  expect(answer(schema)).toEqual(fields);
});

test("what has an id stands apart, once, and is referred to", () => {
  const leaf = z.strictObject({ text: z.string() }).meta({ id: "Leaf", description: "A leaf" });
  const tree = z.strictObject({ top: leaf, all: z.array(leaf), last: leaf.nullable() }).meta({ id: "Tree" });
  const shared = new SharedSchemas();
  expect(shared.tell(tree, "answer")).toEqual({ $ref: "#/components/schemas/Tree" });
  expect(shared.tell(leaf, "answer")).toEqual({ $ref: "#/components/schemas/Leaf" });
  const ref = { $ref: "#/components/schemas/Leaf" };
  expect(shared.all()).toEqual({
    Leaf: {
      description: "A leaf",
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
    },
    Tree: {
      type: "object",
      properties: { top: ref, all: { type: "array", items: ref }, last: { anyOf: [ref, { type: "null" }] } },
      required: ["top", "all", "last"],
    },
  });
  expect(Object.keys(shared.all())).toEqual(["Leaf", "Tree"]);
});

test("two schemas cannot have one id", () => {
  const shared = new SharedSchemas();
  shared.tell(z.strictObject({ n: z.string() }).meta({ id: "Same" }), "request");
  expect(() => shared.tell(z.strictObject({ n: z.string() }).meta({ id: "Same" }), "answer")).toThrow(
    "two schemas are called Same",
  );
});

test("an instant is a format, a whole number has the bounds that somebody set", () => {
  expect(answer(z.strictObject({ at: z.iso.datetime().nullable(), n: z.int(), m: z.int().max(5) }))).toEqual({
    type: "object",
    properties: {
      at: { type: ["string", "null"], format: "date-time" },
      n: { type: "integer" },
      m: { type: "integer", maximum: 5 },
    },
    required: ["at", "n", "m"],
  });
});

test("null beside a choice stays a choice of its own", () => {
  expect(answer(z.enum(["a", "b"]).nullable())).toEqual({
    anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }],
  });
});

test("a number in a query is told as one, and a description stays with it", () => {
  const seq = z
    .string()
    .transform(Number)
    .register(toldAs, { schema: { type: "integer", minimum: 0 } });
  expect(request(z.strictObject({ seq: seq.optional().describe("How far") }))).toEqual({
    type: "object",
    properties: { seq: { description: "How far", type: "integer", minimum: 0 } },
    additionalProperties: false,
  });
});

test("what JSON Schema has no words for must bring its own", () => {
  expect(() => request(z.custom(() => true))).toThrow("Custom types cannot be represented");
  expect(request(z.custom(() => true).register(toldAs, { schema: { type: "object" } }))).toEqual({ type: "object" });
});

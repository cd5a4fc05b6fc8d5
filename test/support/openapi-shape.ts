// The shape of an OpenAPI 3.1 document as JSON Schema, as far as our document makes use of it; what it does not use is refused.

/** An object of exactly these fields, beside extensions. */
const object = (properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
  patternProperties: { "^x-": true },
  additionalProperties: false,
});

const mapOf = (value: unknown, names = ".") => ({
  type: "object",
  patternProperties: { [names]: value },
  additionalProperties: false,
});

const text = { type: "string", minLength: 1 };
const texts = { type: "array", items: text, uniqueItems: true };
/** Its own rules are JSON Schema's; they are looked at by compiling it. */
const schema = { type: "object" };
const reference = (kind: string) => ({
  type: "object",
  properties: { $ref: { type: "string", pattern: `^#/components/${kind}/[A-Za-z0-9._-]+$` } },
  required: ["$ref"],
  additionalProperties: false,
});
const orReference = (kind: string, whole: unknown) => ({ anyOf: [reference(kind), whole] });

const header = object({ description: text, required: { type: "boolean" }, schema }, ["schema"]);
const parameter = {
  ...object(
    {
      name: text,
      in: { enum: ["path", "query", "header", "cookie"] },
      description: text,
      required: { type: "boolean" },
      deprecated: { type: "boolean" },
      schema,
    },
    ["name", "in", "schema"],
  ),
  // A part of the path is always there.
  if: { type: "object", properties: { in: { const: "path" } } },
  then: { type: "object", properties: { required: { const: true } }, required: ["required"] },
};
const content = mapOf(object({ schema, example: true }), "^[a-z]+/[a-z0-9.+*-]+$");
const response = object({ description: text, headers: mapOf(orReference("headers", header)), content }, [
  "description",
]);
const requestBody = object({ description: text, content, required: { type: "boolean" } }, ["content"]);
const operation = object(
  {
    operationId: text,
    tags: texts,
    summary: text,
    description: text,
    deprecated: { type: "boolean" },
    security: { type: "array", items: mapOf({ type: "array", items: text }) },
    parameters: { type: "array", items: orReference("parameters", parameter) },
    requestBody: orReference("requestBodies", requestBody),
    responses: { ...mapOf(orReference("responses", response), "^(?:[1-5][0-9][0-9]|default)$"), minProperties: 1 },
  },
  ["responses"],
);
const method = "^(?:get|put|post|delete|options|head|patch|trace)$";
const named = "^[A-Za-z0-9._-]+$";

export const openApiShape = object(
  {
    openapi: { type: "string", pattern: "^3\\.1\\.[0-9]+$" },
    info: object(
      {
        title: text,
        summary: text,
        description: text,
        version: text,
        license: object({ name: text, identifier: text }, ["name"]),
      },
      ["title", "version"],
    ),
    servers: { type: "array", items: object({ url: text, description: text }, ["url"]) },
    tags: { type: "array", items: object({ name: text, description: text }, ["name"]) },
    paths: mapOf(mapOf(operation, method), "^/"),
    components: object({
      schemas: mapOf(schema, named),
      responses: mapOf(response, named),
      headers: mapOf(header, named),
      parameters: mapOf(parameter, named),
      securitySchemes: mapOf(
        object({ type: { const: "http" }, scheme: text, description: text }, ["type", "scheme"]),
        named,
      ),
    }),
  },
  ["openapi", "info", "paths"],
);

// Turns the schemas that check requests, and those that tell of answers, into JSON Schema 2020-12 with shared parts by name.
import { z } from "zod";
import { toldAs } from "../schemas/told-as.ts";
import type { JsonSchema } from "../schemas/told-as.ts";

export type Direction = "request" | "answer";

/** The schemas that stand in the document under a name of their own. */
export class SharedSchemas {
  readonly #byId = new Map<string, string>();

  /**
   * @returns the schema, in which every part that has an id is a reference
   * @throws Error when two different schemas have one id, or JSON Schema has no words for a part
   */
  tell(schema: z.ZodType, direction: Direction): JsonSchema {
    const { $schema: _, $defs = {}, ...told } = tellSchema(schema, direction);
    for (const [id, one] of Object.entries($defs as Readonly<Record<string, JsonSchema>>))
      this.#add(id, tidied(one, direction));
    return tidied(told, direction);
  }

  /** Sorted by name. */
  all(): Readonly<Record<string, JsonSchema>> {
    const sorted = [...this.#byId].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([id, text]) => [id, JSON.parse(text) as JsonSchema]));
  }

  #add(id: string, schema: JsonSchema): void {
    const text = JSON.stringify(schema);
    const known = this.#byId.get(id);
    if (known !== undefined && known !== text) throw new Error(`two schemas are called ${id}: ${known} and ${text}`);
    this.#byId.set(id, text);
  }
}

function tellSchema(schema: z.ZodType, direction: Direction): JsonSchema {
  return z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io: direction === "request" ? "input" : "output",
    // What has no words must bring its own.
    unrepresentable: ({ zodSchema }) => (toldAs.get(zodSchema) === undefined ? "throw" : {}),
    override: ({ zodSchema, jsonSchema }) => {
      const told = toldAs.get(zodSchema);
      if (told === undefined) return;
      const { description } = jsonSchema;
      for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Record<string, unknown>)[key];
      Object.assign(jsonSchema, told.schema, description === undefined ? {} : { description });
    },
  }) as JsonSchema;
}

const references = "#/$defs/";

/** Says the same in fewer words, and where the document keeps its shared schemas. */
function tidied(schema: JsonSchema, direction: Direction): JsonSchema {
  const { description } = schema;
  const tidy: Record<string, unknown> = description === undefined ? {} : { description };
  for (const [keyword, value] of Object.entries(schema)) tidy[keyword] = tidiedPart(keyword, value, direction);
  const { format, type, propertyNames } = tidy;
  // Answers may gain fields: whoever checks them by this document must not stumble over one.
  if (direction === "answer" && tidy["additionalProperties"] === false) delete tidy["additionalProperties"];
  // The pattern that comes with a format says what the format says.
  if (format === "date-time") delete tidy["pattern"];
  // Every name is a string.
  if (JSON.stringify(propertyNames) === '{"type":"string"}') delete tidy["propertyNames"];
  if (type === "integer") {
    if (tidy["minimum"] === Number.MIN_SAFE_INTEGER) delete tidy["minimum"];
    if (tidy["maximum"] === Number.MAX_SAFE_INTEGER) delete tidy["maximum"];
  }
  return nullInside(tidy);
}

function tidiedPart(keyword: string, value: unknown, direction: Direction): unknown {
  switch (keyword) {
    case "$ref":
      return String(value).replace(references, "#/components/schemas/");
    case "items":
    case "additionalProperties":
    case "propertyNames":
    case "not":
      return typeof value === "object" && value !== null ? tidied(value as JsonSchema, direction) : value;
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return (value as readonly JsonSchema[]).map((one) => tidied(one, direction));
    case "properties":
      return Object.fromEntries(
        Object.entries(value as Readonly<Record<string, JsonSchema>>).map(([name, one]) => [
          name,
          tidied(one, direction),
        ]),
      );
    default:
      return value;
  }
}

/** `string` or null is one type of two names. */
function nullInside(schema: Record<string, unknown>): JsonSchema {
  const { anyOf, ...rest } = schema;
  const [one, other, ...more] = Array.isArray(anyOf) ? (anyOf as readonly JsonSchema[]) : [];
  if (one === undefined || other === undefined || more.length > 0) return schema;
  if (other["type"] !== "null" || typeof one["type"] !== "string" || "enum" in one || "const" in one) return schema;
  return { ...one, type: [one["type"], "null"], ...rest };
}

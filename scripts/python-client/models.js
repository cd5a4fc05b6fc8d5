// Makes Python types of the document's schemas: a TypedDict for each object of known fields, an alias for everything else.
// @ts-check
import { broken, comment, docstring, isKeyword, pascal, quoted } from "./words.js";

/** @typedef {{ readonly [keyword: string]: any }} Schema */

/** @param {Schema} schema a reference */
export const nameOf = ({ $ref }) => String($ref).replace("#/components/schemas/", "");

export class Models {
  /** @type {string[]} */
  #classes = [];
  /** @type {string[]} */
  #aliases = [];
  /** Names with the schemas that they stand for. @type {Map<string, string>} */
  #names = new Map();

  /** @param {Readonly<Record<string, Schema>>} schemas */
  constructor(schemas) {
    for (const [name, schema] of Object.entries(schemas)) this.#names.set(name, JSON.stringify(schema));
    for (const [name, schema] of Object.entries(schemas)) {
      if (isRecord(schema)) this.#addClass(name, schema);
      else this.#addAlias(name, schema);
    }
  }

  text() {
    return [...this.#classes, ...this.#aliases].join("\n\n\n");
  }

  /** @param {string} name */
  has(name) {
    return this.#names.has(name);
  }

  /**
   * A Python type as text.
   * @param {Schema} schema
   * @param {string} hint the name of what has no name of its own
   * @returns {string}
   */
  type(schema, hint) {
    if (schema["$ref"] !== undefined) return nameOf(schema);
    const { anyOf, oneOf, type, const: constant } = schema;
    if (constant !== undefined) return `Literal[${literal(constant)}]`;
    if (schema["enum"] !== undefined) return `Literal[${schema["enum"].map(literal).join(", ")}]`;
    const choices = anyOf ?? oneOf;
    if (choices !== undefined) return this.#union(choices, hint);
    if (Array.isArray(type))
      return this.#union(
        type.map((one) => ({ ...schema, type: one })),
        hint,
      );
    if (type === "object" && schema["properties"] !== undefined) return this.#nested(schema, hint);
    if (type === "object") return `Dict[str, ${this.type(schemaOr(schema["additionalProperties"]), `${hint}Value`)}]`;
    if (type === "array") return `List[${this.type(schemaOr(schema["items"]), `${hint}Item`)}]`;
    return plain[type] ?? "Any";
  }

  /**
   * @param {readonly Schema[]} choices
   * @param {string} hint
   */
  #union(choices, hint) {
    const some = choices.filter(({ type }) => type !== "null");
    const types = some.map((one) => this.type(one, some.length === 1 ? hint : `${hint}${choiceName(one)}`));
    const union = types.length === 1 ? (types[0] ?? "Any") : `Union[${types.join(", ")}]`;
    return some.length === choices.length ? union : `Optional[${union}]`;
  }

  /**
   * @param {Schema} schema
   * @param {string} name
   */
  #nested(schema, name) {
    const text = JSON.stringify(schema);
    const known = this.#names.get(name);
    if (known === text) return name;
    if (known !== undefined) throw new Error(`two types would be called ${name}`);
    this.#names.set(name, text);
    this.#addClass(name, schema);
    return name;
  }

  /**
   * @param {string} name
   * @param {Schema} schema
   */
  #addClass(name, schema) {
    /** @type {(readonly [field: string, type: string, description: string | undefined])[]} */
    const fields = Object.entries(schema["properties"]).map(([field, one]) => [
      field,
      this.type(one, `${name}${pascal(field)}`),
      one["description"],
    ]);
    const required = new Set(schema["required"] ?? []);
    const must = fields.filter(([field]) => required.has(field));
    const may = fields.filter(([field]) => !required.has(field));
    const about = schema["description"] === undefined ? [] : [docstring([sentence(schema["description"])], "    ")];
    if (must.length === 0 || may.length === 0) {
      this.#addDict(name, fields, must.length > 0 || fields.length === 0, "TypedDict", about);
      return;
    }
    this.#addDict(`_${name}Required`, must, true, "TypedDict", []);
    this.#addDict(name, may, false, `_${name}Required`, about);
  }

  /**
   * @param {string} name
   * @param {readonly (readonly [field: string, type: string, description: string | undefined])[]} fields
   * @param {boolean} total
   * @param {string} base
   * @param {readonly string[]} about
   */
  #addDict(name, fields, total, base, about) {
    if (fields.some(([field]) => isKeyword(field))) {
      // A field that no class can name stands in a mapping.
      const inner = `_${name}Fields`;
      const mapping = fields.map(([field, type]) => `    ${quoted(field)}: ${quoted(type)},`);
      this.#classes.push(
        `${inner} = TypedDict(\n    ${quoted(inner)},\n    {\n${mapping.map((line) => `    ${line}`).join("\n")}\n    },\n    total=${total ? "True" : "False"},\n)`,
      );
      const bases = base === "TypedDict" ? inner : `${base}, ${inner}`;
      this.#classes.push(`class ${name}(${bases}):\n${about.length === 0 ? "    pass" : about.join("\n")}`);
      return;
    }
    const lines = fields.map(
      ([field, type, description]) =>
        `${description === undefined ? "" : `${comment(description, "    ")}\n`}${broken(`    ${field}: ${type}`, "    ")}`,
    );
    const head = `class ${name}(${base}${total ? "" : ", total=False"}):`;
    const body = [...about, ...(about.length > 0 && lines.length > 0 ? [""] : []), ...lines];
    this.#classes.push([head, ...(body.length === 0 ? ["    pass"] : body)].join("\n"));
  }

  /**
   * @param {string} name
   * @param {Schema} schema
   */
  #addAlias(name, schema) {
    const type = this.type(schema, name);
    const about = schema["description"] === undefined ? "" : `${comment(sentence(schema["description"]), "")}\n`;
    this.#aliases.push(`${about}${broken(`${name} = ${type}`, "")}`);
  }
}

/** @param {Schema} schema */
const isRecord = (schema) => schema["type"] === "object" && schema["properties"] !== undefined;

/** @param {unknown} part an absent one, and `true`, stand for anything @returns {Schema} */
const schemaOr = (part) => (typeof part === "object" && part !== null ? part : {});

/** @type {Readonly<Record<string, string>>} */
const plain = { string: "str", integer: "int", number: "float", boolean: "bool", null: "None" };

/** @param {unknown} value */
function literal(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

/** By the one field that tells the choices apart. @param {Schema} schema */
function choiceName(schema) {
  const constant = Object.values(schema["properties"] ?? {}).find((one) => one["const"] !== undefined);
  return constant === undefined ? pascal(String(schema["type"] ?? "Other")) : pascal(String(constant["const"]));
}

/** @param {string} text */
const sentence = (text) => (/[.!?`]$/.test(text) ? text : `${text}.`);

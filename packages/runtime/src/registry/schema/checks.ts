// Our own enum, const and uniqueItems: linear, and safe from values that carry keys like `valueOf`, which crash ajv's.
import { _, type CodeKeywordDefinition, type KeywordCxt } from "ajv";
import type { Budget } from "./budget.ts";

/** Equal JSON values, and only they, have equal texts. The depth of values is bounded by the caller. */
function textOf(value: unknown): string {
  if (typeof value !== "object" || value === null)
    return typeof value === "string" ? JSON.stringify(value) : String(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`;
  const record = value as Readonly<Record<string, unknown>>;
  const members = Object.keys(record)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${textOf(record[key])}`);
  return `{${members.join()}}`;
}

// `-0` and `0` are the same JSON number; String() writes both as 0.

function membership(allowed: readonly unknown[], budget: Budget): (value: unknown) => boolean {
  const texts = new Set(allowed.map(textOf));
  const containers = allowed.some((one) => typeof one === "object" && one !== null);
  return (value) => {
    if (typeof value === "object" && value !== null && !containers) return false;
    const text = textOf(value);
    budget.spend(text.length / 16);
    return texts.has(text);
  };
}

function uniqueness(budget: Budget): (items: readonly unknown[]) => boolean {
  return (items) => {
    const seen = new Set<string>();
    for (const item of items) {
      const text = textOf(item);
      budget.spend(1 + text.length / 16);
      if (seen.has(text)) return false;
      seen.add(text);
    }
    return true;
  };
}

/** The check is made when the schema is compiled, and called by the compiled code. */
function checkKeyword(
  keyword: string,
  more: Partial<CodeKeywordDefinition>,
  message: string,
  make: (schema: unknown) => unknown,
): CodeKeywordDefinition {
  return {
    keyword,
    ...more,
    error: { message, params: ({ schemaCode }) => _`{allowed: ${schemaCode}}` },
    code(context: KeywordCxt) {
      if (context.schema === false && keyword === "uniqueItems") return;
      const check = context.gen.scopeValue("keyword", { ref: make(context.schema) });
      context.fail(_`!${check}(${context.data})`);
    },
  };
}

export function ownChecks(budget: Budget): readonly CodeKeywordDefinition[] {
  return [
    checkKeyword("enum", { schemaType: "array" }, "must be one of the allowed values", (schema) =>
      membership(schema as unknown[], budget),
    ),
    checkKeyword("const", {}, "must be the one allowed value", (schema) => membership([schema], budget)),
    checkKeyword("uniqueItems", { type: "array", schemaType: "boolean" }, "must not hold the same item twice", () =>
      uniqueness(budget),
    ),
  ];
}

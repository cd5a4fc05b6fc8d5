// Reads and writes JSON for the command line so that every number keeps the text it came with.
import { escaped, unseen } from "./text.ts";

interface SourceAccess {
  readonly rawJSON: (text: string) => object;
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
}

/** What this Node has and TypeScript's library does not yet declare. */
const engine = JSON as unknown as SourceAccess;

/**
 * `JSON.parse`, but a number that would be written otherwise than it was read (`12345678901234567890`, `1.0`) stays
 * source text, which `JSON.stringify` writes out again.
 * @throws SyntaxError
 */
export function parseExact(text: string): unknown {
  return engine.parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && String(value) !== source ? engine.rawJSON(source) : value,
  );
}

/** Indented, with a line feed at its end. C1 controls and marks that turn the direction of a line are written as escapes. */
export function prettyJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? "null";
  return `${text.replace(unseen, escaped)}\n`;
}

/** On one line, for output that goes on: a line feed ends the record. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(unseen, escaped)}\n`;
}

// Cuts the source text of one member out of a JSON object, so that long numbers keep the digits they were sent with.

const quote = 34;
const backslash = 92;

/** The index after the string that opens at `at`. */
function afterString(json: string, at: number): number {
  let i = at + 1;
  while (i < json.length && json.charCodeAt(i) !== quote) i += json.charCodeAt(i) === backslash ? 2 : 1;
  return i + 1;
}

/** The index after the value that starts at `at`; nesting is counted, never recursed into. */
function afterValue(json: string, at: number): number {
  let depth = 0;
  let i = at;
  while (i < json.length) {
    const character = json[i];
    if (character === '"') {
      i = afterString(json, i);
      if (depth === 0) return i;
      continue;
    }
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      if (depth === 0) return i;
      depth -= 1;
      if (depth === 0) return i + 1;
    } else if (depth === 0 && (character === "," || isSpace(character))) return i;
    i += 1;
  }
  return i;
}

function isSpace(character: string | undefined): boolean {
  return character === " " || character === "\n" || character === "\r" || character === "\t";
}

function afterSpace(json: string, at: number): number {
  let i = at;
  while (isSpace(json[i])) i += 1;
  return i;
}

/**
 * The source text of the member `name` of the outermost object; undefined when there is none.
 * The last of several members of one name counts, as in `JSON.parse`.
 * @param json text that `JSON.parse` accepts; anything else gives an unspecified answer, but always ends
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  let i = afterSpace(json, 0);
  if (json[i] !== "{") return undefined;
  i = afterSpace(json, i + 1);
  while (json[i] === '"') {
    const keyEnd = afterString(json, i);
    const key: unknown = JSON.parse(json.slice(i, keyEnd));
    const start = afterSpace(json, afterSpace(json, keyEnd) + 1);
    const end = afterValue(json, start);
    if (key === name) found = json.slice(start, end);
    i = afterSpace(json, end);
    if (json[i] !== ",") break;
    i = afterSpace(json, i + 1);
  }
  return found;
}

// Cuts the members of a request out of its JSON text without reading the numbers in them: digits stay as they were sent.

/** The request's parts as JSON text; a missing one is `null`. */
export interface RequestParts {
  readonly args: string;
  readonly context: string;
  readonly secrets: string;
}

/** @throws Error when the text is no JSON object */
export function requestParts(requestJson: string): RequestParts {
  const members = memberTexts(requestJson);
  const part = (name: string): string => members.get(name) ?? "null";
  return { args: part("args"), context: part("context"), secrets: part("secrets") };
}

/**
 * The members of one JSON object as texts, by name; of two members with one name the last counts, as in JSON.parse.
 * @throws Error when the text is no JSON object
 */
export function memberTexts(json: string): Map<string, string> {
  const whole: unknown = JSON.parse(json);
  if (typeof whole !== "object" || whole === null || Array.isArray(whole)) throw new Error("not a JSON object");
  const members = new Map<string, string>();
  // The text is known to be good JSON from here on: only strings and brackets need a look.
  let at = json.indexOf("{") + 1;
  for (;;) {
    at = skipSpace(json, at);
    if (json[at] === "}") return members;
    const nameEnd = stringEnd(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    const start = skipSpace(json, json.indexOf(":", nameEnd) + 1);
    const end = valueEnd(json, start);
    members.set(name, json.slice(start, end).trimEnd());
    at = json[end] === "," ? end + 1 : end;
  }
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (json[at] === " " || json[at] === "\t" || json[at] === "\n" || json[at] === "\r") at++;
  return at;
}

function stringEnd(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

function valueEnd(json: string, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const char = json[at];
    if (char === '"') {
      at = stringEnd(json, at);
      continue;
    }
    if (depth === 0 && (char === "," || char === "}")) return at;
    if (char === "{" || char === "[") depth++;
    if (char === "}" || char === "]") depth--;
    at++;
  }
}

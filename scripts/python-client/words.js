// How Python writes things: names, comments, docstrings, and lines that are not too long.
// @ts-check

const keywords = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in " +
    "is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

export const widthMax = 110;

/** @param {string} name `listToolPins` becomes `list_tool_pins`, `Last-Event-ID` becomes `last_event_id` */
export function snake(name) {
  return name
    .replaceAll("-", "_")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

/** @param {string} name `next_cursor` becomes `NextCursor` */
export function pascal(name) {
  return name
    .split(/[_\W]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

/** @param {string} name */
export const isKeyword = (name) => keywords.has(name);

/** A name for a parameter or a variable. @param {string} name */
export const variable = (name) => (isKeyword(snake(name)) ? `${snake(name)}_` : snake(name));

/** @param {string} text */
export const quoted = (text) => JSON.stringify(text);

/**
 * @param {string} text
 * @param {string} indent before every line but the first
 * @param {number} taken by the first line already
 */
export function wrapped(text, indent, taken) {
  const lines = [""];
  let room = widthMax - taken;
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + 1 + word.length > room) {
      lines.push(word);
      room = widthMax - indent.length;
    } else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join(`\n${indent}`);
}

/**
 * @param {string} text
 * @param {string} indent
 */
export function comment(text, indent) {
  return `${indent}# ${wrapped(text, `${indent}# `, indent.length + 2)}`;
}

/**
 * @param {readonly (string | readonly string[])[]} parts a paragraph, or a list of entries whose further lines are set in
 * @param {string} indent
 */
export function docstring(parts, indent) {
  const safe = (/** @type {string} */ one) => one.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  const [first = "", ...rest] = parts;
  const head = `${indent}"""${wrapped(safe(String(first)), indent, indent.length + 3)}`;
  if (rest.length === 0) return `${head}"""`;
  const body = rest.map((part) =>
    typeof part === "string"
      ? `${indent}${wrapped(safe(part), indent, indent.length)}`
      : part.map((one) => `${indent}${wrapped(safe(one), `${indent}    `, indent.length)}`).join("\n"),
  );
  return `${head}\n\n${body.join("\n\n")}\n${indent}"""`;
}

/**
 * Arguments on one line if they fit, else one a line.
 * @param {string} before
 * @param {readonly string[]} parts
 * @param {string} after
 * @param {number} taken of the line by its indent
 * @returns {readonly string[]} lines
 */
export function listed(before, parts, after, taken) {
  const line = `${before}${parts.join(", ")}${after}`;
  if (line.length + taken <= widthMax) return [line];
  return [before, ...parts.flatMap((part) => broken(`    ${part},`, "    ").split("\n")), after];
}

/**
 * A line of source in which a long choice stands, one of it a line.
 * @param {string} line
 * @param {string} indent of the line
 */
export function broken(line, indent) {
  if (line.length <= widthMax) return line;
  return line.replace(/Literal\[([^\]]*)\]/, (_, choices) => {
    const parts = String(choices).split(", ");
    return `Literal[\n${parts.map((part) => `${indent}    ${part},`).join("\n")}\n${indent}]`;
  });
}

/**
 * A mapping as source, on one line if it fits.
 * @param {readonly (readonly [key: string, value: string])[]} pairs
 * @param {number} taken of the line, before and after
 * @returns {readonly string[]} lines
 */
export function mapping(pairs, taken) {
  const parts = pairs.map(([key, value]) => `${quoted(key)}: ${value}`);
  const line = `{${parts.join(", ")}}`;
  return line.length + taken <= widthMax ? [line] : ["{", ...parts.map((part) => `    ${part},`), "}"];
}

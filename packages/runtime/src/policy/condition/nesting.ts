// How deep the brackets of a condition's text are nested, before anybody parses it: the parser's time grows faster than they do.

const openers = "([{";
const closers = ")]}";

/** Texts and comments are passed over as the grammar has them: what stands in them is no nesting, and no way out of it. */
export function nestingOf(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < source.length; at++) {
    const sign = source[at] ?? "";
    if (sign === '"' || sign === "'") at = endOfText(source, at);
    else if (sign === "/" && source[at + 1] === "/") at = endOfLine(source, at);
    else if (openers.includes(sign)) deepest = Math.max(deepest, ++depth);
    else if (closers.includes(sign)) depth = Math.max(0, depth - 1);
  }
  return deepest;
}

/** The place of the last quote; of a text that does not end, the end of the source. */
function endOfText(source: string, from: number): number {
  const quote = source[from] ?? "";
  const raw = /[rR]/.test(source[from - 1] ?? "");
  const triple = source.startsWith(quote.repeat(3), from);
  const closing = triple ? quote.repeat(3) : quote;
  for (let at = from + closing.length; at < source.length; at++) {
    if (!raw && source[at] === "\\") at++;
    else if (source.startsWith(closing, at)) return at + closing.length - 1;
    else if (!triple && (source[at] === "\n" || source[at] === "\r")) return at;
  }
  return source.length;
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end === -1 ? source.length : end;
}

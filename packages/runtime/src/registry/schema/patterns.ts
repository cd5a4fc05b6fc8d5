// Compiles the patterns of schemas for a linear-time engine; they are ECMAScript with the `u` flag, as JSON Schema has it.
import { RE2JS } from "re2js";
import { bounds } from "../bounds.ts";

export interface Pattern {
  test(text: string): boolean;
  /** Instructions of its program: what one character costs at worst. */
  readonly size: number;
}

export type PatternOutcome =
  | { readonly ok: true; readonly pattern: Pattern }
  | { readonly ok: false; readonly message: string };

type Translation = { readonly text: string } | { readonly refused: string };

// RE2 knows only ASCII white space, ECMAScript all of it.
const spaces = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const noSpaces =
  "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const notLineEnd = "[^\\n\\r\\x{2028}\\x{2029}]";

const surrogatePair = /^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/;
const codePoint = /^\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/;
const scriptClass = /^\\([pP])\{(?:Script|sc)=([A-Za-z_]+)\}/;
const otherClass = /^\\[pP]\{[^}]*\}/;

const written = (code: number): string => `\\x{${code.toString(16)}}`;

/** One escape at the start of `rest`: how many characters it takes, and what RE2 calls it. */
function translateEscape(
  rest: string,
  inClass: boolean,
): { readonly length: number; readonly text: string } | { readonly refused: string } {
  const pair = surrogatePair.exec(rest);
  if (pair !== null) {
    const code =
      ((Number.parseInt(pair[1] ?? "", 16) - 0xd800) << 10) + (Number.parseInt(pair[2] ?? "", 16) - 0xdc00) + 0x10000;
    return { length: pair[0].length, text: written(code) };
  }
  const point = codePoint.exec(rest);
  if (point !== null)
    return { length: point[0].length, text: written(Number.parseInt(point[1] ?? point[2] ?? point[3] ?? "", 16)) };
  const script = scriptClass.exec(rest);
  if (script !== null) return { length: script[0].length, text: `\\${script[1]}{${script[2]}}` };
  const other = otherClass.exec(rest);
  if (other !== null) return { length: other[0].length, text: other[0] };
  const letter = rest[1] ?? "";
  if (/[1-9k]/.test(letter)) return { refused: "back-references are not supported: the time they take has no bound" };
  if (letter === "c") return { length: 3, text: written(rest.charCodeAt(2) % 32) };
  if (letter === "0") return { length: 2, text: "\\x00" };
  if (letter === "s") return { length: 2, text: inClass ? spaces : `[${spaces}]` };
  if (letter === "S") return { length: 2, text: inClass ? noSpaces : `[${noSpaces}]` };
  if (letter === "b" && inClass) return { length: 2, text: "\\x08" };
  return { length: 2, text: `\\${letter}` };
}

function translateGroup(
  rest: string,
): { readonly length: number; readonly text: string } | { readonly refused: string } {
  if (/^\(\?(?:[=!]|<[=!])/.test(rest))
    return { refused: "look-ahead and look-behind are not supported: the time they take has no bound" };
  const named = /^\(\?<[^>]*>/.exec(rest);
  if (named !== null) return { length: named[0].length, text: "(" };
  if (rest.startsWith("(?:")) return { length: 3, text: "(?:" };
  return rest.startsWith("(?") ? { refused: "flags inside a pattern are not supported" } : { length: 1, text: "(" };
}

/** ECMAScript (already known to be well-formed) → RE2 syntax with the same meaning. */
function translate(source: string): Translation {
  let text = "";
  let inClass = false;
  for (let at = 0; at < source.length;) {
    const rest = source.slice(at, at + 64);
    const char = source[at] ?? "";
    if (char === "\\" || (char === "(" && !inClass)) {
      const part = char === "\\" ? translateEscape(rest, inClass) : translateGroup(rest);
      if ("refused" in part) return part;
      text += part.text;
      at += part.length;
    } else if (!inClass && (rest.startsWith("[]") || rest.startsWith("[^]"))) {
      const empty = rest.startsWith("[]");
      text += empty ? "[^\\x00-\\x{10ffff}]" : "[\\x00-\\x{10ffff}]";
      at += empty ? 2 : 3;
    } else {
      if (inClass) text += char === "[" ? "\\[" : char;
      else text += char === "." ? notLineEnd : char;
      inClass = inClass ? char !== "]" : char === "[";
      at++;
    }
  }
  return { text };
}

const withoutPrefix = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^error parsing regexp: /, "")
    .replace(/^Invalid regular expression: .*\/u: /, "");

/** Compiles one pattern, or says why not. Matching takes time linear in text × {@link Pattern.size}. */
export function compilePattern(source: string): PatternOutcome {
  if (source.length > bounds.patternCharsMax)
    return { ok: false, message: `is longer than ${bounds.patternCharsMax} characters` };
  try {
    // Only its syntax check is used; this object never sees a text.
    new RegExp(source, "u");
  } catch (error) {
    return { ok: false, message: `is no pattern: ${withoutPrefix(error)}` };
  }
  const translated = translate(source);
  if ("refused" in translated) return { ok: false, message: translated.refused };
  try {
    const engine = RE2JS.compile(translated.text);
    const size = engine.programSize();
    if (size > bounds.patternProgramMax) return { ok: false, message: "is too large: lower its repeat counts" };
    return { ok: true, pattern: { test: (text) => engine.test(text), size } };
  } catch (error) {
    const message = withoutPrefix(error);
    return {
      ok: false,
      message: message.includes("repeat count") ? "repeats more than 1000 times" : `is not supported: ${message}`,
    };
  }
}

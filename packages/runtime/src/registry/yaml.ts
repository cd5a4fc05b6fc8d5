// Parses the text of a manifest: YAML 1.2 (JSON is a part of it) without custom tags, surprises or unbounded work.
import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser, type CST, type Document } from "yaml";
import { limits, parseJson, utf8Bytes } from "@signalbox/protocol";
import { documentBounds } from "../document/bounds.ts";
import { shown, type Problem } from "../document/problems.ts";
import { bounds } from "./bounds.ts";

export interface YamlProblem extends Problem {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

export type ParsedDocument =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly YamlProblem[] };

const strict = {
  version: "1.2",
  schema: "core",
  strict: true,
  stringKeys: true,
  // The library compares every key with every other; a set does the same in one pass, below.
  uniqueKeys: false,
  merge: false,
  resolveKnownTags: false,
  customTags: null,
  intAsBigInt: true,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** Stops the reading; everything that was going to be said has been said. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** One document of plain JSON values. Never throws, whatever the text is. */
export function parseDocument(text: string): ParsedDocument {
  const lines = new LineCounter();
  const problemAt = (offset: number, message: string): YamlProblem => {
    const { line, col } = lines.linePos(offset);
    return { path: "", message, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  try {
    if (text.length > limits.manifestBytesMax || utf8Bytes(text) > limits.manifestBytesMax) {
      throw new Refused(`is larger than ${limits.manifestBytesMax} bytes`, 0);
    }
    const documents = [...new Composer(strict).compose(tokensOf(text, lines), true, text.length)];
    const [document] = documents;
    if (document === undefined) throw new Refused("is empty", 0);
    const problems = [...document.errors, ...document.warnings].slice(0, documentBounds.problemsMax);
    if (problems.length > 0)
      return { ok: false, problems: problems.map(({ pos, message }) => problemAt(pos[0], message)) };
    const more = documents[1];
    if (more !== undefined) throw new Refused("holds more than one document", more.range[0]);
    return { ok: true, value: valueOf(document) };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problems: [problemAt(error.offset, error.message)] };
    return {
      ok: false,
      problems: [
        problemAt(
          0,
          `cannot be read: ${error instanceof Error ? error.message.slice(0, bounds.errorTextCharsMax) : "unknown error"}`,
        ),
      ],
    };
  }
}

/** The concrete syntax, bounded while it is being read: the composer after it recurses. */
function tokensOf(text: string, lines: LineCounter): CST.Token[] {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (++lexemes > bounds.yamlTokensMax) throw new Refused("is too large", parser.offset);
    // The document and a scalar stand on the same stack.
    if (parser.stack.length > bounds.manifestDepthMax + 2)
      throw new Refused(`is nested more than ${bounds.manifestDepthMax} levels deep`, parser.offset);
  }
  tokens.push(...parser.end());
  return tokens;
}

interface Conversion {
  readonly document: Document.Parsed;
  values: number;
  aliases: number;
}

function valueOf(document: Document.Parsed): unknown {
  if (document.contents === null) throw new Refused("is empty", 0);
  return convert({ document, values: 0, aliases: 0 }, document.contents, 1);
}

const offsetOf = (node: unknown): number =>
  typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range) ? Number(node.range[0]) : 0;

/** Aliases can make a small text wide, deep or endless, so depth and values are counted here again. */
function convert(state: Conversion, node: unknown, depth: number): unknown {
  if (++state.values > bounds.manifestValuesMax)
    throw new Refused(`has more than ${bounds.manifestValuesMax} values`, offsetOf(node));
  if (depth > bounds.manifestDepthMax)
    throw new Refused(`is nested more than ${bounds.manifestDepthMax} levels deep`, offsetOf(node));
  if (node === null) return null;
  if (isScalar(node)) return scalarValue(node.value, offsetOf(node));
  if (isSeq(node)) return node.items.map((item) => convert(state, item, depth + 1));
  if (isMap(node)) return convertMap(state, node.items, depth);
  if (!isAlias(node)) throw new Refused("holds something that is no value", offsetOf(node));
  if (++state.aliases > bounds.yamlAliasesMax)
    throw new Refused(`has more than ${bounds.yamlAliasesMax} aliases`, offsetOf(node));
  const target = node.resolve(state.document);
  if (target === undefined) throw new Refused(`*${node.source} has no anchor before it`, offsetOf(node));
  return convert(state, target, depth);
}

function convertMap(
  state: Conversion,
  pairs: readonly { readonly key: unknown; readonly value: unknown }[],
  depth: number,
): unknown {
  const members = new Map<string, unknown>();
  for (const { key, value } of pairs) {
    const name = isScalar(key) ? key.value : key;
    if (typeof name !== "string") throw new Refused(`${shown(name)} is no key`, offsetOf(key));
    if (members.has(name)) throw new Refused(`the key ${shown(name)} stands there twice`, offsetOf(key));
    members.set(name, convert(state, value, depth + 1));
  }
  // fromEntries defines its properties: a key `__proto__` stays a key.
  return Object.fromEntries(members);
}

function scalarValue(value: unknown, offset: number): unknown {
  if (typeof value === "bigint") return exactNumber(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new Refused(`${shown(value)} is not a JSON value`, offset);
}

/** Past 2^53 the digits are kept, as a body in JSON would keep them. */
function exactNumber(value: bigint): unknown {
  const near = Number(value);
  if (Number.isSafeInteger(near)) return near;
  const parsed = parseJson(String(value), { depthMax: 1 });
  return parsed.ok ? parsed.value : near;
}

// Keeps ill-formed text out of everything the runtime stores or sends: replaced by U+FFFD, and said so.
import { BACKSLASH, LOWER_U } from "./char-codes.ts";

const replacement = "\ufffd";
const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /\p{Surrogate}/gu;
/** Before a closer look: a surrogate, raw or as an escape. */
const anySurrogate = /[\ud800-\udfff]|\\u[dD][89a-fA-F]/;

export interface WellFormedText {
  readonly text: string;
  /** True when something was ill-formed and stands as U+FFFD now; a U+FFFD that was sent does not count. */
  readonly replaced: boolean;
}

export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** Replaces every lone surrogate of a string. */
export function wellFormed(text: string): WellFormedText {
  if (isWellFormed(text)) return { text, replaced: false };
  return { text: text.replace(loneSurrogates, replacement), replaced: true };
}

/**
 * Decodes one whole text (not a chunk that may end inside a character). A byte order mark is kept: dropping it would
 * change what a tool wrote.
 */
export function decodeUtf8(bytes: Uint8Array): WellFormedText {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), replaced: false };
  } catch {
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), replaced: true };
  }
}

/** Bytes of the text in UTF-8; a lone surrogate counts as the three of U+FFFD. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes += 1;
    else if (isHigh(code) && isLow(text.charCodeAt(i + 1))) {
      bytes += 2; // four bytes for two units
      i++;
    } else bytes += 2;
  }
  return bytes;
}

/**
 * Replaces lone surrogates in JSON text, raw ones and escaped ones (`"\ud800"`); valid pairs, escaped backslashes and
 * all other bytes of the text stay. A pair of one raw and one escaped half counts as two lone ones.
 */
export function wellFormedJson(text: string): WellFormedText {
  if (!anySurrogate.test(text)) return { text, replaced: false };
  const raw = wellFormed(text);
  const source = raw.text;
  let result = "";
  let copied = 0;
  for (let i = source.indexOf("\\"); i !== -1; i = source.indexOf("\\", i)) {
    const code = escapedUnit(source, i);
    if (code === undefined) {
      i += 2; // an escape of another kind, perhaps of a backslash
    } else if (isHigh(code) && isLow(escapedUnit(source, i + 6) ?? 0)) {
      i += 12;
    } else {
      if (isHigh(code) || isLow(code)) {
        result += `${source.slice(copied, i)}\\ufffd`;
        copied = i + 6;
      }
      i += 6;
    }
  }
  if (copied === 0) return raw;
  return { text: result + source.slice(copied), replaced: true };
}

/** The UTF-16 unit of an escape (`\u` and four hex digits) whose backslash stands at `at`. */
function escapedUnit(text: string, at: number): number | undefined {
  if (text.charCodeAt(at) !== BACKSLASH || text.charCodeAt(at + 1) !== LOWER_U) return undefined;
  const hex = text.slice(at + 2, at + 6);
  return /^[0-9a-fA-F]{4}$/.test(hex) ? Number.parseInt(hex, 16) : undefined;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

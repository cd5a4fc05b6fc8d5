// Finds the key that stands twice in one object of a JSON text; for the message, since parsers keep one of them and say nothing.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./char-codes.ts";

interface Level {
  /** Null in a list. */
  readonly keys: Set<string> | null;
  key: string;
  index: number;
}

/**
 * @param text well-formed JSON
 * @returns the path of the first key that its object has already; empty when there is none
 */
export function findDuplicateKey(text: string): readonly (string | number)[] {
  const levels: Level[] = [];
  let string = "";
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const level = levels.at(-1);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      string = text.slice(at, end);
      at = end - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      levels.push({ keys: code === OPEN_BRACE ? new Set() : null, key: "", index: 0 });
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      levels.pop();
    } else if (code === COMMA && level !== undefined) {
      level.index++;
    } else if (code === COLON && level?.keys) {
      // The same key may be written with escapes and without.
      level.key = JSON.parse(string) as string;
      if (level.keys.has(level.key)) return levels.map(({ keys, key, index }) => (keys === null ? index : key));
      level.keys.add(level.key);
    }
  }
  return [];
}

/** Index behind the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++;
  return at + 1;
}

// Cuts a JSON text that is too long so that what is left is still JSON.
import { utf8Bytes, wellFormed } from "./well-formed.ts";

/** Room for the envelope itself and a size of 16 digits. */
export const cutJsonBytesMin = 64;

/**
 * The text itself when it has at most `bytesMax` bytes in UTF-8, else
 * `{"truncated":true,"bytes":<bytes of the whole>,"prefix":"<as much of its start as fits>"}`, of at most `bytesMax`
 * bytes. The prefix ends between characters; lone surrogates in it are U+FFFD.
 * @throws RangeError when `bytesMax` is under {@link cutJsonBytesMin}
 */
export function cutJson(text: string, bytesMax: number): string {
  if (!(bytesMax >= cutJsonBytesMin)) throw new RangeError(`bytesMax must be at least ${cutJsonBytesMin}`);
  const bytes = utf8Bytes(text);
  if (bytes <= bytesMax) return text;
  const head = `{"truncated":true,"bytes":${bytes},"prefix":"`;
  const tail = `"}`;
  // A character takes a byte or more once written, so the prefix cannot be longer than this; one more unit, so
  // that a pair at the edge is not taken for a lone surrogate.
  const { text: start } = wellFormed(text.slice(0, bytesMax + 1));
  let room = bytesMax - head.length - tail.length;
  let end = 0;
  for (const character of start) {
    room -= writtenBytes(character);
    if (room < 0) break;
    end += character.length;
  }
  return head + JSON.stringify(start.slice(0, end)).slice(1, -1) + tail;
}

/** Bytes that one character takes inside a JSON string. */
function writtenBytes(character: string): number {
  if (character === '"' || character === "\\") return 2;
  if (character < " ") return "\b\f\n\r\t".includes(character) ? 2 : 6;
  return utf8Bytes(character);
}

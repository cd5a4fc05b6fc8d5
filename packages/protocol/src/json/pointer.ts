// Names a place inside a JSON value, as an RFC 6901 pointer.
import { wellFormed } from "./well-formed.ts";

/** Longest pointer given out: a pointer stands in error messages, and keys can be as long as the body. */
const pointerCharsMax = 512;

/**
 * The pointer to `path`; "" is the whole value. Where it would be too long, the pointer of the closest container
 * that can be named, so that what is given out is always a valid pointer.
 */
export function jsonPointer(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const step of path) {
    const escaped = `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (pointer.length + escaped.length > pointerCharsMax) break;
    pointer += escaped;
  }
  return wellFormed(pointer).text;
}

/** The same for sentences: `the top level`, or the pointer. */
export function placeInWords(path: readonly (string | number)[]): string {
  return jsonPointer(path) || "the top level";
}

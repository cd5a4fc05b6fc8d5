// The checks that every field of a Work frame passes before anybody believes it.
import { isCallId } from "./ids.ts";
import { decodeUtf8, utf8Bytes } from "./json/well-formed.ts";
import { limits } from "./limits.ts";
import type { Lease } from "./work.ts";

/** Never leaves the codec: decoding turns it into a malformed message. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

export function refuse(reason: string): never {
  throw new FrameError(reason);
}

export function fenceOf(value: bigint): number {
  // Past 2^53 two fences could become one number, and an old lease could pass for the current one.
  if (value < 1n || value > BigInt(Number.MAX_SAFE_INTEGER)) refuse("fence is not between 1 and 2^53 - 1");
  return Number(value);
}

export function leaseOf(message: { readonly callId: string; readonly fence: bigint }): Lease {
  if (!isCallId(message.callId)) refuse("call_id is missing or is no call id");
  return { callId: message.callId, fence: fenceOf(message.fence) };
}

/** A name that must be there. */
export function nameOf(what: string, text: string, charsMax: number = limits.nameCharsMax): string {
  if (text.length === 0) refuse(`${what} is missing`);
  return nameOrEmpty(what, text, charsMax);
}

export function nameOrEmpty(what: string, text: string, charsMax: number = limits.nameCharsMax): string {
  if (text.length > charsMax) refuse(`${what} is longer than ${charsMax} characters`);
  return text;
}

export function integerOf(what: string, value: number | bigint, min: number, max: number): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < min || number > max) refuse(`${what} is not between ${min} and ${max}`);
  return number;
}

export function decimalOf(what: string, value: number, max: number): number {
  if (!(value >= 0 && value <= max)) refuse(`${what} is not between 0 and ${max}`); // NaN fails both
  return value;
}

export function bounded<T>(what: string, items: readonly T[], itemsMax: number): readonly T[] {
  if (items.length > itemsMax) refuse(`${what} has more than ${itemsMax} entries`);
  return items;
}

export function bytesOf(what: string, bytes: Uint8Array, bytesMax: number): Uint8Array {
  if (bytes.length > bytesMax) refuse(`${what} has ${bytes.length} bytes, more than ${bytesMax}`);
  return bytes;
}

/** Text that is counted as it travels. */
export function checkTextBytes(what: string, text: string, bytesMax: number): void {
  const bytes = utf8Bytes(text);
  if (bytes > bytesMax) refuse(`${what} has ${bytes} bytes, more than ${bytesMax}`);
}

/** JSON text; whether it is JSON is the business of whoever parses it. */
export function jsonOf(what: string, bytes: Uint8Array, bytesMax: number): { text: string; replaced: boolean } {
  if (bytes.length === 0) refuse(`${what} is missing`);
  return decodeUtf8(bytesOf(what, bytes, bytesMax));
}

/** The word that stands for an enum's number; the table leaves out 0, which means "not set". */
export function wordOf<T extends string>(what: string, numbers: Readonly<Record<T, number>>, value: number): T {
  for (const word in numbers) if (numbers[word] === value) return word;
  return refuse(`${what} has the unknown value ${value}`);
}

/** A copy in which every key is data, `__proto__` included. */
export function recordOf(
  what: string,
  entries: Readonly<Record<string, string>>,
  entriesMax: number,
  checkValue: (what: string, text: string) => void,
): Readonly<Record<string, string>> {
  const pairs = bounded(what, Object.entries(entries), entriesMax);
  for (const [key, value] of pairs) {
    nameOf(`a key of ${what}`, key);
    checkValue(`a value of ${what}`, value);
  }
  return Object.fromEntries(pairs);
}

/** Text for people loses its tail rather than its message; a cut never leaves half a surrogate pair. */
export function cutText(text: string, charsMax: number = limits.errorMessageCharsMax): string {
  if (text.length <= charsMax) return text;
  const last = text.charCodeAt(charsMax - 2);
  const end = last >= 0xd800 && last <= 0xdbff ? charsMax - 2 : charsMax - 1;
  return `${text.slice(0, end)}…`;
}

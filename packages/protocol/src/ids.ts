// Names of calls and other things: made from time and chance that are handed in.

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 128 bits as 26 upper-case Crockford base32 characters (the first two bits are zero padding). */
export function crockford128(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new RangeError("crockford128 takes 16 bytes");
  let value = 0;
  let bits = 2; // 26 × 5 = 130 bits, so two leading zero bits
  let text = "";
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

/**
 * A UUIDv7 (RFC 9562) as 26 Crockford characters: sorts by time.
 * @param nowMs wall clock, ms since 1970
 * @param random 10 random bytes
 */
export function uuid7Text(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  let rest = nowMs;
  for (let i = 5; i >= 0; i--) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return crockford128(bytes);
}

export type IdPrefix = "exec" | "req" | "key" | "grant" | "apr" | "box" | "dec" | "wrk" | "inc" | "whk" | "sess" | "agv";

/** `exec_…`, `req_…` and the like. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  return `${prefix}_${uuid7Text(nowMs, random)}`;
}

/** The id of a call that a session makes; equal inputs always give the equal id. Turn and step count from 1, index from 0. */
export function sessionCallId(
  sessionId: string,
  agentVersionId: string,
  turn: number,
  step: number,
  index: number,
): string {
  if (sessionId.includes(":") || agentVersionId.includes(":")) throw new RangeError("ids contain no ':'");
  return `${sessionId}:${agentVersionId}:t${turn}.${step}:${index}`;
}

export const callIdCharsMax = 256;
const callIdPattern = /^[A-Za-z0-9_.:-]{1,256}$/;

export function isCallId(text: string): boolean {
  return callIdPattern.test(text);
}

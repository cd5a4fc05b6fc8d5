// One text per JSON value (RFC 8785), for fingerprints and hashes.
import canonicalize from "canonicalize";
import { holdsExactNumber, isRawNumber } from "./exact-number.ts";

/**
 * Canonical JSON text of plain data, nested at most as deep as `parseJson` allows. Numbers are doubles as RFC 8785 has it, except that bigints and raw numbers stand there with
 * their own digits: the RFC would make 9007199254740993 and 9007199254740992 the same text, and two different calls
 * the same call. Never throws for what `parseJson` returned.
 * @throws Error or TypeError for what is no JSON value: NaN, infinities, lone surrogates, functions, cycles, undefined
 */
export function canonicalJson(value: unknown): string {
  const text = holdsExactNumber(value) ? write(value) : canonicalize(value);
  if (text === undefined) throw new TypeError("the value has no JSON form");
  return text;
}

/** The library knows no exact numbers, so their containers are written here, and all other parts by the library. */
function write(value: unknown): string | undefined {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return canonicalize(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? "null").join(",")}]`;
  const members: string[] = [];
  // The default order of sort() is by UTF-16 unit, which is the order that RFC 8785 asks for.
  for (const key of Object.keys(value).sort()) {
    const written = write((value as Readonly<Record<string, unknown>>)[key]);
    if (written !== undefined) members.push(`${canonicalize(key)}:${written}`);
  }
  return `{${members.join(",")}}`;
}

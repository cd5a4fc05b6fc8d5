// Hashes against published vectors, and chance that neither repeats itself nor keeps what it gave out.
import { expect, test } from "vitest";
import { base64url, sha256, systemChance } from "./crypto.ts";

test.each([
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  ["ä", "33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc"],
])("sha256 of %j, as UTF-8", (text, expected) => {
  expect(sha256(text)).toBe(expected);
});

test("bytes are as many as asked for, from the pool and beside it", () => {
  const chance = systemChance();
  for (const count of [0, 1, 10, 16, 64, 65, 4_096, 5_000]) expect(chance.bytes(count)).toHaveLength(count);
});

test("ten thousand ids, over many fillings of the pool, are all different", () => {
  const chance = systemChance();
  const seen = new Set(Array.from({ length: 10_000 }, () => base64url(chance.bytes(10))));
  expect(seen.size).toBe(10_000);
});

test("what was handed out is the taker's: a change to it reaches nobody else", () => {
  const chance = systemChance();
  const first = chance.bytes(16);
  const copy = [...first];
  chance.bytes(16).fill(0);
  expect([...first]).toEqual(copy);
  expect(first.buffer.byteLength).toBe(16);
});

test("base64url has no padding and no characters that a URL minds", () => {
  expect(base64url(Uint8Array.of(0xfb, 0xef, 0xff))).toBe("--__");
  expect(base64url(Uint8Array.of(1))).toBe("AQ");
});

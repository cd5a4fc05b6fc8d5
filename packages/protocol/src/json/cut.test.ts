// Proves that a cut result is valid JSON, within its limit, and wastes none of it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { cutJson } from "./cut.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

test("a text within the limit stays as it is", () => {
  const text = JSON.stringify({ a: "x".repeat(92) });
  expect(bytesOf(text)).toBe(100);
  expect(cutJson(text, 100)).toBe(text);
});

test("a longer one becomes an envelope with its size and its start", () => {
  const text = `{"rows":[${"1234567,".repeat(1_000)}0]}`;
  expect(cutJson(text, 64)).toBe(String.raw`{"truncated":true,"bytes":8012,"prefix":"{\"rows\":[1234567,12"}`);
});

test("no character is cut in half", () => {
  const cut = cutJson(`"${"😀".repeat(100)}"`, 64);
  expect(cut).toBe(`{"truncated":true,"bytes":402,"prefix":"\\"${"😀".repeat(5)}"}`);
  expect(bytesOf(cut)).toBe(64);
});

test("a limit too small for any envelope is a mistake of ours", () => {
  expect(() => cutJson("1", 63)).toThrow(RangeError);
  expect(() => cutJson("1", Number.NaN)).toThrow(RangeError);
});

test("whatever the text: valid, within the limit, and filled to the last character that fits", () => {
  const unit = fc.oneof(
    fc.constantFrom('"', "\\", "\n", "\u0001", "\u007f", "\u2028", "é", "😀", "\ud800", "\udc00", "a"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  fc.assert(
    fc.property(
      fc.array(unit, { minLength: 60, maxLength: 300 }),
      fc.integer({ min: 64, max: 200 }),
      (units, bytesMax) => {
        const text = units.join("");
        const cut = cutJson(text, bytesMax);
        if (bytesOf(text) <= bytesMax) {
          expect(cut).toBe(text);
          return;
        }
        const envelope = JSON.parse(cut) as { truncated: boolean; bytes: number; prefix: string };
        expect(bytesOf(cut)).toBeLessThanOrEqual(bytesMax);
        expect(bytesOf(cut)).toBeGreaterThan(bytesMax - 6);
        expect(envelope.truncated).toBe(true);
        expect(envelope.bytes).toBe(bytesOf(text));
        expect(text.replace(/\p{Surrogate}/gu, "\ufffd").startsWith(envelope.prefix)).toBe(true);
        expect(/\p{Surrogate}/u.test(cut)).toBe(false);
      },
    ),
    { numRuns: 1_000 },
  );
});

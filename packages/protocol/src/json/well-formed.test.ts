// Proves that ill-formed text is replaced and flagged wherever it hides, and that good text stays as it was.
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, isWellFormed, utf8Bytes, wellFormed, wellFormedJson } from "./well-formed.ts";

test.each([
  ["plain é 😀", "plain é 😀", false],
  ["sent \ufffd itself", "sent \ufffd itself", false],
  ["a\ud800b", "a\ufffdb", true],
  ["\udc00", "\ufffd", true],
  ["\ud83d😀\ude00", "\ufffd😀\ufffd", true],
])("wellFormed(%j)", (text, expected, replaced) => {
  expect(wellFormed(text)).toEqual({ text: expected, replaced });
  expect(isWellFormed(text)).toBe(!replaced);
});

test.each([
  [[0x68, 0x69], "hi", false],
  [[], "", false],
  [[0xef, 0xbf, 0xbd], "\ufffd", false],
  [[0xf0, 0x9f, 0x98, 0x80], "😀", false],
  [[0x61, 0xed, 0xa0, 0x80, 0x62], "a\ufffd\ufffd\ufffdb", true],
  [[0xff], "\ufffd", true],
  [[0x61, 0xc3], "a\ufffd", true],
  [[0xef, 0xbb, 0xbf, 0x61], "\ufeffa", false],
])("decodeUtf8(%j)", (bytes, text, replaced) => {
  expect(decodeUtf8(Uint8Array.from(bytes))).toEqual({ text, replaced });
});

test.each([
  ['{"a":"plain"}', '{"a":"plain"}', false],
  ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"', false],
  ['"\\uD83D\\uDE00"', '"\\uD83D\\uDE00"', false],
  ['"\\ud800"', '"\\ufffd"', true],
  ['"\\udc00\\ud800"', '"\\ufffd\\ufffd"', true],
  ['{"\\uD800k":"v"}', '{"\\ufffdk":"v"}', true],
  ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"', true],
  ['"\\\\ud800"', '"\\\\ud800"', false],
  ['"\\\\\\ud800"', '"\\\\\\ufffd"', true],
  ['"\\ud83dx\\ude00"', '"\\ufffdx\\ufffd"', true],
  ['"raw \ud800"', '"raw \ufffd"', true],
  ['"half \ud83d\\ude00"', '"half \ufffd\\ufffd"', true],
  ['["😀\\n","\\ufffd"]', '["😀\\n","\\ufffd"]', false],
  ['"\\ud8', '"\\ud8', false],
])("wellFormedJson(%j)", (text, expected, replaced) => {
  expect(wellFormedJson(text)).toEqual({ text: expected, replaced });
});

const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7fe, max: 0xe001 })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));

test("a JSON text made well-formed holds the well-formed value, and is flagged exactly when it changed", () => {
  fc.assert(
    fc.property(anyText, anyText, (key, text) => {
      const source = JSON.stringify({ [`k${key}`]: [text] });
      const result = wellFormedJson(source);
      expect(JSON.parse(result.text)).toEqual({ [wellFormed(`k${key}`).text]: [wellFormed(text).text] });
      expect(result.replaced).toBe(result.text !== source);
      expect(wellFormedJson(result.text)).toEqual({ text: result.text, replaced: false });
    }),
    { numRuns: 2_000 },
  );
});

test("utf8Bytes counts what an encoder makes", () => {
  expect([utf8Bytes(""), utf8Bytes("aé€😀"), utf8Bytes("\ud800"), utf8Bytes("\udc00\ud83d")]).toEqual([0, 10, 3, 6]);
  fc.assert(
    fc.property(anyText, (text) => {
      expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});

// The source text of one member, as it was written.
import fc from "fast-check";
import { expect, test } from "vitest";
import { memberText } from "./json-text.ts";

test.each([
  [`{"output":12345678901234567890}`, "12345678901234567890"],
  [` { "a" : [1, {"output": 2}] , "output" : 1.0 } `, "1.0"],
  [`{"output":{"a":"}\\"]","b":[[]]},"z":1}`, `{"a":"}\\"]","b":[[]]}`],
  [`{"output":"a\\\\","x":"output"}`, `"a\\\\"`],
  [`{"out\\u0070ut":null}`, "null"],
  [`{"output":1,"output":2}`, "2"],
])("%s", (json, expected) => {
  expect(memberText(json, "output")).toBe(expected);
});

test.each([`{}`, `[{"output":1}]`, `"output"`, `{"a":{"output":1}}`, ``])("%s has none", (json) => {
  expect(memberText(json, "output")).toBeUndefined();
});

test("reads back what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (record, indent) => {
      const json = JSON.stringify(record, null, indent);
      for (const [name, value] of Object.entries(JSON.parse(json) as object)) {
        expect(JSON.parse(memberText(json, name) ?? "none")).toEqual(value);
      }
    }),
  );
});

test("ends on text that is no JSON", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "\\", "a", " ") }), (text) => {
      try {
        memberText(text, "a");
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
      }
    }),
  );
});

// Proves the canonical text against RFC 8785's own examples, and that long numbers stay apart.
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "./canonical.ts";
import { parseJson } from "./parse.ts";

function canonicalOf(text: string): string {
  const parsed = parseJson(text, { depthMax: 64, protoKeys: "keep" });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return canonicalJson(parsed.value);
}

test("the example of RFC 8785, section 3.2.2", () => {
  const sent = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  const expected = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
  expect(canonicalJson(JSON.parse(sent))).toBe(expected);
});

test("keys are sorted by UTF-16 unit (section 3.2.3)", () => {
  const sent = String.raw`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`;
  const expected = '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}';
  expect(canonicalOf(sent)).toBe(expected);
  // The same order where a long number makes our own writer run.
  expect(canonicalOf(sent.replace(":3,", ":9007199254740993,"))).toBe(expected.replace(":3}", ":9007199254740993}"));
});

test.each([
  [0, "0"],
  [-0, "0"],
  [5e-324, "5e-324"],
  [-1.7976931348623157e308, "-1.7976931348623157e+308"],
  [9007199254740992, "9007199254740992"],
  [295147905179352830000, "295147905179352830000"],
  [9.999999999999997e22, "9.999999999999997e+22"],
  [1e23, "1e+23"],
  [1e21, "1e+21"],
  [999999999999999900000, "999999999999999900000"],
  [0.000001, "0.000001"],
  [9.999999999999997e-7, "9.999999999999997e-7"],
  [333333333.3333332, "333333333.3333332"],
])("the double %s is written as in appendix B", (number, text) => {
  expect(canonicalJson(number)).toBe(text);
  expect(canonicalJson([2n ** 64n, number])).toBe(`[18446744073709551616,${text}]`);
});

test("one double, different digits: different texts", () => {
  expect(canonicalOf('{"b":1,"a":9007199254740993}')).toBe('{"a":9007199254740993,"b":1}');
  expect(canonicalOf('{"b":1,"a":9007199254740992}')).toBe('{"a":9007199254740992,"b":1}');
  expect(canonicalOf("1e400")).toBe("1e400");
});

test("a bigint and the same digits in a request are the same text", () => {
  expect(canonicalJson({ z: [9007199254740993n], a: "x" })).toBe(canonicalOf('{"a":"x","z":[9007199254740993]}'));
  expect(canonicalJson(5n)).toBe("5");
});

test("neither data nor strings can pass for a long number", () => {
  expect(canonicalOf('{"rawJSON":"9007199254740993"}')).toBe('{"rawJSON":"9007199254740993"}');
  expect(canonicalOf('["9007199254740993",9007199254740993]')).toBe('["9007199254740993",9007199254740993]');
});

test("a kept __proto__ key counts", () => {
  expect(canonicalOf('{"z":1,"__proto__":{"x":1}}')).toBe('{"__proto__":{"x":1},"z":1}');
  expect(canonicalOf('{"z":1,"__proto__":9007199254740993}')).toBe('{"__proto__":9007199254740993,"z":1}');
});

test("absent members and items as in JSON.stringify, on both ways", () => {
  expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
  expect(canonicalJson({ a: undefined, b: [undefined, 1n] })).toBe('{"b":[null,1]}');
});

test.each([undefined, Number.NaN, [Infinity], "\ud800", [1n, "\ud800"], { "\ud800": 1n }])(
  "no JSON value, no text (%#)",
  (value) => {
    expect(() => canonicalJson(value)).toThrow();
  },
);

test("white space, key order and spelling of a number do not matter; everything else does", () => {
  expect(canonicalOf(' {"b":[1.0,1e2],"a":"\\u0041"}')).toBe('{"a":"A","b":[1,100]}');
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), fc.jsonValue({ stringUnit: "binary" }), (one, other) => {
      const same = canonicalJson(one) === canonicalJson(other);
      expect(JSON.parse(canonicalJson(one))).toEqual(JSON.parse(JSON.stringify(one)));
      if (same) expect(JSON.parse(JSON.stringify(one))).toEqual(JSON.parse(JSON.stringify(other)));
    }),
  );
});

test("our writer and the library write the same", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      expect(canonicalJson({ v: value, w: 2n ** 70n })).toBe(
        `{"v":${canonicalJson(value)},"w":1180591620717411303424}`,
      );
    }),
    { numRuns: 1_000 },
  );
});

// Proves that the SDKs' JSON keeps big integers, never takes a string for a number, and drops nothing in silence.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseWithBigInts, stringifyWithBigInts } from "./bigint.ts";

test.each([
  ["9007199254740991", 9007199254740991],
  ["-9007199254740991", -9007199254740991],
  ["9007199254740992", 9007199254740992n],
  ["-9007199254740993", -9007199254740993n],
  ["123456789012345678901234567890", 123456789012345678901234567890n],
  ["1000000000000000", 1000000000000000],
  ["12345678901234567890.5", 12345678901234567000],
  ["1e20", 100000000000000000000],
  ["1e400", Infinity],
  ["-0", -0],
])("%s is read as %s", (text, value) => {
  expect(parseWithBigInts(text)).toBe(value);
  expect(parseWithBigInts(` [ ${text} , 1 ] `)).toEqual([value, 1]);
  expect(parseWithBigInts(`{ "k" : ${text} }`)).toEqual({ k: value });
});

test("strings stay strings, whatever they look like", () => {
  const text = String.raw`{"i9007199254740993":"i9007199254740993","s":"sx","":"","q":"\"i5\"","e":"\\","n":9007199254740993,"u":"i5","9007199254740993":["9007199254740993"]}`;
  expect(parseWithBigInts(text)).toEqual({
    i9007199254740993: "i9007199254740993",
    s: "sx",
    "": "",
    q: '"i5"',
    e: "\\",
    n: 9007199254740993n,
    u: "i5",
    "9007199254740993": ["9007199254740993"],
  });
});

test("a __proto__ key is data", () => {
  const value = parseWithBigInts('{"__proto__":{"x":9007199254740993}}') as Record<string, unknown>;
  expect(Object.keys(value)).toEqual(["__proto__"]);
  expect(value["x"]).toBeUndefined();
});

test("what it refuses it refuses in its own words", () => {
  expect(() => parseWithBigInts('{"password":"hunter2",}')).toThrow(
    new SyntaxError("malformed JSON at line 1, column 23: expected a key in double quotes"),
  );
  expect(() => parseWithBigInts("")).toThrow(SyntaxError);
  expect(() => parseWithBigInts("[".repeat(100_000))).toThrow(RangeError);
  expect(() => parseWithBigInts(`[-${"7".repeat(4_301)}]`)).toThrow(
    new RangeError("an integer at offset 1 has over 4300 digits: send it as a string"),
  );
  expect(parseWithBigInts(`-${"7".repeat(4_300)}`)).toBe(BigInt(`-${"7".repeat(4_300)}`));
});

test("it writes what JSON.stringify writes, and bigints as digits", () => {
  const date = new Date(Date.UTC(2026, 0, 2, 3, 4, 5));
  const value = {
    a: [1n, -12345678901234567890n, undefined, null],
    b: undefined,
    c: { d: date, e: 'é\n"\ud800' },
    f: -0,
  };
  expect(stringifyWithBigInts(value)).toBe(
    '{"a":[1,-12345678901234567890,null,null],"c":{"d":"2026-01-02T03:04:05.000Z","e":"é\\n\\"\\ud800"},"f":0}',
  );
  expect(stringifyWithBigInts(undefined)).toBe("null");
  expect(stringifyWithBigInts(null)).toBe("null");
  expect(stringifyWithBigInts([Object("s"), Object(1), Object(true), Object(5n)])).toBe('["s",1,true,5]');
  expect(stringifyWithBigInts({ toJSON: () => ({ n: 9007199254740993n }) })).toBe('{"n":9007199254740993}');
  expect(stringifyWithBigInts({ toJSON: () => undefined })).toBe("null");
  // oxlint-disable-next-line no-sparse-arrays
  expect(stringifyWithBigInts([1, , 2])).toBe("[1,null,2]");
});

test("toJSON is told the key, as JSON.stringify does", () => {
  const echo = { toJSON: (key: string) => key };
  expect(stringifyWithBigInts({ a: echo, b: [echo] })).toBe('{"a":"a","b":["0"]}');
  expect(stringifyWithBigInts(echo)).toBe('""');
});

const cycle: Record<string, unknown> = { a: { b: [] } };
(cycle["a"] as { b: unknown[] }).b.push(cycle);

test.each([
  [cycle, "a reference to an object that contains it has no JSON form, at /a/b/0: break the cycle"],
  [{ a: [() => 1] }, "a function has no JSON form, at /a/0: leave it out"],
  [Symbol("x"), "a symbol has no JSON form, at the top level: leave it out"],
  [{ "a/b": NaN }, "NaN has no JSON form, at /a~1b: send null or a string"],
  [[-Infinity], "-Infinity has no JSON form, at /0: send null or a string"],
  [{ m: new Map([["k", 1]]) }, "a Map has no JSON form, at /m: turn it into an object or an array"],
  [new Set([1]), "a Set has no JSON form, at the top level: turn it into an object or an array"],
])("it refuses what JSON.stringify would falsify (%#)", (value, message) => {
  expect(() => stringifyWithBigInts(value)).toThrow(new TypeError(message));
});

test("endless nesting is an error, not a crash", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  expect(() => stringifyWithBigInts(deep)).toThrow(TypeError);
});

test("the same object twice is no cycle", () => {
  const shared = { x: 1n };
  expect(stringifyWithBigInts([shared, shared])).toBe('[{"x":1},{"x":1}]');
});

test("every JSON value is written as JSON.stringify does and read back as it was", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const text = JSON.stringify(value);
      expect(stringifyWithBigInts(value)).toBe(text);
      // With a long number beside it, so that the rewriting runs. A string taken for a number would lose its quotes.
      const beside = `[9007199254740993,${text}]`;
      expect(stringifyWithBigInts(parseWithBigInts(beside))).toBe(beside);
    }),
    { numRuns: 1_000 },
  );
});

test("integers of any size come back", () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n })), (integers) => {
      const back = parseWithBigInts(stringifyWithBigInts({ integers })) as { integers: (bigint | number)[] };
      expect(back.integers.map((integer) => integer.toString())).toEqual(integers.map((integer) => integer.toString()));
      for (const integer of back.integers) {
        expect(typeof integer).toBe(
          BigInt(integer) >= -(2n ** 53n) + 1n && BigInt(integer) <= 2n ** 53n - 1n ? "number" : "bigint",
        );
      }
    }),
  );
});

// What is hashed of an envelope, and where two of them differ.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claimExpiry } from "./decide.ts";
import { differingPaths, sealed } from "./envelope.ts";
import type { EffectEnvelope } from "./types.ts";

const envelope: EffectEnvelope = { scope: { tenant: "acme", sessionId: "sess_1", turn: 1, step: 2 }, kind: "k", subject: "s", cause: "t1.e1", key: "t1.e2", payload: { b: 1, a: [] } };
const text = '{"cause":"t1.e1","key":"t1.e2","kind":"k","payload":{"a":[],"b":1},"scope":{"sessionId":"sess_1","step":2,"tenant":"acme","turn":1},"subject":"s"}';
const upper = (one: string): string => one.toUpperCase();

test("the canonical text without what is volatile is hashed, in whatever order it was written", () => {
  expect(sealed(envelope, upper)).toEqual({ envelopeJson: text, hash: text.toUpperCase() });
  const { scope, ...rest } = envelope;
  expect(sealed({ volatile: { attempt: 9 }, ...rest, scope: { step: 2, turn: 1, sessionId: "sess_1", tenant: "acme" }, payload: { a: [], b: 1 } }, upper).envelopeJson).toBe(text);
  // What somebody put beside the scope's own names is not of the effect.
  expect(sealed({ ...envelope, scope: Object.assign({ trace: "x" }, scope) }, upper).envelopeJson).toBe(text);
});

test("a payload that is no JSON value is a failure of the machinery", () => {
  for (const payload of [undefined, Number.NaN, () => 1, { a: "\ud800" }]) {
    expect(() => sealed({ ...envelope, payload }, upper)).toThrow(expect.objectContaining({ code: "effect_unserializable", key: "t1.e2" }));
  }
});

describe("where two differ", () => {
  test.each<[string, unknown, unknown, readonly string[]]>([
    ["nowhere", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ["one value", { a: 1, b: 2 }, { a: 1, b: 3 }, ["/b"]],
    ["deep inside", { a: { b: [0, { c: 1 }] } }, { a: { b: [0, { c: 2 }] } }, ["/a/b/1/c"]],
    ["one is missing, one is new", { a: 1, c: 1 }, { b: 1, c: 1 }, ["/a", "/b"]],
    ["null is not missing", { a: null }, {}, ["/a"]],
    ["a longer list", { a: [1] }, { a: [1, 2] }, ["/a/1"]],
    ["a list is no object", { a: [1] }, { a: { "0": 1 } }, ["/a"]],
    ["a text is no number", { a: 1 }, { a: "1" }, ["/a"]],
    ["the whole", 1, 2, [""]],
    ["names with strokes", { "a/b~": 1 }, { "a/b~": 2 }, ["/a~1b~0"]],
    ["prototype names are names", { toString: 1 }, {}, ["/toString"]],
  ])("%s", (_, one, other, paths) => {
    expect(differingPaths(JSON.stringify(one), JSON.stringify(other))).toEqual(paths);
  });

  test("digits that a double would lose", () => {
    expect(differingPaths('{"a":9007199254740993,"b":9007199254740993}', '{"a":9007199254740992,"b":9007199254740993}')).toEqual(["/a"]);
  });

  test("the first twenty, and a text that cannot be read as a whole", () => {
    const many = (value: number): string => JSON.stringify(Array.from({ length: 50 }, () => value));
    const first = ["/0", "/1", "/10", "/11", "/12", "/13", "/14", "/15", "/16", "/17", "/18", "/19", "/2", "/20", "/21", "/22", "/23", "/24", "/25", "/26"];
    expect(differingPaths(many(1), many(2))).toEqual(first);
    expect(differingPaths("{", "{}")).toEqual([""]);
  });

  test("any two values: none exactly when the values are equal, and the same seen from either side", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (one, other) => {
        const [a, b] = [JSON.stringify(one), JSON.stringify(other)];
        expect(differingPaths(a, a)).toEqual([]);
        expect(differingPaths(a, b)).toEqual(differingPaths(b, a));
      }),
    );
  });
});

test("a claim never runs out at a time that no number holds", () => {
  expect(claimExpiry(1_000, 300)).toBe(1_300);
  expect(claimExpiry(Number.MAX_SAFE_INTEGER - 1, 300)).toBe(Number.MAX_SAFE_INTEGER);
  expect(claimExpiry(1_000, Infinity)).toBe(Number.MAX_SAFE_INTEGER);
});

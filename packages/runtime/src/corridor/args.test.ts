// What runs, and the hash that people vote on: the same arguments have the same hash however they are written, digits and all.
import { expect, test } from "vitest";
import { sha256 } from "../adapters/system/crypto.ts";
import { argsOf, hashedArgs, readArgs } from "./args.ts";

test.each([
  ["a person's arguments go first", { effectiveArgsJson: '{"a":2}', inputJson: '{"a":1}' }, '{"a":2}'],
  ["then those that were sent", { effectiveArgsJson: null, inputJson: '{"a":1}' }, '{"a":1}'],
  ["a denied row has kept none", { effectiveArgsJson: null, inputJson: null }, "null"],
])("%s", (_, call, expected) => {
  expect(argsOf(call)).toBe(expected);
});

test("the hash is of the canonical form: order and blanks do not matter, and the text stays as it was written", () => {
  const written = hashedArgs((text) => `hash of ${text}`, '{ "b": 1.50, "a": [true, null] }');
  expect(written).toEqual({ argsJson: '{ "b": 1.50, "a": [true, null] }', argsHash: 'hash of {"a":[true,null],"b":1.5}' });
  expect(hashedArgs(sha256, '{"b":1.5,"a":[true,null]}').argsHash).toBe(hashedArgs(sha256, '{ "a":[true,null], "b": 15e-1 }').argsHash);
});

test("numbers that differ beyond a double have different hashes", () => {
  const [one, other] = ["9007199254740993", "9007199254740992"].map((digits) => hashedArgs(sha256, `{"id":${digits}}`).argsHash);
  expect(one).not.toBe(other);
});

test("a name that has a meaning in this language is a name like every other", () => {
  const read = readArgs('{"__proto__":{"admin":true}}') as object;
  expect(Object.keys(read)).toEqual(["__proto__"]);
  expect((read as { admin?: unknown }).admin).toBeUndefined();
});

test("a row that somebody else has written is not taken for arguments", () => {
  expect(() => readArgs("{")).toThrow("stored arguments are no JSON");
});

// Arguments as models write them: whole objects are taken as they are, everything else is told and never repaired.
import { expect, test } from "vitest";
import { readArguments } from "./arguments.ts";

test.each([
  ["", "{}"],
  [" \n", "{}"],
  ["{}", "{}"],
  [' { "a" : [ 1 , null ] } ', '{"a":[1,null]}'],
  ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
  ['{"n":9007199254740993,"m":1.10}', '{"n":9007199254740993,"m":1.1}'],
])("%j is %s", (text, argsJson) => {
  expect(readArguments(text, false)).toEqual({ ok: true, argsJson });
});

test.each([
  ["null", "the arguments are null, and must be an object: send {} where there are none"],
  ["[]", "the arguments are an array, and must be an object: send {} where there are none"],
  ['"{}"', "the arguments are a string, and must be an object: send {} where there are none"],
  ["12345678901234567890", "the arguments are a number, and must be an object: send {} where there are none"],
  ["true", "the arguments are a boolean, and must be an object: send {} where there are none"],
  ['{"a":1,}', "the arguments are malformed: malformed JSON at line 1, column 8: expected a key in double quotes"],
  ['{"a":1,"a":2}', "the arguments cannot be read: a key stands twice in the same object, at /a: keep one of them"],
  [
    '{"a":[1e400]}',
    "the arguments cannot be read: a number is beyond ±1.8e308 or has more than 4300 digits, at /a/0: send it as text",
  ],
])("%j is refused", (text, message) => {
  expect(readArguments(text, false)).toEqual({ ok: false, code: "invalid_input", message });
});

test("nothing of what was sent is echoed", () => {
  const read = readArguments('{"password":"hunter2"', false);
  expect(read.ok).toBe(false);
  expect(JSON.stringify(read)).not.toContain("hunter2");
});

test("64 levels are read, 65 are not", () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  expect(readArguments(nested(64), false).ok).toBe(true);
  expect(readArguments(nested(65), false)).toMatchObject({
    ok: false,
    message: expect.stringContaining("deeper than 64") as string,
  });
});

test("1 MiB is read, one byte more is not", () => {
  const sized = (bytes: number): string => `{"a":"${"x".repeat(bytes - 8)}"}`;
  expect(readArguments(sized(1_048_576), false).ok).toBe(true);
  expect(readArguments(sized(1_048_577), false)).toMatchObject({ ok: false, code: "payload_too_large" });
});

test.each([
  ['{"path":"a', false],
  ["", false],
  ['{"path":"a"}', true],
])("at the output limit, %j: whole is %s", (text, ok) => {
  const read = readArguments(text, true);
  expect(read.ok).toBe(ok);
  if (!read.ok) expect(read.message).toContain("truncated");
});

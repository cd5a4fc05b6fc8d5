// What is run, and on what, is cut out of the request as it was sent.
import { expect, test } from "vitest";
import { packagedSource, sourceFromArgs } from "./source.ts";

test("a packaged script gets the arguments as its input", () => {
  expect(packagedSource(`{"args":{"n":1.10},"context":{"a":1},"secrets":{}}`, "lib/x.js", "1")).toEqual({
    ok: true,
    source: { code: "1", fileName: "lib/x.js", input: `{"n":1.10}`, context: `{"a":1}`, secrets: "{}" },
  });
});

test("source from the arguments gets their `input`", () => {
  expect(sourceFromArgs(`{"args":{"input":12345678901234567890,"code":"a\\n\\"b\\""}}`)).toEqual({
    ok: true,
    source: { code: `a\n"b"`, fileName: "code.js", input: "12345678901234567890", context: "null", secrets: "null" },
  });
  expect(sourceFromArgs(`{"args":{"code":"1"}}`)).toMatchObject({ ok: true, source: { input: "null" } });
});

test.each([
  ["", "no object of arguments"],
  ["[]", "no object of arguments"],
  [`{"args":[]}`, "no object of arguments"],
  [`{"args":{}}`, "no text `code`"],
  [`{"args":{"code":["a"]}}`, "no text `code`"],
  [`{"args":{"code":"${"x".repeat(1_048_577)}"}}`, "more than 1048576 characters"],
])("%.30s is refused", (json, said) => {
  expect(sourceFromArgs(json)).toEqual({ ok: false, message: expect.stringContaining(said) });
});

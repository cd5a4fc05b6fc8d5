// The request's parts come out as they went in, digit by digit.
import { describe, expect, test } from "vitest";
import { memberTexts, requestParts } from "./request.ts";

describe("the parts of a request", () => {
  test("are texts, and long numbers keep their digits", () => {
    const json = `{"args": {"id":12345678901234567890.10, "t":"}"} ,"context":{},"secrets":{"a":"\\"b\\""}}\n`;
    expect(requestParts(json)).toEqual({
      args: `{"id":12345678901234567890.10, "t":"}"}`,
      context: "{}",
      secrets: `{"a":"\\"b\\""}`,
    });
  });

  test("are null where they are missing", () => {
    expect(requestParts(`{"args":1}`)).toEqual({ args: "1", context: "null", secrets: "null" });
    expect(requestParts("{}")).toEqual({ args: "null", context: "null", secrets: "null" });
  });

  test.each(["", "[]", "7", "null", `{"args":`, `{"args":1} x`])("of %j do not exist", (json) => {
    expect(() => requestParts(json)).toThrow();
  });
});

test("of two members with one name the last counts, and names are read with their escapes", () => {
  expect([...memberTexts(`{"a":1,"\\u0061":[{"x":","}],"b":"\\\\"}`)]).toEqual([
    ["a", `[{"x":","}]`],
    ["b", `"\\\\"`],
  ]);
});

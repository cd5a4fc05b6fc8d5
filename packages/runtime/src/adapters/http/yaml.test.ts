// YAML bodies: what they stand for, and that a refusal names the place; the reader itself is tested in the registry.
import { expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { parseYaml } from "./yaml.ts";

test("is the document that it stands for", () => {
  expect(parseYaml("a: 1\nb: [x, 'y', yes]\n")).toEqual({ a: 1, b: ["x", "y", "yes"] });
});

test.each([
  ["a: 1\na: 2\n", 2],
  ["a: 1\nb: !!binary aGk=\n", 2],
  ["a: 1\n---\nb: 2\n", 2],
])("%j is refused at line %i", (text, line) => {
  const refusal = ((): unknown => {
    try {
      return parseYaml(text);
    } catch (error) {
      return error;
    }
  })();
  expect(refusal).toBeInstanceOf(SignalboxError);
  const { code, details } = refusal as SignalboxError;
  expect(code).toBe("invalid_input");
  expect(details?.["problems"]).toMatchObject([{ line }]);
});

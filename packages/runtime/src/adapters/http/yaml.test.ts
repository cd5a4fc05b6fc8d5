// YAML manifests: what they stand for in JSON, and what is refused, quickly.
import { describe, expect, test } from "vitest";
import { parseYaml } from "./yaml.ts";

const refusal = (text: string): { code: string; message: string } => {
  try {
    parseYaml(text);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("it was taken");
};

describe("taken", () => {
  test.each([
    ["a: 1\nb: [x, 'y', \"z\"]\n", '{"a":1,"b":["x","y","z"]}'],
    ["a: yes\nb: no\nc: on\nd: true\ne: null\nf: ~\n", '{"a":"yes","b":"no","c":"on","d":true,"e":null,"f":null}'],
    ["at: 2026-01-02\nversion: 1.20\n", '{"at":"2026-01-02","version":1.2}'],
    ["n: 9007199254740993\nm: -9007199254740993\nh: 0x10\n", '{"n":9007199254740993,"m":-9007199254740993,"h":16}'],
    ["base: &b {x: 1}\none: *b\ntwo: *b\n", '{"base":{"x":1},"one":{"x":1},"two":{"x":1}}'],
    ["<<: {a: 1}\n", '{"<<":{"a":1}}'],
    ["text: |\n  two\n  lines\n", '{"text":"two\\nlines\\n"}'],
    ['pattern: "[[[[[("\n', '{"pattern":"[[[[[("}'],
    ["1: a\ntrue: b\n", '{"1":"a","true":"b"}'],
    ["# nothing\n", "null"],
  ])("%j is %s", (text, json) => {
    expect(JSON.stringify(parseYaml(text))).toBe(json);
  });
});

describe("refused", () => {
  test.each([
    ["a: 1\na: 2\n", 'has the key "a" twice'],
    ["a: {b: 1, b: 2}\n", 'has the key "b" twice'],
    ["a: b: c\n", "cannot be read"],
    ["a: 1\n---\nb: 2\n", "cannot be read"],
    ["a: !!binary aGk=\n", "cannot be read"],
    ["a: !include /etc/passwd\n", "cannot be read"],
    ["? [1, 2]\n: 3\n", "has a key that is not plain text"],
    ["? {a: 1}\n: 3\n", "has a key that is not plain text"],
    ["a: .nan\n", "NaN has no JSON form"],
    ["a: -.inf\n", "-Infinity has no JSON form"],
    ["a: &a [*a]\n", "the YAML document"],
    ['a: "\\uD800"\n', "half of a surrogate pair"],
    ["__proto__: {admin: true}\n", "__proto__"],
  ])("%j: %s", (text, words) => {
    const { code, message } = refusal(text);
    expect(code).toBe("invalid_input");
    expect(message).toContain(words);
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });

  test("65 levels, in brackets and in lines", () => {
    expect(JSON.stringify(parseYaml("[".repeat(64) + "]".repeat(64)))).toHaveLength(128);
    expect(refusal("[".repeat(65) + "]".repeat(65)).code).toBe("invalid_input");
    const lines = Array.from({ length: 65 }, (_, i) => `${" ".repeat(i)}a:`).join("\n");
    expect(refusal(`${lines} {}\n`).code).toBe("invalid_input");
  });

  test("brackets without end, before the parser meets them", () => {
    expect(refusal("[".repeat(257)).message).toBe("the YAML document is nested deeper than 64 levels");
  });

  test("over 64 KiB", () => {
    expect(refusal(`a: ${"x".repeat(65_536)}`)).toMatchObject({ code: "payload_too_large" });
  });

  test("aliases that unfold without end", () => {
    const levels = "bcdefghi".split("").map((name, i) => `${name}: &${name} [${`*${"abcdefgh"[i]},`.repeat(9)}]`);
    expect(refusal(`a: &a [x]\n${levels.join("\n")}\n`).code).toBe("invalid_input");
  });

  test("aliases that unfold to more than a manifest may have", () => {
    const text = `big: &big ${"x".repeat(30_000)}\nmany: [${"*big, ".repeat(20)}]\n`;
    expect(refusal(text)).toMatchObject({ code: "payload_too_large" });
  });
});

test.each([
  ["brackets", "[".repeat(65_000)],
  ["dashes", "- ".repeat(32_000)],
  ["keys", Array.from({ length: 8_000 }, (_, i) => `k${i}: v`).join("\n")],
  ["the same key", "k: v\n".repeat(13_000)],
  ["anchors", Array.from({ length: 5_000 }, (_, i) => `- &a${i} x`).join("\n")],
])("64 KiB of %s do not hold up the process", (_what, text) => {
  const before = performance.now();
  try {
    parseYaml(text);
  } catch {
    // Taken or refused: it is the time that counts.
  }
  expect(performance.now() - before).toBeLessThan(2_000);
});

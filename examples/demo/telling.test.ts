// What the demo calls a fact: its checks pass where the outcome is as expected and fail everywhere else.
import { expect, test } from "vitest";
import { StoryFailed, Telling } from "./telling.ts";

const telling = (terse = true, said: string[] = []): Telling =>
  new Telling({ terse, colours: false, live: false, write: (text) => void said.push(text) });

test.each([
  [1, 1],
  ["ready   yes\n", /^ready +yes$/m],
  [{ a: 1, b: { c: null, d: 2 } }, { b: { c: null } }],
  [
    [{ a: 1, b: 2 }, { a: 3 }],
    [{ a: 1 }, { a: 3 }],
  ],
  [[], []],
])("%j is as expected by %j", (actual, expected) => {
  expect(() => telling().check("it is so", actual, expected)).not.toThrow();
});

test.each([
  [1, "1"],
  [undefined, null],
  [7, /7/],
  [null, { a: 1 }],
  [{}, { a: undefined, b: 1 }],
  [{ a: 1 }, { a: 2 }],
  [[{ a: 1 }, { a: 2 }], [{ a: 1 }]],
  [{ 0: "a", length: 1 }, ["a"]],
  ["text", { length: 4 }],
])("%j is not as expected by %j", (actual, expected) => {
  expect(() => telling().check("it is so", actual, expected)).toThrow(StoryFailed);
});

test("a failure says the fact, what was expected and what was found", () => {
  const check = (): void => telling().check("the call succeeded", { status: "failed" }, { status: /^succ/ });
  expect(check).toThrow(
    'not so: the call succeeded\n  expected: {"status":"/^succ/"}\n  found:    {"status":"failed"}',
  );
});

test("terse, a chapter is one line, and a failure brings back what was kept from it", () => {
  const said: string[] = [];
  const terse = telling(true, said);
  terse.chapter("First");
  terse.sentence("Something is done.");
  terse.check("it is so", 1, 1);
  terse.chapterEnds();
  expect(said.join("")).toMatch(/^ok {2}First \(1 checks, 0\.0 s\)\n$/);
  terse.chapter("Second");
  terse.command("signalbox status");
  terse.output("not ready");
  terse.failed(new StoryFailed("not so"));
  expect(said.join("")).toContain("  $ signalbox status\n  not ready\n\n\n✗ Second: not so\n");
  expect(said.join("")).not.toContain("Something is done.");
});

test("output is cut where it is long, and says so", () => {
  const said: string[] = [];
  telling(false, said).output("1\n2\n3\n4\n", 2);
  expect(said.join("")).toBe("  1\n  2\n  … (2 more lines)\n");
});

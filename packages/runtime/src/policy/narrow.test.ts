// What two lists of hosts or paths leave of each other.
import fc from "fast-check";
import { expect, test } from "vitest";
import { narrowHosts, narrowPaths } from "./narrow.ts";
import { covers } from "./permission.ts";

test.each([
  [["api.example.com"], ["api.example.com"], ["api.example.com:443"]],
  [["*.example.com"], ["api.example.com:443", "example.com"], ["api.example.com:443"]],
  [["*.example.com:*"], ["*.eu.example.com"], ["*.eu.example.com:443"]],
  [["*.example.com:443"], ["api.example.com:*"], ["api.example.com:443"]],
  [["*"], ["a.test:22"], ["a.test:22"]],
  [["*"], ["*"], ["*"]],
  [["*:443"], ["*"], ["*:443"]],
  [["a.test:22"], ["a.test:23"], []],
  [["*.example.com"], ["evilexample.com"], []],
  [["a.test", "b.test"], ["b.test", "c.test"], ["b.test:443"]],
  [["a.test"], [], []],
  [["not a host"], ["*"], []],
])("hosts %j and %j leave %j", (one, other, expected) => {
  expect(narrowHosts(one, other)).toEqual(expected);
  expect(new Set(narrowHosts(other, one))).toEqual(new Set(expected));
});

test.each([
  [["/workspace"], ["/workspace/a"], ["/workspace/a"]],
  [["/workspace"], ["/workspace2"], []],
  [["/"], ["/a", "/b"], ["/a", "/b"]],
  [["/a/b"], ["/a/b"], ["/a/b"]],
  [["*"], ["*"], ["/"]],
  [["a"], ["/a"], []],
])("paths %j and %j leave %j", (one, other, expected) => {
  expect(narrowPaths(one, other)).toEqual(expected);
  expect(new Set(narrowPaths(other, one))).toEqual(new Set(expected));
});

test("what is left is covered by both lists, and nothing that both cover is lost", () => {
  const host = fc.constantFrom(
    "*",
    "*:443",
    "*.a.test",
    "*.a.test:*",
    "*.b.a.test",
    "a.test",
    "b.a.test",
    "c.b.a.test:*",
    "x.test:22",
    "c.b.a.test",
  );
  const lists = fc.array(host, { maxLength: 4 });
  const probe = fc.constantFrom(
    "a.test:443",
    "b.a.test:443",
    "c.b.a.test:443",
    "c.b.a.test:22",
    "x.test:22",
    "d.b.a.test:443",
  );
  const allowed = (list: readonly string[], one: string) =>
    list.some((grant) => covers(`net:egress:${grant}`, `net:egress:${one}`));
  fc.assert(
    fc.property(lists, lists, probe, (one, other, wanted) => {
      expect(allowed(narrowHosts(one, other), wanted)).toBe(allowed(one, wanted) && allowed(other, wanted));
    }),
    { numRuns: 1_000 },
  );
});

test("lists that multiply each other are cut", () => {
  const many = Array.from({ length: 200 }, (_, n) => `/${n}`);
  expect(narrowPaths(["/"], many)).toHaveLength(200);
  const wide = Array.from({ length: 2_000 }, (_, n) => `/${n}`);
  expect(narrowPaths(["/"], wide)).toHaveLength(1_024);
});

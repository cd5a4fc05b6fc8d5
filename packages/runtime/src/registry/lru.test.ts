// The bounded map and the cache on top of it.
import { expect, test } from "vitest";
import { Lru } from "./lru.ts";
import { SchemaCache } from "./schema-cache.ts";

test("forgets what was not asked for the longest, and says which", () => {
  const lru = new Lru<string, number>(2);
  expect(lru.set("a", 1)).toBeUndefined();
  expect(lru.set("b", 2)).toBeUndefined();
  expect(lru.get("a")).toBe(1);
  expect(lru.set("c", 3)).toBe("b");
  expect([lru.get("a"), lru.get("b"), lru.get("c"), lru.size]).toEqual([1, undefined, 3, 2]);
});

test("setting again replaces, deleting makes room", () => {
  const lru = new Lru<string, number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  expect(lru.set("a", 9)).toBeUndefined();
  expect(lru.get("a")).toBe(9);
  lru.delete("b");
  expect(lru.set("c", 3)).toBeUndefined();
  expect(lru.size).toBe(2);
});

test("a size that holds nothing is a mistake", () => {
  expect(() => new Lru(0)).toThrow(RangeError);
});

test("the cache makes each thing once, until it had to make room", () => {
  const cache = new SchemaCache<{ readonly key: string }>(2);
  const made: string[] = [];
  const get = (key: string) =>
    cache.get(key, () => {
      made.push(key);
      return { key };
    });
  expect(get("a")).toBe(get("a"));
  get("b");
  get("c");
  expect(get("a")).toEqual({ key: "a" });
  expect(made).toEqual(["a", "b", "c", "a"]);
  expect(cache.size).toBe(2);
});

test("what could not be made is not kept", () => {
  const cache = new SchemaCache<object>(2);
  expect(() =>
    cache.get("a", () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(cache.get("a", () => ({ fine: true }))).toEqual({ fine: true });
});

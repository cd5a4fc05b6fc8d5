// The bounded map and the cache on top of it.
import { expect, test } from "vitest";
import { Lru } from "./lru.ts";
import { SchemaCache } from "./schema-cache.ts";

test("forgets what was not asked for the longest", () => {
  const lru = new Lru<string, number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  expect(lru.get("a")).toBe(1);
  lru.set("c", 3);
  expect([lru.get("a"), lru.get("b"), lru.get("c"), lru.size]).toEqual([1, undefined, 3, 2]);
});

test("setting again replaces, deleting makes room", () => {
  const lru = new Lru<string, number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  lru.set("a", 9);
  expect([lru.get("a"), lru.size]).toEqual([9, 2]);
  lru.delete("b");
  lru.set("c", 3);
  expect([lru.get("a"), lru.get("c")]).toEqual([9, 3]);
});

test("entries may weigh more than others; one that is too heavy by itself is not kept", () => {
  const lru = new Lru<string, string>(5, (text) => text.length);
  lru.set("a", "aa");
  lru.set("b", "bb");
  lru.set("c", "c");
  expect(lru.size).toBe(3);
  lru.set("d", "dddd");
  expect([lru.get("a"), lru.get("b"), lru.get("c"), lru.get("d")]).toEqual([undefined, undefined, "c", "dddd"]);
  lru.set("d", "d");
  lru.set("e", "eee");
  expect([lru.get("c"), lru.get("d"), lru.get("e")]).toEqual(["c", "d", "eee"]);
  lru.set("f", "ffffff");
  expect(lru.size).toBe(0);
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

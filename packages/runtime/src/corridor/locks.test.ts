// One at a time for each name, in order, whatever becomes of the work before.
import { expect, test } from "vitest";
import { settled } from "../../../../test/support/hand-clock.ts";
import { Locks } from "./locks.ts";

function gated(log: string[], name: string) {
  const gate = Promise.withResolvers<string>();
  const work = async (): Promise<string> => {
    log.push(`${name} begins`);
    const result = await gate.promise;
    log.push(`${name} ends`);
    return result;
  };
  return { gate, work };
}

test("work under one name waits for the work before it; under another it does not", async () => {
  const locks = new Locks();
  const log: string[] = [];
  const [a, b, other] = [gated(log, "a"), gated(log, "b"), gated(log, "other")];
  const first = locks.run("x", a.work);
  const second = locks.run("x", b.work);
  const third = locks.run("y", other.work);
  await settled();
  expect(log).toEqual(["a begins", "other begins"]);
  b.gate.resolve("b");
  a.gate.resolve("a");
  other.gate.resolve("o");
  expect(await Promise.all([first, second, third])).toEqual(["a", "b", "o"]);
  expect(log).toEqual(["a begins", "other begins", "a ends", "other ends", "b begins", "b ends"]);
});

test("work that fails fails for who asked for it alone, and the next one goes on", async () => {
  const locks = new Locks();
  const failing = locks.run("x", async () => Promise.reject(new Error("no")));
  const next = locks.run("x", async () => "yes");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("yes");
});

test("the first one begins at once, and after the last one the next is a first one again", async () => {
  const locks = new Locks();
  const log: string[] = [];
  const begin = (name: string) => locks.run("x", async () => void log.push(name));
  const first = begin("a");
  expect(log).toEqual(["a"]);
  await first;
  const second = begin("b");
  expect(log).toEqual(["a", "b"]);
  await second;
});

test("many at once go in the order in which they were asked for", async () => {
  const locks = new Locks();
  const log: number[] = [];
  await Promise.all(Array.from({ length: 50 }, (_, n) => locks.run("x", async () => void log.push(n))));
  expect(log).toEqual(Array.from({ length: 50 }, (_, n) => n));
});

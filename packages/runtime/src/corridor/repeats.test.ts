// What comes once for every call is said in a few lines.
import { expect, test } from "vitest";
import { HandClock } from "../../../../test/support/hand-clock.ts";
import { Repeats } from "./repeats.ts";

function world() {
  const clock = new HandClock(0);
  const said: unknown[] = [];
  const say = (fields: object, message: string): void => void said.push([clock.now(), message, fields]);
  return { clock, said, repeats: new Repeats({ clock, log: { info: say, warn: say, error: say } }) };
}

test("a thousand of one second are one line, with the first few calls", async () => {
  const { clock, said, repeats } = world();
  for (let n = 0; n < 1_000; n += 1) repeats.note("info", "met", `c${n}`, { write: "update_call" });
  expect(said).toEqual([]);
  await clock.pass(1_000);
  expect(said).toEqual([[1_000, "met", { write: "update_call", count: 1_000, execution_ids: ["c0", "c1", "c2", "c3", "c4"] }]]);
});

test("what goes on for an hour is said less and less often, and nothing is left out of the count", async () => {
  const { clock, said, repeats } = world();
  for (let n = 0; n < 7_200; n += 1) {
    repeats.note("error", "again", "c1", {});
    await clock.pass(500);
  }
  repeats.stop();
  const lines = said as [number, string, { count: number; execution_ids: string[] }][];
  expect(lines.length).toBeLessThan(70);
  expect(lines.slice(0, 4).map(([at]) => at)).toEqual([1_000, 3_000, 7_000, 15_000]);
  expect(lines.reduce((sum, [, , { count }]) => sum + count, 0)).toBe(7_200);
  expect(lines[0]?.[2].execution_ids).toEqual(["c1"]);
});

test("after a quiet time it is said within a second again, and no timer stays", async () => {
  const { clock, said, repeats } = world();
  repeats.note("warn", "met", undefined, {});
  await clock.pass(10_000);
  expect(clock.timers).toBe(0);
  repeats.note("warn", "met", undefined, {});
  await clock.pass(1_000);
  expect(said.map((line) => (line as unknown[])[0])).toEqual([1_000, 11_000]);
});

test("a stop says what was gathered", () => {
  const { clock, said, repeats } = world();
  repeats.note("warn", "met", "c1", {});
  repeats.stop();
  expect([said, clock.timers]).toEqual([[[0, "met", { count: 1, execution_ids: ["c1"] }]], 0]);
});

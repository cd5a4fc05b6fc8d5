// What happens when: the same for the same seed, within the rhythms, and to each in turn.
import { expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { stories } from "./stories.ts";
import type { Story } from "./types.ts";

const story: Story = {
  name: "s",
  about: "",
  ledger: "sqlite",
  replicas: 2,
  workers: 3,
  seconds: 60,
  rhythms: [
    { blow: "kill-runtime", fromMs: 1_000, toMs: 3_000 },
    { blow: "stop-worker", fromMs: 100, toMs: 200, timesMax: 9 },
    { blow: "cut-tcp", fromMs: 5_000, toMs: 5_000, timesMax: 2 },
  ],
};

test("the same seed brings the same blows, another one others", () => {
  expect(planOf(story, 5, 60_000)).toEqual(planOf(story, 5, 60_000));
  expect(planOf(story, 5, 60_000)).not.toEqual(planOf(story, 6, 60_000));
});

test("in order of time, with the pauses of the rhythm, in turn to each, before the time is over", () => {
  const plan = planOf(story, 1, 60_000);
  expect(plan.map(({ atMs }) => atMs)).toEqual(plan.map(({ atMs }) => atMs).toSorted((one, other) => one - other));
  const kills = plan.filter(({ blow }) => blow === "kill-runtime");
  expect(kills.length).toBeGreaterThanOrEqual(19);
  for (const [at, { atMs, target, forMs }] of kills.entries()) {
    const before = kills[at - 1];
    expect(atMs - (before?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(atMs - (before?.atMs ?? 0)).toBeLessThanOrEqual(3_000);
    if (before !== undefined) expect(target).toBe(1 - before.target);
    expect([forMs, atMs < 60_000]).toEqual([0, true]);
  }
});

test("a worker is stopped once and for longer than a lease and its sweep; connections are cut for two seconds", () => {
  const plan = planOf(story, 1, 60_000);
  const stops = plan.filter(({ blow }) => blow === "stop-worker");
  expect(new Set(stops.map(({ target }) => target))).toEqual(new Set([0, 1, 2]));
  expect(stops).toHaveLength(3);
  for (const { forMs } of stops) expect(forMs).toBeGreaterThan(16_000);
  expect(plan.filter(({ blow }) => blow === "cut-tcp").map(({ atMs, forMs }) => [atMs, forMs])).toEqual([
    [5_000, 2_000],
    [10_000, 2_000],
  ]);
});

test("the stories on SQLite take less than two minutes of blows, and have names of their own", () => {
  const names = stories.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const seconds = stories.filter(({ ledger }) => ledger === "sqlite").map((one) => one.seconds);
  expect(seconds.reduce((sum, one) => sum + one, 0)).toBeLessThan(120);
});

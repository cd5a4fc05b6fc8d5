// The walk with fixed seeds: the real corridor, machine and worker core over a network and a store that fail.
import { expect, test } from "vitest";
import { World } from "./world.ts";

const stepsPerTest = 700_000;

/** Seeds that once broke a rule stay here for good. */
const formerFailures = [33, 270];

async function walk(firstSeed: number, steps: number): Promise<{ ends: Record<string, number>; answers: Record<string, number>; steps: number }> {
  const ends: Record<string, number> = {};
  const answers: Record<string, number> = {};
  let walked = 0;
  for (let seed = firstSeed; walked < steps; seed++) {
    const options = { seed, calls: 200 };
    const verdict = await new World(options).run(options);
    expect(verdict.broken, `seed ${seed}`).toEqual([]);
    walked += verdict.steps;
    add(ends, verdict.ends);
    add(answers, verdict.answers);
  }
  return { ends, answers, steps: walked };
}

function add(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [word, count] of Object.entries(more)) sum[word] = (sum[word] ?? 0) + count;
}

test.for([1, 100_000, 200_000])("no rule breaks from seed %i on", { timeout: 120_000 }, async (seed) => {
  const { ends, answers } = await walk(seed, stepsPerTest);
  // A walk that reached only one kind of end would prove little.
  for (const state of ["succeeded", "failed", "timed_out", "cancelled", "indeterminate"]) {
    expect(ends[state] ?? 0, state).toBeGreaterThan(100);
  }
  for (const outcome of ["approved", "rejected", "expired", "timeout_allowed", "escalated", "cancelled", "recheck_failed"]) {
    expect(answers[outcome] ?? 0, outcome).toBeGreaterThan(5);
  }
  expect(answers["pending"]).toBeUndefined();
});

test.for(formerFailures)("seed %i, which once broke a rule, holds", async (seed) => {
  const options = { seed, calls: 200, caps: false, retries: false };
  expect((await new World(options).run(options)).broken).toEqual([]);
});

test("the same seed walks the same way", async () => {
  const options = { seed: 7, calls: 60 };
  const once = await new World(options).run(options);
  expect(await new World(options).run(options)).toEqual(once);
});

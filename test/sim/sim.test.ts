// The simulator with fixed seeds: replicas on one ledger live through crashes, freezes, outages and skewed clocks, and no rule breaks.
import { expect, test } from "vitest";
import { SimWorld, someAnswersLost, type SimVerdict } from "./world.ts";

const calls = 60;

/** What each of these seeds once broke, by its name, and of the ledger's answers how many were lost. */
const formerFailures: readonly (readonly [name: string, seed: number, replicas: number, loseAnswers: number])[] = [
  ["a twin followed one that had left memory", 41, 2, 0],
  ["a cancel ended a call whose question another replica had just handed on", 8198, 2, 0],
  ["a cancel ended a call whose question another replica had just handed on", 8506, 2, 0],
  ["a cancel ended a call whose question another replica had just handed on", 9069, 2, 0],
  ["a cancel ended a call whose question another replica had just handed on", 9901, 2, 0],
  ["a result that was on its way again was taken for a handler that runs", 8263, 2, 0],
  ["a fence that memory had made up was taken for another replica's, which had sent its Go", 10_980, 3, 0],
  ["a worker was told to drop a lease that memory had an older one of", 20_058, 2, someAnswersLost],
  ["a replica whose clock is behind was said to pass calls over that it could not take yet", 12_584, 2, 0],
];

function episode(seed: number, replicas: number, loseAnswers = someAnswersLost): Promise<SimVerdict> {
  const options = { seed, calls, replicas, loseAnswers };
  return new SimWorld(options).run(options);
}

function add(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [word, count] of Object.entries(more)) sum[word] = (sum[word] ?? 0) + count;
}

test.for([
  [2, 1, 60],
  [3, 10_001, 40],
] as const)("no rule breaks with %i replicas from seed %i on", { timeout: 120_000 }, async ([replicas, firstSeed, episodes]) => {
  const ends: Record<string, number> = {};
  const misfortunes: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + episodes; seed++) {
    const verdict = await episode(seed, replicas);
    expect(verdict.broken, `seed ${seed}`).toEqual([]);
    add(ends, verdict.ends);
    add(misfortunes, verdict.misfortunes);
  }
  // Episodes in which nothing went wrong, or that all ended alike, would prove little.
  for (const state of ["succeeded", "failed", "timed_out", "cancelled", "denied"]) expect(ends[state] ?? 0, state).toBeGreaterThan(5);
  for (const kind of ["crash", "freeze", "drain", "store_away", "way_away"]) expect(misfortunes[kind] ?? 0, kind).toBeGreaterThan(1);
});

test.for([
  [2, 30_001, 12],
  [3, 40_001, 8],
] as const)("no rule of sessions breaks with %i replicas from seed %i on", { timeout: 120_000 }, async ([replicas, firstSeed, episodes]) => {
  const sessions: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + episodes; seed++) {
    const options = { seed, calls: 30, replicas, loseAnswers: someAnswersLost, sessions: true };
    const verdict = await new SimWorld(options).run(options);
    expect(verdict.broken, `seed ${seed}`).toEqual([]);
    add(sessions, verdict.sessions);
  }
  for (const state of ["awaiting_input", "completed", "cancelled", "failed", "taken_over"]) expect(sessions[state] ?? 0, state).toBeGreaterThan(1);
  for (const what of ["turns", "calls", "completions"]) expect(sessions[what] ?? 0, what).toBeGreaterThan(50);
});

test.for(formerFailures)("%s: seed %i with %i replicas holds", { timeout: 60_000 }, async ([, seed, replicas, loseAnswers]) => {
  expect((await episode(seed, replicas, loseAnswers)).broken).toEqual([]);
});

test("the same seed goes the same way", { timeout: 60_000 }, async () => {
  expect(await episode(7, 2)).toEqual(await episode(7, 2));
});

// What happens when, and to whom: chosen by the seed before anything runs, so that the same seed brings the same blows.
import { seeded } from "../walk/random.ts";
import type { Blow, Planned, Story } from "./types.ts";

/** Longer than a lease (15 s) and its sweep (1 s). */
const stoppedMs = 17_500;
const cutMs = 2_000;

const lastsMs: Readonly<Partial<Record<Blow, number>>> = { "stop-worker": stoppedMs, "cut-tcp": cutMs };

export function planOf(story: Story, seed: number, forMs: number): readonly Planned[] {
  const random = seeded(seed);
  const all: Planned[] = [];
  for (const { blow, fromMs, toMs, timesMax = Number.POSITIVE_INFINITY } of story.rhythms) {
    const targets = targetsOf(story, blow);
    // In turn from a place of chance: each has its share, and one stopped worker is not stopped again.
    let target = random.below(targets);
    const times = Math.min(timesMax, blow === "stop-worker" ? targets : timesMax);
    for (let atMs = pause(); atMs < forMs && countOf(blow) < times; atMs += pause()) {
      all.push({ atMs, blow, target, forMs: lastsMs[blow] ?? 0 });
      target = (target + 1) % targets;
    }
    function pause(): number {
      return Math.round(fromMs + random.next() * (toMs - fromMs));
    }
  }
  return all.toSorted((one, other) => one.atMs - other.atMs);

  function countOf(blow: Blow): number {
    return all.filter((planned) => planned.blow === blow).length;
  }
}

function targetsOf({ replicas, workers }: Story, blow: Blow): number {
  if (blow === "kill-worker" || blow === "stop-worker") return workers;
  return blow === "stop-store" || blow === "kill-store" ? 1 : replicas;
}

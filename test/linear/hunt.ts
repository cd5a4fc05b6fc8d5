// Runs scenarios of one seed and shrinks the first that cannot be explained.
import fc from "fast-check";
import type { Books } from "./books.ts";
import { Episode, type Circumstances } from "./episode.ts";
import { scenarios, type Scenario } from "./scenario.ts";

export interface Found {
  readonly runs: number;
  readonly operations: number;
  /** How the questions ended, and what was answered, counted. */
  readonly ends: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly failed: {
    readonly seed: number;
    readonly path: string;
    readonly scenario: Scenario;
    readonly broken: readonly string[];
    readonly history: readonly string[];
  } | null;
}

export interface HuntOptions extends Circumstances {
  readonly seed: number;
  readonly runs: number;
  readonly path?: string;
  readonly shrink?: boolean;
}

export async function hunt(
  books: readonly Books[],
  { seed, runs, path = "", shrink = true, ...circumstances }: HuntOptions,
): Promise<Found> {
  const ends: Record<string, number> = {};
  const answers: Record<string, number> = {};
  let count = 0;
  let operations = 0;
  const property = fc.asyncProperty(scenarios, async (scenario) => {
    const { broken, end, words } = await new Episode(scenario, books, circumstances).run();
    count++;
    operations += words.length;
    ends[end] = (ends[end] ?? 0) + 1;
    for (const word of words) answers[word] = (answers[word] ?? 0) + 1;
    return broken.length === 0;
  });
  const checked = await fc.check(property, { seed, numRuns: runs, path, endOnFailure: !shrink });
  if (!checked.failed) return { runs: count, operations, ends, answers, failed: null };
  const [scenario] = checked.counterexample ?? [];
  if (scenario === undefined) throw new Error("the hunt failed without an example", { cause: checked.errorInstance });
  const again = await new Episode(scenario, books, circumstances).run();
  const { broken, history } = again;
  const failed = { seed, path: checked.counterexamplePath ?? "", scenario, broken, history };
  return { runs: count, operations, ends, answers, failed };
}

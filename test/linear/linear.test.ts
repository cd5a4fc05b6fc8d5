// Decisions are linearizable: whatever replicas, people, time and a failing store do at once, one order explains every answer and every row.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publishedBooks, type Books } from "./books.ts";
import { Episode } from "./episode.ts";
import { formerFailures } from "./former.ts";
import { hunt, type Found } from "./hunt.ts";
import { houses } from "./rules.ts";
import { scenarios, type Scenario } from "./scenario.ts";
import { SqliteStand } from "./sqlite-episode.ts";

const runsPerSeed = 1_000;

let books: readonly Books[];
beforeAll(async () => {
  books = await publishedBooks();
});

/** What a failure says: enough to replay it, and to read what happened. */
function told({ failed }: Found): string {
  if (failed === null) return "";
  const { broken, history, seed, path } = failed;
  return [...broken, ...history, `node test/linear/run.ts --seed ${seed} --path ${path}`].join("\n");
}

describe("two replicas on one store", () => {
  test.for([1, 2])("every history of seed %i is explained", { timeout: 180_000 }, async (seed) => {
    const found = await hunt(books, { seed, runs: runsPerSeed });
    expect(told(found)).toBe("");
    // Runs that met only some of the ends and answers would prove little.
    for (const end of ["approved", "rejected", "expired", "cancelled", "timeout_allowed"])
      expect(found.ends[end] ?? 0, end).toBeGreaterThan(20);
    for (const word of [
      "counted",
      "repeated",
      "stored_outcome",
      "approval_closed",
      "args_changed",
      "already_voted",
      "edit_denied",
      "unknown",
    ])
      expect(found.answers[word] ?? 0, word).toBeGreaterThan(20);
  });

  test.for(Object.entries(formerFailures))("%s", async ([, scenario]) => {
    const { broken, history } = await new Episode(scenario, books).run();
    expect(broken, history.join("\n")).toEqual([]);
  });

  test("the same scenario runs the same way", async () => {
    const [scenario] = fc.sample(scenarios, { seed: 7, numRuns: 1 }) as [Scenario];
    const once = await new Episode(scenario, books).run();
    expect(await new Episode(scenario, books).run()).toEqual(once);
  });
});

describe("one replica on SQLite", () => {
  let stands: readonly SqliteStand[];
  beforeAll(async () => {
    stands = await Promise.all(houses.map((_, index) => SqliteStand.open(index)));
  });
  afterAll(() => Promise.all(stands.map((stand) => stand.close())));

  test("every history is explained", { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(scenarios, async (scenario) => {
      const stand = stands[scenario.house] as SqliteStand;
      const { broken, history } = await stand.run(scenario);
      expect(broken, history.join("\n")).toEqual([]);
    });
    await fc.assert(property, { seed: 3, numRuns: 200 });
  });
});

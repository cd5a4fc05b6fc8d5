// A short chaos run with real processes: everything at once for a few seconds, and nothing lost, repeated or stranded.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { noPostgres } from "../support/postgres.ts";
import { startNode } from "../support/processes.ts";

const script = fileURLToPath(new URL("../../scripts/chaos.js", import.meta.url));

async function expectZeros(story: string): Promise<void> {
  const run = startNode([script, "--json", "--story", story, "--seconds", "5", "--seed", "11"]);
  const { code } = await run.ended;
  expect([code, run.stderr()]).toEqual([0, expect.stringContaining("everything is back")]);
  const lines = run.stdout().trim().split("\n");
  expect(lines).toHaveLength(1);
  const told = JSON.parse(lines[0] ?? "") as Readonly<Record<string, unknown>>;
  expect(Object.keys(told)).toEqual(["story", "calls", "kills", "lost", "unsafe_repeats", "stranded", "indeterminate"]);
  expect(told).toMatchObject({ story, lost: 0, unsafe_repeats: 0, stranded: 0 });
  expect(Number(told["calls"])).toBeGreaterThan(40);
  expect(Number(told["kills"])).toBeGreaterThanOrEqual(1);
}

test(
  "runtimes and workers killed, a worker stopped past its lease, connections cut: one line of JSON that says zero",
  () => expectZeros("everything"),
  120_000,
);

test.skipIf(noPostgres !== undefined)("one of two replicas killed", () => expectZeros("kill-replica"), 120_000);

test("arguments that make no sense are told with the usage, and nothing is started", async () => {
  for (const args of [["--story", "nothing"], ["--seconds", "soon"], ["--what"]]) {
    const run = startNode([script, ...args]);
    expect((await run.ended).code).toBe(2);
    expect(run.stderr()).toContain("npm run chaos [-- --json]");
    expect(run.stdout()).toBe("");
  }
});

// The walk from the command line: episodes from a seed on, until the steps are walked or a rule is broken.
import { parseArgs } from "node:util";
import { World, type Verdict } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    steps: { type: "string", default: "1000000" },
    calls: { type: "string", default: "200" },
    "no-guards": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const stepsWanted = Number(values.steps);
const ends: Record<string, number> = {};
const answers: Record<string, number> = {};
let steps = 0;
let calls = 0;
let episodes = 0;
let failed: Verdict | undefined;
const began = performance.now();
for (let seed = Number(values.seed); steps < stepsWanted && failed === undefined; seed++) {
  const options = { seed, calls: Number(values.calls), guards: !values["no-guards"] };
  const verdict = await new World(options).run(options);
  steps += verdict.steps;
  calls += verdict.calls;
  episodes++;
  add(ends, verdict.ends);
  add(answers, verdict.answers);
  if (verdict.broken.length > 0) failed = verdict;
}
function add(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [word, count] of Object.entries(more)) sum[word] = (sum[word] ?? 0) + count;
}

const inWords = (counts: Record<string, number>): string => Object.entries(counts).map(([word, count]) => `${word} ${count}`).join(", ");

const summary = { episodes, steps, calls, ends, answers, seconds: Math.round((performance.now() - began) / 100) / 10 };
if (values.json) {
  console.log(JSON.stringify({ ...summary, failed: failed ?? null }));
} else {
  console.log(`walked ${steps} steps in ${episodes} episodes with ${calls} calls in ${summary.seconds} s`);
  console.log(`ends: ${inWords(ends)}`);
  console.log(`approvals: ${inWords(answers)}`);
  if (failed !== undefined) {
    console.log(`seed ${failed.seed} breaks ${failed.broken.length} rule(s); again with: npm run walk -- --seed ${failed.seed} --steps 1`);
    for (const rule of failed.broken.slice(0, 20)) console.log(`  ${rule}`);
  }
}
process.exitCode = failed === undefined ? 0 : 1;

// The simulator from the command line: episodes from a seed on, until the steps are done or a rule is broken; `--long` goes on and lists.
import { parseArgs } from "node:util";
import { SimWorld, someAnswersLost, type SimVerdict } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    steps: { type: "string", default: "400000" },
    calls: { type: "string", default: "60" },
    replicas: { type: "string", default: "2" },
    /** How many of the ledger's answers are lost, 0 to 1. */
    "lose-answers": { type: "string", default: String(someAnswersLost) },
    /** Minutes of a long run. */
    minutes: { type: "string", default: "10" },
    /** Agents and their sessions too. */
    sessions: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const stepsWanted = Number(values.steps);
const msMax = values.long ? Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY;
const ends: Record<string, number> = {};
const misfortunes: Record<string, number> = {};
const sessions: Record<string, number> = {};
const failed: SimVerdict[] = [];
let [steps, calls, episodes] = [0, 0, 0];
const began = performance.now();
let saidAt = began;

const goesOn = (): boolean => (values.long ? performance.now() - began < msMax : steps < stepsWanted && failed.length === 0);
const inWords = (counts: Record<string, number>): string => Object.entries(counts).map(([word, count]) => `${word} ${count}`).join(", ");

function add(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [word, count] of Object.entries(more)) sum[word] = (sum[word] ?? 0) + count;
}

function tellFailure({ seed, broken }: SimVerdict): void {
  const again = `npm run sim -- --seed ${seed} --steps 1 --calls ${values.calls} --replicas ${values.replicas} --lose-answers ${values["lose-answers"]}${values.sessions ? " --sessions" : ""}`;
  console.log(`seed ${seed} breaks ${broken.length} rule(s); again with: ${again}`);
  for (const rule of broken.slice(0, 20)) console.log(`  ${rule}`);
}

for (let seed = Number(values.seed); goesOn(); seed++) {
  const options = { seed, calls: Number(values.calls), replicas: Number(values.replicas), loseAnswers: Number(values["lose-answers"]), sessions: values.sessions };
  const verdict = await new SimWorld(options).run(options);
  steps += verdict.steps;
  calls += verdict.calls;
  episodes++;
  add(ends, verdict.ends);
  add(sessions, verdict.sessions);
  add(misfortunes, verdict.misfortunes);
  if (verdict.broken.length > 0) {
    failed.push(verdict);
    if (!values.json) tellFailure(verdict);
  }
  if (values.long && !values.json && performance.now() - saidAt > 15_000) {
    saidAt = performance.now();
    console.log(`${Math.round((saidAt - began) / 1000)} s: ${episodes} episodes, ${calls} calls, ${failed.length} failed`);
  }
}

const seconds = Math.round((performance.now() - began) / 100) / 10;
const summary = { episodes, steps, calls, replicas: Number(values.replicas), ends, misfortunes, sessions, seconds };
if (values.json) {
  console.log(JSON.stringify({ ...summary, failed: failed[0] ?? null, failed_seeds: failed.map(({ seed }) => seed) }));
} else {
  console.log(`simulated ${steps} steps in ${episodes} episodes with ${calls} calls of ${values.replicas} replicas in ${seconds} s`);
  console.log(`ends: ${inWords(ends)}`);
  if (values.sessions) console.log(`sessions: ${inWords(sessions)}`);
  console.log(`misfortunes: ${inWords(misfortunes)}`);
  if (failed.length > 0) console.log(`seeds that fail: ${failed.map(({ seed }) => seed).join(" ")}`);
}
process.exitCode = failed.length === 0 ? 0 : 1;

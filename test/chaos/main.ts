// `npm run chaos`: plays the stories one after the other on the built runtime, and says what became of every call.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { noPostgres } from "../support/postgres.ts";
import { isGood, jsonLine, table } from "./report.ts";
import { runStory } from "./run.ts";
import { stories } from "./stories.ts";
import type { Report, Story } from "./types.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const usage = `npm run chaos [-- --json] [--story <name>] [--seconds <n>] [--seed <n>]
  --story    one of ${stories.map(({ name }) => name).join(", ")}; all on SQLite without it
  --seconds  how long things happen in each story; each has a time of its own without it
  --seed     chooses what happens when, and what is called; the clock without it
  --json     one line of JSON for each story instead of the table
`;

interface Chosen {
  readonly chosen: readonly Story[];
  readonly json: boolean;
  readonly seconds: number | undefined;
  readonly seed: number;
}

/** @returns the exit code: 1 when something was lost, repeated or stranded, 2 when the arguments make no sense */
export async function main(args: readonly string[]): Promise<number> {
  const read = readArgs(args);
  if (typeof read === "string") {
    process.stderr.write(read);
    return read === usage ? 0 : 2;
  }
  const { chosen, json, seconds, seed } = read;
  const reports: Report[] = [];
  for (const story of chosen) {
    const report = await runStory(story, {
      seed,
      seconds: seconds ?? story.seconds,
      bin: join(root, "packages/runtime/bin/signalbox.js"),
      note: (line) => process.stderr.write(`chaos: ${line}\n`),
    });
    reports.push(report);
    for (const problem of report.problems) process.stderr.write(`chaos: ${story.name}: ${problem}\n`);
    if (json) process.stdout.write(`${jsonLine(report)}\n`);
  }
  if (!json) process.stdout.write(`${table(reports)}\n`);
  const isWell = reports.every(isGood);
  if (!isWell) process.stderr.write(`chaos: not well; again with --seed ${seed}\n`);
  return isWell ? 0 : 1;
}

/** @returns words for stderr where nothing is to be run */
function readArgs(args: readonly string[]): Chosen | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean", default: false },
        story: { type: "string" },
        seconds: { type: "string" },
        seed: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return usage;
    const chosen = stories.filter(({ name, ledger }) => (values.story === undefined ? ledger === "sqlite" : name === values.story));
    const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
    const seed = Number(values.seed ?? Date.now() % 2 ** 31);
    if (noPostgres !== undefined && chosen.some(({ ledger }) => ledger === "postgres")) throw new Error(noPostgres);
    if (chosen.length === 0) throw new Error(`there is no story "${values.story}"`);
    if (!Number.isSafeInteger(seed) || !(seconds === undefined || seconds > 0)) throw new Error("--seconds and --seed take numbers");
    if (!existsSync(join(root, "packages/runtime/dist/cli/main.js"))) throw new Error("this runs the built runtime: run `npm run build` first");
    return { chosen, json: values.json, seconds, seed };
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n${usage}`;
  }
}

// `npm run fuzz`: each target for as long as one says; what is found becomes a file of the corpus.
import { parseArgs } from "node:util";
import { keepFound } from "./corpus.ts";
import { fuzz, type Outcome, type Target } from "./target.ts";
import { targets } from "./targets.ts";

const usage = `npm run fuzz -- [--target <name>] [--seconds <n>] [--seed <n>]
  --target   one of ${targets.map(({ name }) => name).join(", ")}; all of them, one after the other, without it
  --seconds  for each target, beside its corpus; 60 without it
  --seed     where chance begins; the clock without it
`;

/** @returns the exit code: 1 when something was found, 2 when the arguments make no sense */
export async function main(args: readonly string[]): Promise<number> {
  let wanted: readonly Target[];
  let budget: { readonly seed: number; readonly msMax: number };
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { target: { type: "string" }, seconds: { type: "string", default: "60" }, seed: { type: "string" } },
    });
    wanted = values.target === undefined ? targets : targets.filter(({ name }) => name === values.target);
    budget = { seed: Number(values.seed ?? Date.now() % 2 ** 31), msMax: Number(values.seconds) * 1_000 };
    if (wanted.length === 0) throw new Error(`there is no target "${values.target}"`);
    if (!Number.isSafeInteger(budget.seed) || !(budget.msMax > 0)) throw new Error("--seconds and --seed take numbers");
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return 2;
  }
  let code = 0;
  for (const target of wanted) {
    const outcome = await fuzz(target, budget);
    process.stdout.write(told(target, outcome));
    if (outcome.found !== undefined) code = 1;
  }
  return code;
}

function told({ name, about }: Target, { seed, replayed, runs, found }: Outcome): string {
  const head = `${name} (${about}): ${replayed} of the corpus, ${runs} by chance from seed ${seed}`;
  if (found === undefined) return `${head}: good\n`;
  const { input, why } = found;
  const file = input instanceof Uint8Array ? keepFound(name, input) : input.name;
  return `${head}: found ${file}\n${why}\n`;
}

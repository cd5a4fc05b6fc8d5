// `npm run isolation -- --calls N --seed S`: the isolation fuzz from the command line.
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz/run.ts";

const usage = "npm run isolation -- [--calls 10000] [--seed 1] [--tenants 20] [--json]";

/** @returns the exit code: 1 where something of one tenant was met at another */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      calls: { type: "string", default: "10000" },
      seed: { type: "string", default: "1" },
      tenants: { type: "string", default: "20" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const [calls, seed, tenants] = [Number(values.calls), Number(values.seed), Number(values.tenants)];
  const result = await fuzz({ calls, seed, tenants });
  if (values.json) console.log(JSON.stringify(result));
  else {
    console.log(
      `${result.asked} requests of ${tenants} tenants in ${result.seconds} s, ${result.delivered} webhooks, seed ${seed}`,
    );
    console.log(`acts: ${words(result.acts)}`);
    console.log(`rows looked through: ${words(result.rows)}; ${result.storedFiles} stored files`);
    for (const finding of result.findings) console.log(`  ${finding}`);
    console.log(
      result.findings.length === 0
        ? "nothing of anybody's was met anywhere else"
        : `${result.findings.length} finding(s)`,
    );
  }
  return result.findings.length === 0 ? 0 : 1;
}

const words = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${word} ${count}`)
    .join(", ");

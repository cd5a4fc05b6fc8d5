// `npm run bench`: reads the options and hands over to bench/main.ts.
import { parseArgs } from "node:util";
import { bench } from "../bench/main.ts";

const usage = `npm run bench -- [--json] [--only <prefix>] [--quick] [--strict]
  --json    one JSON line per figure instead of the table
  --only    only the figures whose names begin with the prefix, e.g. echo. or floor; history is measured only so
  --quick   three short rounds: a first look, not a result
  --strict  exit code 1 when a figure misses its target
`;

try {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else process.exitCode = await bench(values);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}

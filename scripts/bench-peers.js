// `npm run bench:peers`: reads the options and hands over to bench/peers/main.ts.
import { parseArgs } from "node:util";
import { benchPeers } from "../bench/peers/main.ts";

const usage = `npm run bench:peers -- [--json] [--only <peer>] [--quick]
  --json    one JSON line per figure instead of the table
  --only    only the peers whose names begin so: restate, bullmq, graphile-worker, pg-boss, dbos
  --quick   one short round: a first look, not a result
`;

try {
  const { values } = parseArgs({
    options: {
      json: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) process.stdout.write(usage);
  else process.exitCode = await benchPeers(values);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}

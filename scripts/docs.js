// `npm run docs`: writes the blocks of the documentation that are cut from files anew, and on demand what commands print.
// @ts-check
import { parseArgs } from "node:util";
import { renewDocs } from "../test/docs/main.ts";

const usage = `npm run docs [-- [--update] [<page> …]]
  --update  also play the pages and write what their commands print; look at the difference before you keep it
  <page>    e.g. README.md or docs/policies.md; all of them by default
`;

try {
  const { values, positionals } = parseArgs({
    options: { update: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
    allowPositionals: true,
  });
  if (values.help) process.stdout.write(usage);
  else
    process.exitCode = await renewDocs({
      pages: positionals,
      update: values.update,
      write: (text) => void process.stdout.write(text),
    });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}

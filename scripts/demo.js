// `npm run demo`: reads the options and hands over to examples/demo/main.ts.
// @ts-check
import { parseArgs } from "node:util";
import { demo } from "../examples/demo/main.ts";
import { stories, storyDefault } from "../examples/demo/stories.ts";

const usage = `npm run demo -- [--story <name>] [--list] [--check] [--keep] [--no-build]
  --story     which story is played; ${storyDefault} by default
  --list      the stories that there are
  --check     one line per chapter, no colours: for machines
  --keep      leave the project folder as it is at the end, and say where it is
  --no-build  take the build that is there
`;

// Whoever reads us has gone (`npm run demo | head`): leave by the way that cleans up.
process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));

try {
  const { values } = parseArgs({
    options: {
      story: { type: "string", default: storyDefault },
      list: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      "no-build": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const story = Object.hasOwn(stories, values.story) ? stories[values.story] : undefined;
  if (values.help) process.stdout.write(usage);
  else if (values.list) process.stdout.write(listOf(stories));
  else if (story === undefined) throw new Error(`there is no story "${values.story}"\n${listOf(stories)}`);
  else {
    const people = process.stdout.isTTY === true && !values.check;
    process.exitCode = await demo({
      story,
      build: !values["no-build"],
      keep: values.keep,
      terse: values.check,
      live: people,
      colours: people && (process.env["NO_COLOR"] ?? "") === "",
      write: (text) => void process.stdout.write(text),
    });
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 2;
}

/** @param {typeof stories} all */
function listOf(all) {
  const width = Math.max(...Object.keys(all).map((name) => name.length));
  return Object.entries(all)
    .map(([name, { about }]) => `${name.padEnd(width)}  ${about}\n`)
    .join("");
}

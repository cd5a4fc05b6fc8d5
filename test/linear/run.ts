// The hunt from the command line: scenarios from a seed on, until enough were run or one cannot be explained; a failure is printed and can be replayed.
import { parseArgs } from "node:util";
import { publishedBooks } from "./books.ts";
import { hunt } from "./hunt.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "20000" },
    /** Of a failure that was printed: runs that one alone. */
    path: { type: "string", default: "" },
    /** 1: everybody asks the same replica. */
    replicas: { type: "string", default: "2" },
    /** Nothing goes wrong. */
    calm: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    "no-shrink": { type: "boolean", default: false },
  },
});

const began = performance.now();
const found = await hunt(await publishedBooks(), {
  seed: Number(values.seed),
  runs: Number(values.runs),
  path: values.path,
  shrink: !values["no-shrink"],
  replicas: values.replicas === "1" ? 1 : 2,
  calm: values.calm,
});
const seconds = Math.round((performance.now() - began) / 100) / 10;
if (values.json) {
  console.log(JSON.stringify({ ...found, seconds }));
} else {
  console.log(`${found.runs} runs with ${found.operations} requests in ${seconds} s`);
  for (const [name, counts] of Object.entries({ ends: found.ends, answers: found.answers })) {
    console.log(
      `${name}: ${Object.entries(counts)
        .map(([word, count]) => `${word} ${count}`)
        .join(", ")}`,
    );
  }
  if (found.failed !== null) {
    const { broken, history, scenario, seed, path } = found.failed;
    console.log(
      [
        "broken:",
        ...broken,
        "",
        ...history,
        "",
        JSON.stringify(scenario),
        "",
        `replay: node test/linear/run.ts --seed ${seed} --path ${path}`,
      ].join("\n"),
    );
  }
}
if (found.failed !== null) process.exitCode = 1;

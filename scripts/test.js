// `npm test`: builds, checks the types of tests, lints, runs the tests; stops at the first phase that fails.
// @ts-check
import { runChild } from "../packages/runtime/launch/run-child.js";

/** @type {readonly (readonly [name: string, command: string, args: readonly string[]])[]} */
const phases = [
  ["build", "tsc", ["-b"]],
  ["types of tests", "tsc", ["-p", "tsconfig.test.json", "--noEmit"]],
  ["lint", "oxlint", ["--type-aware"]],
  ["tests", "vitest", ["run", ...process.argv.slice(2)]],
];

for (const [name, command, args] of phases) {
  process.stdout.write(`— ${name}: ${command} ${args.join(" ")}\n`);
  const startedAt = performance.now();
  const code = await runChild(command, args, { stdio: "inherit", env: process.env });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (code !== 0) {
    process.stderr.write(`— ${name}: failed with exit code ${code} after ${seconds} s\n`);
    process.exitCode = code;
    break;
  }
  // After the last phase its own last line, the count of tests, stays the last one.
  if (name !== "tests") process.stdout.write(`— ${name}: good, ${seconds} s\n`);
}

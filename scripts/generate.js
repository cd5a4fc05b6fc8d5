// `npm run generate [-- --into <folder>]`: makes the TypeScript of the wire protocol from its proto files, offline.
// @ts-check
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runChild } from "../packages/runtime/launch/run-child.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const { values } = parseArgs({ options: { into: { type: "string", default: root } } });

// buf looks for the plugin on PATH, and the plugin for `node`.
const path = [dirname(process.execPath), join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);
process.exitCode = await runChild("buf", ["generate", "--output", resolve(values.into)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, PATH: path },
});

// Chooses the Node that everything runs on: the running one where it is new enough, else the brought one.
// @ts-check
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BringError, bringNode, major, nodeVersion } from "./bring-node.js";

/** The repository; where the package is installed, the `node_modules` folder that holds it. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** True where no other Node is needed. */
export const runningNodeIsGood = major(process.versions.node) >= major(nodeVersion);

/**
 * The Node to use and the environment for what runs on it: that Node and `folders` come first on PATH, since tools
 * with a `#!/usr/bin/env node` line would run on the old Node otherwise.
 * SIGNALBOX_HOST_NODE names the machine's own Node where another one is used, for tests that must run on both.
 * @param {readonly string[]} folders
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>}
 */
export async function chooseNode(folders) {
  const node = runningNodeIsGood ? process.execPath : await broughtNode();
  const path = [dirname(node), ...folders, process.env["PATH"] ?? ""].join(delimiter);
  const host = runningNodeIsGood ? {} : { SIGNALBOX_HOST_NODE: process.execPath };
  return { node, env: { ...process.env, PATH: path, ...host } };
}

function broughtNode() {
  return bringNode({
    toolsFolder: join(root, ".tools"),
    platform: process.platform,
    arch: process.arch,
    env: process.env,
    say: (line) => process.stderr.write(`signalbox: ${line}\n`),
  });
}

/**
 * Runs `main` and ends with its exit code, or with one line on stderr where no good Node could be had.
 * @param {() => Promise<number>} main
 */
export async function endWith(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof BringError)) throw error;
    process.stderr.write(`signalbox: ${error.message}\n`);
    process.exitCode = error.exitCode;
  }
}

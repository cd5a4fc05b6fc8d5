// Brings the pinned Node from the npm registry into a folder of our own, where the machine's Node is too old.
// @ts-check
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { runChild } from "./run-child.js";

/** The Node that is brought; raise it here and nowhere else. */
export const nodeVersion = "24.22.3";

/** Ends the launcher with one message that names the next step. */
export class BringError extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * @typedef {object} BringOptions
 * @property {string} toolsFolder where brought Nodes are kept; made when absent
 * @property {string} platform as in process.platform
 * @property {string} arch as in process.arch
 * @property {NodeJS.ProcessEnv} env what npm runs with: the user's own npm configuration decides which registry is asked
 * @property {(line: string) => void} say progress, one line each
 */

/**
 * The path of the brought `node`, which is installed first where it is absent. Safe when two run at once: each fills
 * a fresh folder and renames it into place, and who comes second takes what the first has put there.
 * @param {BringOptions} options
 * @returns {Promise<string>}
 * @throws {BringError} where npm fails or the brought Node does not run here
 */
export async function bringNode({ toolsFolder, platform, arch, env, say }) {
  const home = join(toolsFolder, `node-${nodeVersion}`);
  const place = join(home, `${platform}-${arch}`);
  const node = join(place, "bin", "node");
  if (await exists(node)) return node;

  const name = `node-${platform}-${arch}`;
  const otherwise = `Next step: install Node ${major(nodeVersion)} or newer, put it first on PATH and run the same command again`;
  say(`Node ${process.versions.node} is too old; bringing Node ${nodeVersion} (npm package ${name}, once) …`);
  const fresh = await freshFolder(home, otherwise);
  try {
    const code = await runChild("npm", installArguments(name, fresh), { stdio: ["ignore", 2, 2], env });
    if (code > 128) throw new BringError("stopped while bringing Node.", code);
    if (code !== 0) {
      throw new BringError(
        `npm could not bring ${name}@${nodeVersion} (it ended with ${code}; its reason stands above). ` +
          `${otherwise}; or make that package reachable through your npm configuration.`,
      );
    }
    const brought = join(fresh, "node_modules", name);
    await checkRuns(join(brought, "bin", "node"), otherwise);
    await moveInto(brought, place);
    return node;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/**
 * @param {string} name
 * @param {string} folder
 */
function installArguments(name, folder) {
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  return [
    "install",
    "--ignore-scripts",
    "--no-save",
    "--no-package-lock",
    ...quiet,
    "--prefix",
    folder,
    `${name}@${nodeVersion}`,
  ];
}

/**
 * Beside its final place, so that the rename stays on one file system.
 * @param {string} home
 * @param {string} otherwise
 */
async function freshFolder(home, otherwise) {
  try {
    await mkdir(home, { recursive: true });
    return await mkdtemp(join(home, "fresh-"));
  } catch (error) {
    throw new BringError(`cannot write to ${home} (${message(error)}). ${otherwise}.`);
  }
}

/**
 * A package for another C library installs well and then does not start.
 * @param {string} node
 * @param {string} otherwise
 */
async function checkRuns(node, otherwise) {
  const found = await promisify(execFile)(node, ["--version"]).then(
    ({ stdout }) => stdout.trim(),
    (error) => message(error),
  );
  if (found !== `v${nodeVersion}`)
    throw new BringError(`the brought Node does not run on this machine (${found}). ${otherwise}.`);
}

/**
 * @param {string} from
 * @param {string} to
 */
async function moveInto(from, to) {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(await exists(join(to, "bin", "node")))) throw error; // else another launcher was first
  }
}

/** @param {string} path */
function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** @param {string} version */
export function major(version) {
  return Number(version.split(".")[0]);
}

/** @param {unknown} error */
function message(error) {
  return error instanceof Error ? error.message : String(error);
}

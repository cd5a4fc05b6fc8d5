// Gives the tools the files of their workspace, and no other file of the machine.
// @ts-check
import { realpath, readFile, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { ToolError } from "@signalbox/worker";
import { CsvError, parseTable } from "./csv.js";

/** Guards the worker's memory; the demo's file has 18 KiB. */
const fileBytesMax = 4 * 1024 * 1024;

/**
 * @param {string} workspace the folder that paths are relative to and may not leave
 * @param {string} path
 * @returns {Promise<import("./csv.js").Table>}
 * @throws {ToolError} invalid_args, file_not_found, file_too_large, not_csv
 */
export async function readTable(workspace, path) {
  const file = await findFile(workspace, path);
  const { size } = await stat(file);
  if (size > fileBytesMax)
    throw new ToolError("file_too_large", `${path} has ${size} bytes, more than ${fileBytesMax}`);
  try {
    return parseTable(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof CsvError) throw new ToolError("not_csv", `${path}: ${error.message}`);
    throw error;
  }
}

/**
 * @param {string} workspace
 * @param {string} path
 */
async function findFile(workspace, path) {
  const home = await realpath(workspace);
  const file = await realpath(resolve(home, path)).catch(() => undefined);
  if (file === undefined) throw new ToolError("file_not_found", `there is no file ${path}`);
  const inside = relative(home, file);
  // Links are followed first, so that none leads out of the workspace.
  if (inside.startsWith("..") || isAbsolute(inside))
    throw new ToolError("invalid_args", `${path} lies outside of the workspace`);
  return file;
}

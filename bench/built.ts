// Loads modules of the runtime as they are built: how soon a box is up is measured of what users run, not of its sources.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const dist = fileURLToPath(new URL("../packages/runtime/dist", import.meta.url));

/** @param path below the runtime's `dist`; the caller says of which type the module is */
export async function built(path: string): Promise<unknown> {
  const file = join(dist, path);
  if (!existsSync(file)) throw new Error(`${path} of the runtime is not built: run npm run build`);
  return import(pathToFileURL(file).href);
}

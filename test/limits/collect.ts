// Gathers every exported object of bounds from the sources, so that a new one cannot stay out of the page and the proofs.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readHouse } from "../boundaries/sources.ts";

export interface Bound {
  /** The exported object: `limits`, `httpLimits`, `packageBounds`. */
  readonly group: string;
  readonly name: string;
  readonly value: number;
  /** Where it stands, from the repository root. */
  readonly file: string;
}

const objectOfBounds = /^export const (\w*(?:[lL]imits|[bB]ounds|[dD]efaults))\b/gm;

/** Numbers of every such object; a number that another object of ours only repeats is gathered once, under its own name. */
export async function gatherBounds(root: string): Promise<readonly Bound[]> {
  const gathered: Bound[] = [];
  for (const { path, text } of readHouse(root)) {
    if (path.endsWith(".test.ts") || path.endsWith("/config.ts")) continue;
    for (const [, group = ""] of text.matchAll(objectOfBounds)) {
      const module = (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>;
      const bounds = module[group];
      if (typeof bounds !== "object" || bounds === null || Array.isArray(bounds)) continue;
      for (const [name, value] of Object.entries(bounds))
        if (typeof value === "number") gathered.push({ group, name, value, file: path });
    }
  }
  return gathered;
}

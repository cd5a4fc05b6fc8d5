// How much a tenant has in the store: counted once from the disk, then kept along with every write and removal.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./content.ts";

export interface Amount {
  readonly bytes: number;
  readonly files: number;
}

export const nothing: Amount = { bytes: 0, files: 0 };

export function plus(one: Amount, other: Amount): Amount {
  return { bytes: one.bytes + other.bytes, files: one.files + other.files };
}

export function minus(one: Amount, other: Amount): Amount {
  return { bytes: one.bytes - other.bytes, files: one.files - other.files };
}

/** Everything below a path, folders included; links are counted and not followed. Nothing where there is nothing. */
export async function amountBelow(path: string): Promise<Amount> {
  let sum = nothing;
  const open = [path];
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    try {
      const status = await lstat(here);
      sum = plus(sum, { bytes: status.isDirectory() ? 0 : status.size, files: 1 });
      if (!status.isDirectory()) continue;
      const place = here;
      open.push(...(await readdir(place)).map((name) => join(place, name)));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return sum;
}

// The corpus: a folder for each target, whose files are tried before anything else; what was found once stays in it.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface CorpusFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const folderOf = (target: string): string => fileURLToPath(new URL(`corpus/${target}/`, import.meta.url));

export async function readCorpus(target: string): Promise<readonly CorpusFile[]> {
  const folder = folderOf(target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, bytes: readFileSync(`${folder}${name}`) }));
}

/** @returns the name of the new file */
export function keepFound(target: string, bytes: Uint8Array): string {
  const folder = folderOf(target);
  mkdirSync(folder, { recursive: true });
  const name = `found-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}`;
  writeFileSync(`${folder}${name}`, bytes);
  return name;
}

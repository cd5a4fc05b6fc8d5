// Counts and copies the content that a ledger names and does not hold: files and packages in the store.
import type { Dirent } from "node:fs";
import { cp, mkdir, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { makingFolder } from "../store/layout.ts";

export interface Content {
  readonly files: number;
  readonly bytes: number;
  /** Whether it was copied, or stays where it is. */
  readonly copied: boolean;
}

/** Of everything below the folder that is finished; nothing where there is no such folder. */
export async function contentIn(root: string): Promise<{ readonly files: number; readonly bytes: number }> {
  let files = 0;
  let bytes = 0;
  for (const entry of await entriesOf(root)) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.startsWith(makingFolder(root))) continue;
    files += 1;
    bytes += (await stat(path)).size;
  }
  return { files, bytes };
}

async function entriesOf(root: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(root, { recursive: true, withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** @throws Error when there is something at its place already: names are digests, but half a copy has them too */
export async function copyContent(from: string, to: string): Promise<{ readonly files: number; readonly bytes: number }> {
  if ((await contentIn(to)).files > 0) throw new Error(`${to} holds content already; name an empty folder, or copy the rest by hand`);
  await mkdir(to, { recursive: true, mode: 0o700 });
  const making = basename(makingFolder(from));
  for (const name of await readdir(from).catch(() => [])) if (name !== making) await cp(join(from, name), join(to, name), { recursive: true });
  return contentIn(to);
}

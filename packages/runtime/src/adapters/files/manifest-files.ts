// Finds the tool manifests that somebody names: files as they are, folders by the tool.yaml files below them.
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

const manifestNames: readonly string[] = ["tool.yaml", "tool.yml"];
/** Folders that hold other people's files, or none that anybody wrote. */
const skipped: readonly string[] = ["node_modules", "dist"];
/** Guard against a walk through a whole disk. */
const foldersMax = 10_000;

export interface ManifestFile {
  readonly path: string;
  /** As people wrote it, or below what they wrote. */
  readonly shown: string;
}

/** What was named cannot be a place of manifests; `next` says what to do about it. */
export class NoManifests extends Error {
  override readonly name = "NoManifests";
  readonly next: string | undefined;

  constructor(message: string, next?: string) {
    super(message);
    this.next = next;
  }
}

/** @throws NoManifests for a path that is not there, and for a folder without a manifest */
export async function findManifests(cwd: string, paths: readonly string[]): Promise<readonly ManifestFile[]> {
  const found: ManifestFile[] = [];
  for (const shown of paths) {
    const path = resolve(cwd, shown);
    const kind = await stat(path).catch(() => undefined);
    if (kind === undefined) throw new NoManifests(`${shown} is not there`);
    if (!kind.isDirectory()) {
      found.push({ path, shown });
      continue;
    }
    const below = await manifestsBelow(path, shown);
    if (below.length === 0)
      throw new NoManifests(`${shown} has no tool.yaml in it or below`, `signalbox init ${shown}`);
    found.push(...below);
  }
  return found;
}

/** In the order of their paths, links not followed. */
async function manifestsBelow(root: string, shownRoot: string): Promise<readonly ManifestFile[]> {
  const found: ManifestFile[] = [];
  const open: ManifestFile[] = [{ path: root, shown: shownRoot }];
  for (let count = 0; open.length > 0; count++) {
    if (count >= foldersMax)
      throw new NoManifests(`${shownRoot} has more than ${foldersMax} folders`, "name the folder of the tools");
    const folder = open.shift();
    if (folder === undefined) break;
    const entries = await readdir(folder.path, { withFileTypes: true });
    for (const { name, isFile, isFolder } of entries.map((entry) => ({
      name: entry.name,
      isFile: entry.isFile(),
      isFolder: entry.isDirectory(),
    }))) {
      const here = { path: join(folder.path, name), shown: join(folder.shown, name) };
      if (isFile && manifestNames.includes(name)) found.push(here);
      if (isFolder && !skipped.includes(name) && !name.startsWith(".")) open.push(here);
    }
  }
  return found.sort((one, other) => (one.shown < other.shown ? -1 : 1));
}

// Finds the documents that somebody names: files as they are, folders by the manifests and policies below them.
import { open as openFile, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { limits } from "@signalbox/protocol";

const manifestName = /^tool\.ya?ml$/;
const policyName = /^(.+\.)?policy\.ya?ml$/;
const agentName = /^(.+\.)?agent\.ya?ml$/;
/** How a document says its kind, by the end of its name; whoever writes it otherwise names the file. */
const policyKinds: readonly (readonly [ending: RegExp, kind: RegExp])[] = [
  // At the margin only: further in it would be somebody else's `kind`.
  [/\.ya?ml$/, /^["']?kind["']?[ \t]*:[ \t]*["']?Policy["']?[ \t]*(?:#.*)?\r?$/m],
  [/\.json$/, /"kind"[ \t]*:[ \t]*"Policy"/],
];
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

interface Wanted {
  /** @param path of a file below a folder; a file that was named itself is not asked about */
  readonly isOne: (name: string, path: string) => boolean | Promise<boolean>;
  readonly none: (shown: string) => NoManifests;
}

const tools: Wanted = {
  isOne: (name) => manifestName.test(name),
  none: (shown) => new NoManifests(`${shown} has no tool.yaml in it or below`, `signalbox init ${shown}`),
};
const policies: Wanted = {
  isOne: isPolicy,
  none: (shown) =>
    new NoManifests(`${shown} has no policy in it or below: no *.policy.yaml, and no YAML file of kind Policy`),
};
const agents: Wanted = {
  isOne: (name) => agentName.test(name),
  none: (shown) => new NoManifests(`${shown} has no agent.yaml and no *.agent.yaml in it or below`, `signalbox agents init ${shown}`),
};
const all: Wanted = {
  isOne: (name, path) => manifestName.test(name) || agentName.test(name) || isPolicy(name, path),
  none: (shown) => new NoManifests(`${shown} has no tool.yaml, no agent.yaml and no policy in it or below`, `signalbox init ${shown}`),
};

/**
 * The tools' manifests.
 * @throws NoManifests for a path that is not there, and for a folder without a manifest
 */
export function findManifests(cwd: string, paths: readonly string[]): Promise<readonly ManifestFile[]> {
  return find(cwd, paths, tools);
}

/**
 * The policies: by name (`policy.yaml`, `*.policy.yaml`), or because they say `kind: Policy`.
 * @throws NoManifests like {@link findManifests}
 */
export function findPolicies(cwd: string, paths: readonly string[]): Promise<readonly ManifestFile[]> {
  return find(cwd, paths, policies);
}

/**
 * The manifests of agents: `agent.yaml`, `*.agent.yaml`.
 * @throws NoManifests like {@link findManifests}
 */
export function findAgents(cwd: string, paths: readonly string[]): Promise<readonly ManifestFile[]> {
  return find(cwd, paths, agents);
}

/**
 * All kinds, in the order of their paths.
 * @throws NoManifests like {@link findManifests}
 */
export function findDocuments(cwd: string, paths: readonly string[]): Promise<readonly ManifestFile[]> {
  return find(cwd, paths, all);
}

/** What stands in a folder and below it; nothing where there is none. */
export async function filesIn(folder: string, of: "tools" | "policies"): Promise<readonly ManifestFile[]> {
  return filesBelow(folder, folder, of === "tools" ? tools : policies);
}

async function isPolicy(name: string, path: string): Promise<boolean> {
  if (policyName.test(name)) return true;
  const kind = policyKinds.find(([ending]) => ending.test(name))?.[1];
  return kind !== undefined && kind.test(await beginning(path));
}

/** What can be a document at all fits in here; a longer file is somebody's data. Empty for what cannot be read. */
async function beginning(path: string): Promise<string> {
  const file = await openFile(path).catch(() => undefined);
  if (file === undefined) return "";
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(limits.manifestBytesMax), position: 0 });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function find(cwd: string, paths: readonly string[], wanted: Wanted): Promise<readonly ManifestFile[]> {
  const found: ManifestFile[] = [];
  for (const shown of paths) {
    const path = resolve(cwd, shown);
    const kind = await stat(path).catch(() => undefined);
    if (kind === undefined) throw new NoManifests(`${shown} is not there`);
    if (!kind.isDirectory()) {
      found.push({ path, shown });
      continue;
    }
    const below = await filesBelow(path, shown, wanted);
    if (below.length === 0) throw wanted.none(shown);
    found.push(...below);
  }
  return found;
}

/** In the order of their paths, links not followed. */
async function filesBelow(root: string, shownRoot: string, wanted: Wanted): Promise<readonly ManifestFile[]> {
  const found: ManifestFile[] = [];
  const open: ManifestFile[] = [{ path: root, shown: shownRoot }];
  for (let count = 0; open.length > 0; count++) {
    if (count >= foldersMax)
      throw new NoManifests(`${shownRoot} has more than ${foldersMax} folders`, "name the folder of the documents");
    const folder = open.shift();
    if (folder === undefined) break;
    const entries = await readdir(folder.path, { withFileTypes: true });
    for (const { name, isFile, isFolder } of entries.map((entry) => ({
      name: entry.name,
      isFile: entry.isFile(),
      isFolder: entry.isDirectory(),
    }))) {
      const here = { path: join(folder.path, name), shown: join(folder.shown, name) };
      if (isFile && (await wanted.isOne(name, here.path))) found.push(here);
      if (isFolder && !skipped.includes(name) && !name.startsWith(".")) open.push(here);
    }
  }
  return found.sort((one, other) => (one.shown < other.shown ? -1 : 1));
}

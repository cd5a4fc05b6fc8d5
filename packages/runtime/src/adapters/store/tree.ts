// The unpacked tree of a package: builds it read-only from stored files, checks it against its listing, and takes it down.
import { constants, type BigIntStats } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, rm } from "node:fs/promises";
import { hash } from "node:crypto";
import { join } from "node:path";
import { packageBounds } from "../../registry/package/bounds.ts";
import { parseListing, type FileMode, type PackageFile } from "../../registry/package/listing.ts";
import { foldersOf } from "../../registry/package/paths.ts";
import { chunksOf, openPlain, refOf, syncFolder, writeNew } from "./content.ts";
import { listingOf, treeOf } from "./layout.ts";

/** Nobody writes into a finished package, and every user of a box can read it. */
const folderMode = 0o555;
const modes: Readonly<Record<FileMode, number>> = { "0644": 0o444, "0755": 0o555 };
const permissionBits = 0o7777;

/**
 * Builds a package below a new folder, durably.
 * @param placeOf where the stored file with this content stands
 * @returns the refs whose stored file is not there or holds something else; then the tree is not whole
 */
export async function buildPackage(
  place: string,
  { text, files }: { readonly text: string; readonly files: readonly PackageFile[] },
  placeOf: (ref: string) => string,
): Promise<readonly string[]> {
  const tree = treeOf(place);
  await mkdir(tree, { recursive: true });
  const folders = [...new Set(files.flatMap(({ path }) => foldersOf(path)))].toSorted();
  for (const folder of folders) await mkdir(join(tree, folder));
  const bad = new Set<string>();
  for (const { path, mode, ref } of files) {
    if (!(await copied(placeOf(ref), join(tree, path), ref, modes[mode]))) bad.add(ref);
  }
  await writeNew(listingOf(place), [Buffer.from(text)], { bytesMax: packageBounds.listingBytesMax, mode: 0o444 });
  // The deepest first: a folder is closed when everything below it is.
  for (const folder of [...folders.toReversed().map((one) => join(tree, one)), tree]) {
    await chmod(folder, folderMode);
    await syncFolder(folder);
  }
  await syncFolder(place);
  return [...bad];
}

async function copied(from: string, to: string, ref: string, mode: number): Promise<boolean> {
  const source = await openPlain(from).catch(() => undefined);
  if (source === undefined) return false;
  try {
    const written = await writeNew(to, chunksOf(source), { bytesMax: packageBounds.fileBytesMax, mode });
    return written.ok && written.ref === ref;
  } finally {
    await source.close();
  }
}

export type Verdict =
  | { readonly ok: true; readonly files: readonly PackageFile[] }
  | { readonly ok: false; readonly problem: string };

/** Everything about a stored package, against the digest that names it: list, folders, modes, contents, and nothing beside. */
export async function checkPackage(place: string, ref: string): Promise<Verdict> {
  try {
    const files = await readListing(place, ref);
    const problem = await treeProblem(treeOf(place), files);
    return problem === undefined ? { ok: true, files } : { ok: false, problem };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** @throws Error when it is not there, or is not the text that the digest was taken over */
export async function readListing(place: string, ref: string): Promise<readonly PackageFile[]> {
  const file = await openPlain(listingOf(place));
  try {
    if ((await file.stat()).size > packageBounds.listingBytesMax) throw new Error("its listing is too long");
    const text = await file.readFile("utf8");
    const files = `sha256:${hash("sha256", text, "hex")}` === ref ? parseListing(text) : undefined;
    if (files === undefined) throw new Error("its listing is another one than its digest names");
    return files;
  } finally {
    await file.close();
  }
}

async function treeProblem(tree: string, files: readonly PackageFile[]): Promise<string | undefined> {
  const wanted = new Map(files.map((file) => [file.path, file]));
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
  const found = await entriesOf(tree);
  for (const { path, kind, mode } of found) {
    const file = wanted.get(path);
    if (kind === "folder" && (path === "" || folders.has(path))) {
      if (mode !== folderMode) return `the folder ${JSON.stringify(path)} has another mode`;
    } else if (kind !== "file" || file === undefined) {
      return `${JSON.stringify(path)} does not belong to it`;
    } else if (mode !== modes[file.mode]) {
      return `${JSON.stringify(path)} has another mode`;
    } else if ((await refOf(join(tree, path), packageBounds.fileBytesMax)) !== file.ref) {
      return `${JSON.stringify(path)} has other content`;
    }
  }
  const missing = wanted.size + folders.size + 1 - found.length;
  return missing === 0 ? undefined : `${missing} of its files and folders are missing`;
}

interface Entry {
  /** Below the tree; empty for the tree itself. */
  readonly path: string;
  readonly kind: "folder" | "file" | "other";
  readonly mode: number;
  /** Changes with every change of content, mode or place, however the times of the file are set. */
  readonly stamp: string;
  /** Wall clock, ms since 1970. */
  readonly changedAtMs: number;
}

/** A package has no more files and folders than this; guards the walk. */
const entriesMax = packageBounds.filesMax * (packageBounds.depthMax + 1);

/** Links are not followed. @throws Error where the tree is not there, or is larger than any package */
async function entriesOf(tree: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const open = [""];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const status = await lstat(join(tree, path), { bigint: true });
    const kind = status.isDirectory() ? "folder" : status.isFile() ? "file" : "other";
    const mode = Number(status.mode) & permissionBits;
    entries.push({ path, kind, mode, ...stampFrom(status, path) });
    if (entries.length > entriesMax) throw new Error("it holds more than a package can");
    if (kind !== "folder") continue;
    const here = path;
    open.push(...(await readdir(join(tree, here))).map((name) => (here === "" ? name : `${here}/${name}`)));
  }
  return entries;
}

export interface Stamp {
  readonly stamp: string;
  readonly changedAtMs: number;
}

/** The kernel's own instant of the last change, which nobody can set back. */
export function stampFrom(status: BigIntStats, path: string): Stamp {
  const { ino, size, mode, ctimeNs, ctimeMs } = status;
  return { stamp: `${ino} ${size} ${mode} ${ctimeNs} ${path}`, changedAtMs: Number(ctimeMs) };
}

/** Equal as long as nothing about a tree has changed; far cheaper than reading it. @throws like the walk */
export async function treeStamp(place: string): Promise<Stamp> {
  const entries = await entriesOf(treeOf(place));
  const stamps = entries.map(({ stamp }) => stamp).toSorted();
  return {
    stamp: hash("sha256", stamps.join("\n"), "hex"),
    changedAtMs: Math.max(...entries.map(({ changedAtMs }) => changedAtMs)),
  };
}

/** Its folders are closed to writing, so they are opened first. What is not there is no error. */
export async function removeTree(path: string): Promise<void> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return;
  if (status.isDirectory()) {
    await openFolder(path);
    for (const name of await readdir(path)) await removeTree(join(path, name));
  }
  await rm(path, { recursive: true, force: true });
}

/** By its handle: a link that took the folder's place meanwhile must not have its target opened to writing. */
async function openFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await folder.chmod(0o700);
  } finally {
    await folder.close();
  }
}

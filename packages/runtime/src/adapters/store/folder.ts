// Reads a tool's folder as a package: its files, their modes and digests; what cannot go along is told, never passed over.
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { packageBounds } from "../../registry/package/bounds.ts";
import { listingProblems, type PackageFile } from "../../registry/package/listing.ts";
import { refOf } from "./content.ts";

export interface FolderFile extends PackageFile {
  /** On this machine. */
  readonly place: string;
  readonly bytes: number;
}

export interface ToolFolder {
  readonly files: readonly FolderFile[];
  /** What stays at home: names that start with a dot, where secrets and histories are kept, and an interpreter's leavings. */
  readonly leftOut: readonly string[];
}

/** The folder cannot be a package as it is; every reason on a line of its own. */
export class NoPackage extends Error {
  override readonly name = "NoPackage";
}

const leavings: readonly string[] = ["__pycache__"];
const reasonsMax = 20;
const ownerMayRun = 0o100;

/**
 * Links are not followed: a package holds what is in the folder, and nothing of the machine it is packed on.
 * @throws NoPackage
 */
export async function readToolFolder(folder: string): Promise<ToolFolder> {
  const { found, leftOut, reasons } = await walk(folder);
  const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > packageBounds.bytesMax)
    reasons.push(`it holds ${bytes} bytes; at most ${packageBounds.bytesMax} are taken`);
  if (reasons.length > 0) throw new NoPackage(told(reasons));
  const files: FolderFile[] = [];
  for (const file of found) files.push({ ...file, ref: await refOf(file.place, packageBounds.fileBytesMax) });
  const problems = listingProblems(files).map(({ path, message }) => {
    const index = /^files\[(\d+)\]/.exec(path)?.[1];
    const file = index === undefined ? undefined : files[Number(index)];
    return `${file === undefined ? "it" : JSON.stringify(file.path)} ${message}`;
  });
  if (problems.length > 0) throw new NoPackage(told(problems));
  return { files, leftOut };
}

function told(reasons: readonly string[]): string {
  const more = reasons.length - reasonsMax;
  return [...reasons.slice(0, reasonsMax), ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

interface Found {
  readonly found: Omit<FolderFile, "ref">[];
  readonly leftOut: string[];
  readonly reasons: string[];
}

async function walk(folder: string): Promise<Found> {
  const all: Found = { found: [], leftOut: [], reasons: [] };
  const open = [{ place: folder, path: "" }];
  for (let here = open.shift(); here !== undefined; here = open.shift()) {
    if (all.found.length > packageBounds.filesMax) {
      all.reasons.push(`it holds more than ${packageBounds.filesMax} files; name the tool's own folder`);
      return all;
    }
    for (const name of (await namesIn(here, all)).toSorted()) {
      // The form that every machine spells alike; some disks store another one.
      const path = `${here.path === "" ? "" : `${here.path}/`}${name.normalize("NFC")}`;
      if (name.startsWith(".") || leavings.includes(name)) all.leftOut.push(path);
      else await look(join(here.place, name), path, all, open);
    }
  }
  return all;
}

async function namesIn(
  { place, path }: { readonly place: string; readonly path: string },
  all: Found,
): Promise<readonly string[]> {
  const names = await readdir(place, { encoding: "buffer" });
  return names.flatMap((name) => {
    const text = name.toString("utf8");
    if (Buffer.from(text, "utf8").equals(name)) return [text];
    all.reasons.push(`${JSON.stringify(`${path}/${text}`)} has a name that is no UTF-8`);
    return [];
  });
}

async function look(place: string, path: string, all: Found, open: { place: string; path: string }[]): Promise<void> {
  const status = await lstat(place);
  const { size: bytes } = status;
  if (status.isDirectory()) {
    if (path.split("/").length < packageBounds.depthMax) open.push({ place, path });
    else all.reasons.push(`${JSON.stringify(path)} is deeper than ${packageBounds.depthMax} folders`);
  } else if (status.isSymbolicLink()) {
    all.reasons.push(`${JSON.stringify(path)} is a link; put a copy of what it leads to in its place`);
  } else if (!status.isFile()) {
    all.reasons.push(`${JSON.stringify(path)} is no ordinary file`);
  } else if (bytes > packageBounds.fileBytesMax) {
    all.reasons.push(`${JSON.stringify(path)} has ${bytes} bytes; at most ${packageBounds.fileBytesMax} are taken`);
  } else {
    all.found.push({ place, path, bytes, mode: (status.mode & ownerMayRun) === 0 ? "0644" : "0755" });
  }
}

/** The content of a file that {@link readToolFolder} found. @throws Error where it is a link by now, or too large */
export async function readFolderFile(place: string): Promise<Uint8Array<ArrayBuffer>> {
  const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > packageBounds.fileBytesMax)
      throw new NoPackage(`${place} has more than ${packageBounds.fileBytesMax} bytes`);
    return new Uint8Array(await file.readFile());
  } finally {
    await file.close();
  }
}

// The guest program's hands: files into a tree, bytes out of descriptors, and waiting; all of it synchronous.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import {
  treeDepthMax,
  treeEntriesMax,
  treeLoadedBytesMax,
  type TreeDir,
  type TreeFile,
  type TreeNode,
} from "../../guest/tree.ts";

const pauseMs = 1;
const clockCell = new Int32Array(new SharedArrayBuffer(4));

export function sleepMs(ms: number): void {
  Atomics.wait(clockCell, 0, 0, ms);
}

/** Returns when all of it is written. A full pipe holds the guest back: that is the whole of its back-pressure. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (!isEagain(error)) throw error;
      sleepMs(pauseMs);
    }
  }
}

/** What there is, at most `bytesMax`; nothing at the end of the file. Waits until there is something. */
export function readSome(fd: number, bytesMax: number): Uint8Array {
  const bytes = new Uint8Array(bytesMax);
  for (;;) {
    try {
      return bytes.subarray(0, readSync(fd, bytes));
    } catch (error) {
      if (isEagain(error)) sleepMs(pauseMs);
      // Some systems report the end of a pipe as an error.
      else if (error instanceof Error && "code" in error && error.code === "EOF") return bytes.subarray(0, 0);
      else throw error;
    }
  }
}

/** A pipe whose other side made it non-blocking says so instead of waiting. */
function isEagain(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}

export interface FolderReader {
  /** A folder as a tree; one that is not there is empty. Links and devices are left out. @throws Error when it is too large */
  read(path: string | null): TreeDir;
}

/** One budget for all folders of a run. */
export function createFolderReader(): FolderReader {
  const budget = { entriesLeft: treeEntriesMax, bytesLeft: treeLoadedBytesMax };
  return { read: (path) => (path === null ? emptyDir : readDir(path, budget, 0)) };
}

interface Budget {
  entriesLeft: number;
  bytesLeft: number;
}

const emptyDir: TreeDir = { kind: "dir", entries: new Map() };

function readDir(path: string, budget: Budget, depth: number): TreeDir {
  if (depth > treeDepthMax) throw new Error(`the guest's folders are deeper than ${treeDepthMax} levels`);
  const entries = new Map<string, TreeNode>();
  for (const name of namesIn(path)) {
    if (--budget.entriesLeft < 0) throw new Error(`the guest's folders have more than ${treeEntriesMax} entries`);
    const inner = join(path, name);
    const stat = lstatSync(inner);
    if (stat.isDirectory()) entries.set(name, readDir(inner, budget, depth + 1));
    else if (stat.isFile()) entries.set(name, lazyFile(inner, stat.size, budget));
  }
  return { kind: "dir", entries };
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

function lazyFile(path: string, sizeBytes: number, budget: Budget): TreeFile {
  let content: Uint8Array | undefined;
  return {
    kind: "file",
    sizeBytes,
    read() {
      content ??= loadFile(path, budget);
      return content;
    },
  };
}

function loadFile(path: string, budget: Budget): Uint8Array {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = fstatSync(fd);
    if (size > budget.bytesLeft) throw new Error(`a run may read ${treeLoadedBytesMax} bytes of files in all`);
    budget.bytesLeft -= size;
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

// The table of open files of one run: five standard descriptors and what the module opened below its two folders.
import { errno, fileType, openFlags, rights, type Errno } from "./abi.ts";
import { lookUp, type GuestFolders, type TreeDir, type TreeFile, type TreeNode } from "../tree.ts";

/** Open at once; guards the host's heap. */
export const openFilesMax = 256;

/**
 * Descriptors 3 and 4 are two things at once: written to, they are the result and the events of the entry contract; opened
 * below, they are the folders /package and /workspace. The C library looks for folders from 3 upwards and stops at the first
 * descriptor that is none, so the folders cannot stand behind the contract's descriptors.
 */
export type OpenFile =
  | { readonly kind: "input"; at: number }
  | { readonly kind: "output" }
  | { readonly kind: "folder"; readonly trail: readonly TreeDir[]; readonly preopen: string | null }
  | { readonly kind: "file"; readonly file: TreeFile; at: number };

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly errno: Errno };

export interface FileTable {
  get(fd: number): OpenFile | undefined;
  /** Opens a path below a folder, to read. */
  open(fd: number, path: string, flags: number, wantedRights: bigint): Outcome<number>;
  close(fd: number): Errno;
}

const refused = (code: Errno): { readonly ok: false; readonly errno: Errno } => ({ ok: false, errno: code });

export function createFileTable(folders: GuestFolders): FileTable {
  const files = new Map<number, OpenFile>([
    [0, { kind: "input", at: 0 }],
    [1, { kind: "output" }],
    [2, { kind: "output" }],
    [3, { kind: "folder", trail: [folders.package], preopen: "/package" }],
    [4, { kind: "folder", trail: [folders.workspace], preopen: "/workspace" }],
  ]);
  const firstFree = (): number => {
    let fd = 5;
    while (files.has(fd)) fd++;
    return fd;
  };
  return {
    get: (fd) => files.get(fd),
    close: (fd) => (files.delete(fd) ? errno.success : errno.badf),
    open(fd, path, flags, wantedRights) {
      const from = files.get(fd);
      if (from === undefined) return refused(errno.badf);
      if (from.kind !== "folder") return refused(errno.notdir);
      if (files.size >= openFilesMax) return refused(errno.mfile);
      const found = lookUpNode(from.trail, path);
      if (!found.ok) {
        const makes = found.errno === errno.noent && (flags & openFlags.create) !== 0;
        return refused(makes ? errno.rofs : found.errno);
      }
      const { node, trail } = found.value;
      if ((flags & openFlags.truncate) !== 0 || (flags & openFlags.exclusive) !== 0) return refused(errno.rofs);
      const free = firstFree();
      if (node.kind === "dir") {
        files.set(free, { kind: "folder", trail, preopen: null });
        return { ok: true, value: free };
      }
      if ((flags & openFlags.directory) !== 0 || path.endsWith("/")) return refused(errno.notdir);
      // A C library asks for `write` without `read` only when the program opened the file to write.
      if ((wantedRights & rights.write) !== 0n) return refused(errno.rofs);
      files.set(free, { kind: "file", file: node, at: 0 });
      return { ok: true, value: free };
    },
  };
}

export interface Found {
  readonly node: TreeNode;
  readonly trail: readonly TreeDir[];
}

/** A look-up with the error codes of WASI. */
export function lookUpNode(trail: readonly TreeDir[], path: string): Outcome<Found> {
  const found = lookUp(trail, path);
  if (found.found) return { ok: true, value: found };
  switch (found.why) {
    case "absent":
      return refused(errno.noent);
    case "not_a_folder":
      return refused(errno.notdir);
    case "outside":
      return refused(errno.notcapable);
    case "too_long":
      return refused(errno.nametoolong);
  }
}

export function fileTypeOf(open: OpenFile): number {
  switch (open.kind) {
    case "input":
    case "output":
      return fileType.characterDevice;
    case "folder":
      return fileType.directory;
    case "file":
      return fileType.regularFile;
  }
}

export function rightsOf(open: OpenFile): bigint {
  switch (open.kind) {
    case "input":
      return rights.read | rights.poll;
    case "output":
      return rights.write | rights.poll;
    case "folder":
      return (
        rights.pathOpen | rights.readdir | rights.pathStat | rights.stat | (open.preopen === null ? 0n : rights.write)
      );
    case "file":
      return rights.read | rights.seek | rights.tell | rights.stat | rights.poll;
  }
}

// The file functions of WASI preview 1: standard streams, result and events, and two folders that can only be read.
import { errno, fileType, iovecsMax, sizes, whence, type Errno } from "./abi.ts";
import { createFileTable, fileTypeOf, lookUpNode, rightsOf, type FileTable, type OpenFile } from "./files.ts";
import type { GuestMemory } from "./memory.ts";
import type { Preview1, Preview1Ports } from "./ports.ts";
import { pathCharsMax, type TreeFile, type TreeNode } from "../tree.ts";

type FilePorts = Pick<Preview1Ports, "folders" | "input" | "write">;

/** In UTF-8 a character of a path takes at most four bytes. */
const pathBytesMax = 4 * pathCharsMax;

export function createFileFunctions(memory: GuestMemory, ports: FilePorts): Preview1 {
  const table = createFileTable(ports.folders);
  return {
    ...createStreams(memory, table, ports),
    ...createPositions(memory, table),
    ...createStats(memory, table),
    ...createFolders(memory, table),
    fd_close: (fd: number) => table.close(fd),
    fd_advise: (fd: number) => (table.get(fd) === undefined ? errno.badf : errno.success),
    fd_datasync: (fd: number) => (table.get(fd) === undefined ? errno.badf : errno.success),
    fd_sync: (fd: number) => (table.get(fd) === undefined ? errno.badf : errno.success),
    fd_fdstat_set_flags: (fd: number) => (table.get(fd) === undefined ? errno.badf : errno.success),
    fd_fdstat_set_rights: (fd: number) => (table.get(fd) === undefined ? errno.badf : errno.success),
  };
}

/** The pieces of a read or write; null when there are too many. */
function piecesOf(memory: GuestMemory, at: number, count: number): { at: number; length: number }[] | null {
  if (count > iovecsMax || count < 0) return null;
  return Array.from({ length: count }, (_, index) => {
    const piece = at + sizes.iovec * index;
    return { at: memory.u32(piece), length: memory.u32(piece + 4) };
  });
}

/** Copies from `source` at `from` into the pieces and tells how much. */
function fill(
  memory: GuestMemory,
  pieces: readonly { at: number; length: number }[],
  source: Uint8Array,
  from: number,
) {
  let at = from;
  for (const piece of pieces) {
    const part = source.subarray(at, at + piece.length);
    memory.copyIn(piece.at, part);
    at += part.length;
  }
  return at - from;
}

function contentOf(file: TreeFile): Uint8Array | null {
  try {
    return file.read();
  } catch {
    return null;
  }
}

function createStreams(memory: GuestMemory, table: FileTable, ports: FilePorts): Preview1 {
  const read = (fd: number, iovecsAt: number, count: number, offset: number | null, countAt: number): Errno => {
    const open = table.get(fd);
    if (open === undefined) return errno.badf;
    if (open.kind === "folder") return errno.isdir;
    if (open.kind === "output") return errno.badf;
    if (open.kind === "input" && offset !== null) return errno.spipe;
    const pieces = piecesOf(memory, iovecsAt, count);
    if (pieces === null) return errno.inval;
    const content = open.kind === "input" ? ports.input : contentOf(open.file);
    if (content === null) return errno.io;
    const done = fill(memory, pieces, content, offset ?? open.at);
    if (offset === null) open.at += done;
    memory.setU32(countAt, done);
    return errno.success;
  };
  return {
    fd_read: (fd: number, iovecsAt: number, count: number, countAt: number) => read(fd, iovecsAt, count, null, countAt),
    fd_pread(fd: number, iovecsAt: number, count: number, offset: bigint, countAt: number) {
      if (offset < 0n) return errno.inval;
      return read(fd, iovecsAt, count, Number(offset), countAt);
    },
    fd_write(fd: number, iovecsAt: number, count: number, countAt: number) {
      const open = table.get(fd);
      if (open === undefined || (fd !== 1 && fd !== 2 && fd !== 3 && fd !== 4)) {
        return open?.kind === "file" ? errno.rofs : errno.badf;
      }
      const pieces = piecesOf(memory, iovecsAt, count);
      if (pieces === null) return errno.inval;
      let done = 0;
      for (const piece of pieces) {
        if (piece.length > 0) ports.write(fd, memory.bytes(piece.at, piece.length));
        done += piece.length;
      }
      memory.setU32(countAt, done);
      return errno.success;
    },
  };
}

function createPositions(memory: GuestMemory, table: FileTable): Preview1 {
  return {
    fd_seek(fd: number, offset: bigint, from: number, at: number) {
      const open = table.get(fd);
      if (open === undefined) return errno.badf;
      if (open.kind !== "file") return errno.spipe;
      const bases: Readonly<Record<number, number>> = {
        [whence.set]: 0,
        [whence.current]: open.at,
        [whence.end]: open.file.sizeBytes,
      };
      const base = bases[from];
      const target = (base ?? Number.NaN) + Number(offset);
      if (!Number.isSafeInteger(target) || target < 0) return errno.inval;
      open.at = target;
      memory.setU64(at, BigInt(target));
      return errno.success;
    },
    fd_tell(fd: number, at: number) {
      const open = table.get(fd);
      if (open === undefined) return errno.badf;
      if (open.kind !== "file") return errno.spipe;
      memory.setU64(at, BigInt(open.at));
      return errno.success;
    },
  };
}

function writeStat(memory: GuestMemory, at: number, type: number, sizeBytes: number): Errno {
  // No device, no inode, no times: a guest has no use for the host's.
  memory.bytes(at, sizes.filestat).fill(0);
  memory.setU8(at + 16, type);
  memory.setU64(at + 24, 1n);
  memory.setU64(at + 32, BigInt(sizeBytes));
  return errno.success;
}

const nodeType = (node: TreeNode): number => (node.kind === "dir" ? fileType.directory : fileType.regularFile);
const nodeSize = (node: TreeNode): number => (node.kind === "dir" ? 0 : node.sizeBytes);
const openSize = (open: OpenFile): number => (open.kind === "file" ? open.file.sizeBytes : 0);

function createStats(memory: GuestMemory, table: FileTable): Preview1 {
  return {
    fd_fdstat_get(fd: number, at: number) {
      const open = table.get(fd);
      if (open === undefined) return errno.badf;
      memory.bytes(at, sizes.fdstat).fill(0);
      memory.setU8(at, fileTypeOf(open));
      memory.setU64(at + 8, rightsOf(open));
      memory.setU64(at + 16, open.kind === "folder" ? rightsOf(open) : 0n);
      return errno.success;
    },
    fd_filestat_get(fd: number, at: number) {
      const open = table.get(fd);
      return open === undefined ? errno.badf : writeStat(memory, at, fileTypeOf(open), openSize(open));
    },
    path_filestat_get(fd: number, _flags: number, pathAt: number, length: number, at: number) {
      const open = table.get(fd);
      if (open === undefined) return errno.badf;
      if (open.kind !== "folder") return errno.notdir;
      if (length > pathBytesMax) return errno.nametoolong;
      const found = lookUpNode(open.trail, memory.text(pathAt, length));
      if (!found.ok) return found.errno;
      const { node } = found.value;
      return writeStat(memory, at, nodeType(node), nodeSize(node));
    },
  };
}

function createFolders(memory: GuestMemory, table: FileTable): Preview1 {
  const preopenName = (fd: number): Uint8Array | null => {
    const open = table.get(fd);
    return open?.kind === "folder" && open.preopen !== null ? new TextEncoder().encode(open.preopen) : null;
  };
  return {
    fd_prestat_get(fd: number, at: number) {
      const name = preopenName(fd);
      if (name === null) return errno.badf;
      memory.setU32(at, 0);
      memory.setU32(at + 4, name.length);
      return errno.success;
    },
    fd_prestat_dir_name(fd: number, at: number, length: number) {
      const name = preopenName(fd);
      if (name === null) return errno.badf;
      if (length < name.length) return errno.nametoolong;
      memory.copyIn(at, name);
      return errno.success;
    },
    path_open(
      fd: number,
      _lookupFlags: number,
      pathAt: number,
      length: number,
      flags: number,
      wanted: bigint,
      _inherited: bigint,
      _fdFlags: number,
      at: number,
    ) {
      if (length > pathBytesMax || length < 0) return errno.nametoolong;
      memory.setU32(at, 0);
      const opened = table.open(fd, memory.text(pathAt, length), flags, wanted);
      if (!opened.ok) return opened.errno;
      memory.setU32(at, opened.value);
      return errno.success;
    },
    path_readlink: () => errno.inval,
    fd_readdir(fd: number, at: number, length: number, cookie: bigint, usedAt: number) {
      const open = table.get(fd);
      if (open === undefined) return errno.badf;
      if (open.kind !== "folder") return errno.notdir;
      const listed = direntBytes(open.trail.at(-1)?.entries ?? new Map(), Number(cookie), length >>> 0);
      memory.copyIn(at, listed);
      memory.setU32(usedAt, listed.length);
      return errno.success;
    },
  };
}

/** Entries from the cookie on, cut off where the buffer ends: a cut entry tells the reader that there is more. */
function direntBytes(entries: ReadonlyMap<string, TreeNode>, cookie: number, lengthMax: number): Uint8Array {
  const all: [string, number][] = [
    [".", fileType.directory],
    ["..", fileType.directory],
    ...[...entries].map(([name, node]): [string, number] => [name, nodeType(node)]),
  ];
  const bytes: number[] = [];
  for (let index = Math.max(0, cookie); index < all.length && bytes.length < lengthMax; index++) {
    const [name, type] = all[index] ?? ["", 0];
    const encoded = new TextEncoder().encode(name);
    const head = new DataView(new ArrayBuffer(sizes.dirent));
    head.setBigUint64(0, BigInt(index + 1), true);
    head.setUint32(16, encoded.length, true);
    head.setUint8(20, type);
    bytes.push(...new Uint8Array(head.buffer), ...encoded);
  }
  return Uint8Array.from(bytes.slice(0, lengthMax));
}

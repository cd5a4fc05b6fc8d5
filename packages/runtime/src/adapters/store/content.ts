// Reads and writes the bytes of one file of the store: counted, hashed on the way, durable before anybody hears of it.
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";

const chunkBytes = 256 * 1024;

export type Written =
  | { readonly ok: true; readonly ref: string; readonly bytes: number }
  | { readonly ok: false; readonly reason: "too_large" };

/**
 * Writes a new file and makes its content durable; its name is durable once its folder is synced.
 * What goes wrong, in the source too, is thrown, and no file is left.
 * @param mode of the finished file; no umask takes from it
 */
export async function writeNew(
  path: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { bytesMax, mode }: { readonly bytesMax: number; readonly mode: number },
): Promise<Written> {
  const file = await open(path, "wx", 0o600);
  try {
    const written = await copyInto(file, content, bytesMax);
    if (written.ok) {
      await file.chmod(mode);
      await file.sync();
    } else await rm(path);
    return written;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function copyInto(
  file: FileHandle,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
): Promise<Written> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return { ok: false, reason: "too_large" };
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  return { ok: true, ref: `sha256:${hash.digest("hex")}`, bytes };
}

/**
 * Opens what must be an ordinary file: no link, no device, no pipe that would wait for its other end.
 * @throws Error for anything else, and for what is not there (`ENOENT`)
 */
export async function openPlain(path: string): Promise<FileHandle> {
  if (!(await lstat(path)).isFile()) throw new Error(`${path} is no ordinary file`);
  // It could have been replaced since.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is no ordinary file`);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Each chunk is good until the next one is asked for: they share their memory. */
export async function* chunksOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (let position = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** `sha256:` and the hex digits of an ordinary file's content. @throws like {@link openPlain}, and RangeError over `bytesMax` */
export async function refOf(path: string, bytesMax: number): Promise<string> {
  const file = await openPlain(path);
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of chunksOf(file)) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw new RangeError(`${path} has more than ${bytesMax} bytes`);
      hash.update(chunk);
    }
    return `sha256:${hash.digest("hex")}`;
  } finally {
    await file.close();
  }
}

/** Without it a power cut may take back what was made, renamed or removed in the folder. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes a folder and those above it, durably; what is there already stays as it is. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}

export function isMissing(error: unknown): boolean {
  return isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR");
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

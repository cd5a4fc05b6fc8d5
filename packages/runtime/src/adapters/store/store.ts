// The content store on one machine's disk: input files and packages by digest, each tenant in a folder of its own.
import { randomUUID, hash } from "node:crypto";
import { lstat, mkdir, readdir, realpath, rename, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Locks } from "../../corridor/locks.ts";
import {
  StoreUnavailable,
  type ContentReader,
  type ContentStore,
  type FileOutcome,
  type PackageOutcome,
  type StoreRefusal,
} from "../../corridor/files-ports.ts";
import type { WantedContent } from "../../ledger/retention.ts";
import { packageBounds } from "../../registry/package/bounds.ts";
import { listingText, type PackageFile } from "../../registry/package/listing.ts";
import { isErrno, isMissing, makeFolder, openPlain, syncFolder, writeNew } from "./content.ts";
import { filePlace, filesFolder, makingFolder, packagePlace, packagesFolder, tenantFolder } from "./layout.ts";
import { storeLimits, type StoreLimits } from "./store-limits.ts";
import { buildPackage, checkPackage, readListing, removeTree } from "./tree.ts";
import { amountBelow, minus, nothing, plus, type Amount } from "./usage.ts";

/** Of one process: two that write into one folder would count wrongly and sweep each other's half-made things. */
export class DiskStore implements ContentStore, ContentReader {
  readonly #root: string;
  readonly #limits: StoreLimits;
  /** Putting in place and removing, one at a time for each tenant: neither may see the other's half. */
  readonly #locks = new Locks();
  readonly #used = new Map<string, Amount>();
  readonly #writing = new Map<string, number>();

  private constructor(root: string, limits: StoreLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  /** Makes the folder, for its owner alone, and removes what an earlier process left half-made. */
  static async open(root: string, limits: Partial<StoreLimits> = {}): Promise<DiskStore> {
    return reached(async () => {
      await makeFolder(root);
      const path = await realpath(root);
      await removeTree(makingFolder(path));
      await mkdir(makingFolder(path), { mode: 0o700 });
      return new DiskStore(path, { ...storeLimits, ...limits });
    });
  }

  putFile(tenant: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileOutcome> {
    return this.#makes<FileOutcome>(tenant, async (making) => {
      const bytesMax = packageBounds.fileBytesMax;
      const written = await writeNew(making, watched(content), { bytesMax, mode: 0o444 });
      if (!written.ok) return { ok: false, reason: "too_large", limitBytes: bytesMax };
      const { ref, bytes } = written;
      const place = filePlace(this.#root, tenant, ref);
      // Also over one that is there: that may be damaged, and its time tells when it was put last.
      const refusal = await this.#place(tenant, making, place, { bytes, files: 1 });
      return refusal ?? { ok: true, file: { ref, bytes } };
    });
  }

  useFile(tenant: string, ref: string): Promise<number | undefined> {
    return reached(async () => {
      const place = filePlace(this.#root, tenant, ref);
      const bytes = await sizeOf(place);
      return (await this.#touch(tenant, place)) ? bytes : undefined;
    });
  }

  readFile(tenant: string, ref: string): Promise<Uint8Array | undefined> {
    return reached(async () => {
      const file = await openPlain(filePlace(this.#root, tenant, ref)).catch(absent);
      if (file === undefined) return undefined;
      try {
        // A copy that has grown is damaged, and is not taken into memory to find out.
        if ((await file.stat()).size > packageBounds.fileBytesMax) return undefined;
        const content = await file.readFile();
        return `sha256:${hash("sha256", content, "hex")}` === ref ? content : undefined;
      } finally {
        await file.close();
      }
    });
  }

  putPackage(tenant: string, files: readonly PackageFile[]): Promise<PackageOutcome> {
    return this.#makes<PackageOutcome>(tenant, async (making) => {
      const text = listingText(files);
      const ref = `sha256:${hash("sha256", text, "hex")}`;
      const place = packagePlace(this.#root, tenant, ref);
      const sizes = await this.#sizesOf(tenant, files);
      // A whole one is kept, and a damaged one mended by putting it again.
      if ((await checkPackage(place, ref)).ok && (await this.#touch(tenant, place))) {
        const { bytes } = await amountBelow(place);
        return { ok: true, ref, bytes: bytes - Buffer.byteLength(text), alreadyThere: true };
      }
      const missing = [...sizes].flatMap(([one, size]) => (size === undefined ? [one] : []));
      if (missing.length > 0) return { ok: false, reason: "missing", refs: missing };
      const bytes = files.reduce((sum, file) => sum + (sizes.get(file.ref) ?? 0), 0);
      if (bytes > packageBounds.bytesMax) return { ok: false, reason: "too_large", limitBytes: packageBounds.bytesMax };
      const bad = await buildPackage(making, { text, files }, (one) => filePlace(this.#root, tenant, one));
      if (bad.length > 0) return { ok: false, reason: "missing", refs: bad };
      const refusal = await this.#place(tenant, making, place, await amountBelow(making));
      return refusal ?? { ok: true, ref, bytes, alreadyThere: false };
    });
  }

  usePackage(tenant: string, ref: string): Promise<readonly PackageFile[] | undefined> {
    return reached(async () => {
      const place = packagePlace(this.#root, tenant, ref);
      if (!(await this.#touch(tenant, place))) return undefined;
      // A damaged one is as good as none: who puts it again mends it.
      return readListing(place, ref).catch(() => undefined);
    });
  }

  /**
   * Removes what nobody wants and nobody has put or used since `before` (ms since 1970). A package's files are its own
   * copies, so it needs none of the files that it was made from.
   */
  collect(tenant: string, wanted: WantedContent, before: number): Promise<Amount> {
    return reached(async () => {
      let freed = nothing;
      const sweep = async (folder: string, keep: ReadonlySet<string>): Promise<void> => {
        for (const name of await namesIn(folder)) {
          if (keep.has(`sha256:${name}`)) continue;
          freed = plus(freed, await this.#locks.run(tenant, () => this.#removeOld(tenant, join(folder, name), before)));
        }
      };
      const files = filesFolder(this.#root, tenant);
      for (const part of await namesIn(files)) await sweep(join(files, part), wanted.files);
      await sweep(packagesFolder(this.#root, tenant), wanted.packages);
      return freed;
    });
  }

  /** All that a tenant has. */
  removeTenant(tenant: string): Promise<void> {
    return reached(() =>
      this.#locks.run(tenant, async () => {
        await removeTree(tenantFolder(this.#root, tenant));
        this.#used.delete(tenant);
      }),
    );
  }

  /** Puts off its removal; false when it is not there. */
  #touch(tenant: string, place: string): Promise<boolean> {
    return this.#locks.run(tenant, async () => {
      const now = new Date();
      const there = await lstat(place).catch(absent);
      if (there !== undefined) await utimes(place, now, now);
      return there !== undefined;
    });
  }

  async #sizesOf(tenant: string, files: readonly PackageFile[]): Promise<ReadonlyMap<string, number | undefined>> {
    const sizes = new Map<string, number | undefined>();
    for (const { ref } of files) {
      if (!sizes.has(ref)) sizes.set(ref, await sizeOf(filePlace(this.#root, tenant, ref)));
    }
    return sizes;
  }

  /** Runs `make` with a new name for half-made things, and leaves nothing under it. */
  async #makes<T>(tenant: string, make: (making: string) => Promise<T>): Promise<T | StoreRefusal> {
    const writing = this.#writing.get(tenant) ?? 0;
    const limit = this.#limits.writesAtOncePerTenantMax;
    if (writing >= limit) return { ok: false, reason: "busy", limit };
    this.#writing.set(tenant, writing + 1);
    const making = join(makingFolder(this.#root), randomUUID());
    try {
      return await reached(() => make(making));
    } finally {
      const left = (this.#writing.get(tenant) ?? 1) - 1;
      if (left === 0) this.#writing.delete(tenant);
      else this.#writing.set(tenant, left);
      await removeTree(making).catch(() => undefined);
    }
  }

  /** From one instant to the next the whole thing stands in its place, and stays there. */
  #place(tenant: string, making: string, place: string, amount: Amount): Promise<StoreRefusal | undefined> {
    return this.#locks.run(tenant, async () => {
      const used = await this.#usedBy(tenant);
      const before = await amountBelow(place);
      const after = plus(minus(used, before), amount);
      const { tenantBytesMax, tenantFilesMax } = this.#limits;
      if (after.bytes > tenantBytesMax || after.files > tenantFilesMax)
        return { ok: false, reason: "quota", limitBytes: tenantBytesMax };
      await makeFolder(dirname(place));
      await replace(making, place, join(makingFolder(this.#root), randomUUID()));
      await syncFolder(dirname(place));
      this.#used.set(tenant, after);
      return undefined;
    });
  }

  async #usedBy(tenant: string): Promise<Amount> {
    const known = this.#used.get(tenant);
    if (known !== undefined) return known;
    const [files, packages] = [filesFolder(this.#root, tenant), packagesFolder(this.#root, tenant)];
    const counted = plus(await amountBelow(files), await amountBelow(packages));
    this.#used.set(tenant, counted);
    return counted;
  }

  async #removeOld(tenant: string, place: string, before: number): Promise<Amount> {
    const status = await lstat(place).catch(absent);
    if (status === undefined || status.mtimeMs >= before) return nothing;
    const used = await this.#usedBy(tenant);
    const amount = await amountBelow(place);
    // Out of its place first: a removal that is cut short must not leave half a package there.
    const leaving = join(makingFolder(this.#root), randomUUID());
    await rename(place, leaving);
    this.#used.set(tenant, minus(used, amount));
    await removeTree(leaving);
    return amount;
  }
}

/** A folder cannot be renamed over another one that holds something: that one, damaged, makes way. */
async function replace(making: string, place: string, aside: string): Promise<void> {
  try {
    await rename(making, place);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST", "EISDIR", "ENOTDIR"].some((code) => isErrno(error, code))) throw error;
    await rename(place, aside);
    await rename(making, place);
    await removeTree(aside);
  }
}

async function sizeOf(place: string): Promise<number | undefined> {
  const status = await lstat(place).catch(absent);
  return status?.isFile() === true ? status.size : undefined;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
}

function absent(error: unknown): undefined {
  if (isMissing(error)) return undefined;
  throw error;
}

/** A source's own failure, which may look like one of the disk. */
class SourceFailed extends Error {
  override readonly name = "SourceFailed";
}

async function* watched(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw new SourceFailed("the content did not come in", { cause: error });
  }
}

/** What the disk refuses is told in the port's words; what a source throws, and our own mistakes, stay as they are. */
async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceFailed) throw error.cause;
    if (error instanceof Error && "syscall" in error && "errno" in error)
      throw new StoreUnavailable(`the store cannot be used: ${error.message}`, { cause: error });
    throw error;
  }
}

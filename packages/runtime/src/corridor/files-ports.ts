// The port of the content store: what the corridor asks of the place where input files and packages are kept.
import type { WantedContent } from "../ledger/retention.ts";
import type { PackageFile } from "../registry/package/listing.ts";

export interface StoredFile {
  /** `sha256:` and 64 hex digits. */
  readonly ref: string;
  readonly bytes: number;
}

/** `quota`: the tenant has as much as it may have. `busy`: it is writing as much at once as it may. */
export type StoreRefusal =
  | { readonly ok: false; readonly reason: "too_large" | "quota"; readonly limitBytes: number }
  | { readonly ok: false; readonly reason: "busy"; readonly limit: number };

export type FileOutcome = { readonly ok: true; readonly file: StoredFile } | StoreRefusal;

export type PackageOutcome =
  | { readonly ok: true; readonly ref: string; readonly bytes: number; readonly alreadyThere: boolean }
  /** Content that this tenant has not put, or whose copy is damaged: put these and ask again. */
  | { readonly ok: false; readonly reason: "missing"; readonly refs: readonly string[] }
  | StoreRefusal;

/** One tenant never learns of, or reaches, what another has put. Every method rejects with StoreUnavailable where the disk fails. */
export interface ContentStore {
  /** Counted while it comes in; what the source throws is thrown on, and nothing is kept. */
  putFile(tenant: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileOutcome>;
  /** Its size, and that it is still wanted: a file that nothing asks for is removed after a while. Undefined: never put. */
  useFile(tenant: string, ref: string): Promise<number | undefined>;
  /** @param files a list without problems (`listingProblems`) */
  putPackage(tenant: string, files: readonly PackageFile[]): Promise<PackageOutcome>;
  /** Removes what nobody wants and nobody has put or used since `before` (ms since 1970). */
  collect(tenant: string, wanted: WantedContent, before: number): Promise<{ readonly files: number; readonly bytes: number }>;
  /** What a package of this tenant holds, and that it is still wanted; undefined where it has none of this digest. */
  usePackage(tenant: string, ref: string): Promise<readonly PackageFile[] | undefined>;
}

/** The same store, asked for what it keeps. */
export interface ContentReader {
  /** A small file, whole. Undefined: never put, or its copy is damaged. Rejects with StoreUnavailable where the disk fails. */
  readFile(tenant: string, ref: string): Promise<Uint8Array | undefined>;
}

/** The disk failed, or is full; what was asked for did not happen. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

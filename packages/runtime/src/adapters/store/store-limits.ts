// The bounds of one content store.

const MiB = 1024 * 1024;

export const storeLimits = {
  /** Files and packages of one tenant together; what stands in a package counts beside the file it was made from. */
  tenantBytesMax: 4 * 1024 * MiB,
  /** Guards the disk's inodes. */
  tenantFilesMax: 200_000,
  /** What one tenant has half-made on the disk at once is this many times the largest file or package at most. */
  writesAtOncePerTenantMax: 8,
  /** A file that no call named, and a package that no version pinned, for so long is removed. */
  unusedMs: 7 * 24 * 3_600_000,
  /** Packages whose check a reader remembers, so that an unchanged one is not read again. */
  rememberedChecksMax: 1_000,
} as const;

export type StoreLimits = { readonly [Name in keyof typeof storeLimits]: number };

// The bounds of packages and of the files in them.

const KiB = 1024;
const MiB = 1024 * KiB;

export const packageBounds = {
  filesMax: 2_000,
  /** Of all files of one package together. */
  bytesMax: 128 * MiB,
  /** Of one file, in a package or as the input of a call; it must come in within the time of one request. */
  fileBytesMax: 32 * MiB,
  pathBytesMax: 1_024,
  /** What common file systems take for one name. */
  nameBytesMax: 255,
  /** Guards walks through a tree, and the limit of path lengths below the store's own folder. */
  depthMax: 32,
  /** A listing at the bounds above; guards the reader of a stored one. */
  listingBytesMax: 4 * MiB,
} as const;

// The bounds of a call's input files beside those of each file.

const MiB = 1024 * 1024;

export const filesLimits = {
  /** Of all files of one call together, those that it names and those that it brings along. */
  callBytesMax: 128 * MiB,
  /** Faults named in one refusal; the rest is counted. */
  faultsMax: 20,
  /** Refs that one refusal names as missing; a client puts those and asks again. */
  missingNamedMax: 2_000,
} as const;

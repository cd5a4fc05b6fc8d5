// The bounds of the gRPC door for callers; those that both doors have stand where the HTTP door has them.

const KiB = 1024;
const MiB = 1024 * KiB;

export const apiLimits = {
  /** A request message over it is refused before it has come; one over its own limit is refused by its name. */
  receivedBytesMax: 4 * MiB,
  /** From the first byte of a request to its end; the answer may take longer. */
  requestWaitMs: 30_000,
  /** What stands around a document in its message: tags, and the fields beside it. */
  envelopeBytesMax: 4 * KiB,
  /** A name in a request that is a part of the path in REST, where headers bound it. */
  pathFieldCharsMax: 16 * KiB,
  /** Calls of one stream that are not answered yet; over it the stream is not read. */
  outstandingMax: 1_000,
  /** The same in bytes of their requests. */
  outstandingBytesMax: 16 * MiB,
  /** How long a look at a call's stream lasts when nothing happens. */
  followMs: 15_000,
  /**
   * The typed detail of a status. Together with the text it must fit into the 8 KiB of trailers that some clients
   * take, in base64.
   */
  detailBytesMax: 4 * KiB,
  /** The text of a status, percent-encoded as it stands in its trailer. */
  statusTextBytesMax: 600,
} as const;

export type ApiLimits = { readonly [Name in keyof typeof apiLimits]: number };

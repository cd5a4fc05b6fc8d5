// The bounds of one HTTP listener: how long and how large a request may be before it reaches a route.

const KiB = 1024;
const MiB = 1024 * KiB;

export const httpLimits = {
  /** Guards against clients that send their headers one byte at a time. */
  headersWaitMs: 10_000,
  /** From the first byte of a request to the last one of its body; the answer may take longer. */
  requestWaitMs: 30_000,
  /** How often connections are looked over for the two waits above. */
  connectionCheckMs: 1_000,
  /** Longer than the 60 s of common load balancers, so that they close idle connections first and no request meets a closing socket. */
  keepAliveMs: 72_000,
  headerBytesMax: 16 * KiB,
  connectionsMax: 10_000,
  /** A path parameter never reaches it: the header bound is smaller. It keeps the router from answering in our place. */
  pathParameterCharsMax: 64 * KiB,
  /** After a refusal: how long, and how much of, the rest of a body is read and thrown away so that the caller can read the answer. */
  lingerMs: 2_000,
  lingerBytesMax: 8 * MiB,
  /** How long a browser may go by the answer to a preflight. */
  preflightAgeS: 600,
  cursorCharsMax: 1_024,
  /** Why a person brakes, quarantines or releases. */
  reasonCharsMax: 500,
  searchCharsMax: 200,
  urlCharsMax: 2_048,
  /** Types of notices that one webhook may ask for. */
  noticeTypesMax: 32,
  /** Policy documents that one test may try beside the published ones. */
  policiesTriedMax: 100,
  /** Windows of time for which one question may give counts. */
  countWindowsMax: 32,
  /** What one grant may give, and the length of one permission. */
  permissionsMax: 200,
  permissionCharsMax: 512,
  /** Roles of one key, grant or question. */
  rolesMax: 50,
  /** `name=value` of a filter. */
  labelFilterCharsMax: 300,
  /** A call may wait for people for weeks; a total deadline further off than this is a mistake in units. */
  totalDeadlineMsMax: 31 * 24 * 3_600_000,
  /** A stream on which nothing happens is kept from being taken for dead. */
  streamAliveMs: 15_000,
  /** Faults named in one refusal; the rest is counted. */
  faultsMax: 20,
} as const;

export type HttpLimits = { readonly [Name in keyof typeof httpLimits]: number };

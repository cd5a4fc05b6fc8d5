// The bounds of webhooks, in one place.

export const webhookLimits = {
  webhooksPerTenantMax: 20,
  urlCharsMax: 2_048,
  secretBytes: 32,

  /** Deliveries that are made at once; each holds a socket. */
  atOnceMax: 8,
  /** Below `atOnceMax`, so that a tenant whose receivers all hang leaves room for the others. */
  atOncePerTenantMax: 6,
  /** A receiver that is slow is not flooded, and does not take every place. */
  atOncePerWebhookMax: 2,
  /** From the look-up of the name to the last byte that is read. */
  attemptMsMax: 10_000,
  attemptsMax: 12,

  firstRetryMs: 5_000,
  retryMsMax: 3_600_000,
  /** Share of the delay by which it may be shorter or longer: what failed together does not come back together. */
  retryJitter: 0.1,
  /** A receiver that says `Retry-After: 0` would use up its attempts within a second. */
  retryAfterMsMin: 1_000,
  retryAfterMsMax: 3_600_000,

  /** Due deliveries that one look reads; enough to fill every place unless somebody has a long backlog. */
  duePage: 64,
  /** Read when the first page had work for fewer places than are free: what waits behind that backlog. A ledger reads no more at once. */
  duePageWide: 1_000,
  /** At most one wide look in this time: it costs milliseconds. */
  wideLookMs: 1_000,
  /** When a wide page is full, what a tenant has beyond these is put off, so that the next page shows other tenants. */
  dueKeptPerTenant: 64,
  /** By so much; about the time in which the kept ones are made. */
  putOffMs: 10_000,
  /** How soon the deliverer looks again when something is due that found no place. */
  crowdedLookMs: 1_000,
  /** A timer's longest wait; a wall clock that was set forward is noticed within it. */
  lookMsMax: 60_000,
  /** How soon a write or a read that failed is tried again. */
  ledgerRetryMs: 1_000,

  errorCharsMax: 200,
} as const;

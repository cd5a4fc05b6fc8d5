// How large a limit may be, and how many of them there may be.

export const limitBounds = {
  /** With {@link burstMax} it keeps a bucket's units well within what a number holds exactly. */
  perMinuteMax: 1_000_000,
  burstMax: 1_000_000,
  executionsPerDayMax: 1_000_000_000,
  cpuSecondsPerDayMax: 1_000_000_000,
  egressBytesPerDayMax: 2 ** 50,
  concurrentExecutionsMax: 1_000_000,
  queueDepthMax: 1_000_000,
  timeZoneCharsMax: 64,
  /** Set by one side, the operator or the tenant. */
  limitsPerTenantMax: 1_000,
} as const;

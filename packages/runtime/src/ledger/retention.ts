// What a ledger answers when it lets go of what is old.

export interface Trimmed {
  /** Ended calls that were removed, each with its attempts, events, approvals, stream and late results. */
  readonly calls: number;
  /** Ended sessions, each with its history, inbox, events, journal and approvals. */
  readonly sessions: number;
  /** Deliveries to webhooks that are over. */
  readonly deliveries: number;
  /** Whether there was more than it was allowed to remove at once. */
  readonly more: boolean;
}

/** References (`sha256:…`) into a tenant's part of the content store. */
export interface WantedContent {
  readonly files: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
}

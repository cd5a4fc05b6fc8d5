// What the ledger keeps so that people outside hear of approvals: notices, the webhooks that want them, and each delivery.

/** One thing that happened to an approval; hashes, names and counts, never arguments. */
export interface Notice {
  /** `approval.requested`, `approval.voted`, `approval.edited`, `approval.approved`, `approval.rejected` … */
  readonly type: string;
  readonly tenant: string;
  readonly approvalId: string;
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Webhook {
  readonly tenant: string;
  readonly webhookId: string;
  readonly url: string;
  /** The signing secret, sealed by a key outside the database. */
  readonly sealedSecret: string;
  /** Types of notices it wants; empty = all. */
  readonly types: readonly string[];
  readonly createdAt: number;
  readonly createdBy: string;
}

export type DeliveryState = "pending" | "delivered" | "dead";

/** One notice on its way to one webhook; at least once, until it is delivered or dead. */
export interface Delivery {
  readonly tenant: string;
  /** The same on every attempt, so that a receiver can drop repeats. */
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly notice: Notice;
  readonly state: DeliveryState;
  /** Attempts made so far. */
  readonly attempts: number;
  /** The stored instant of the next attempt; null when there is none. */
  readonly nextAt: number | null;
  readonly endedAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** A delivery that is due, with what is needed to make it. */
export interface DueDelivery {
  readonly delivery: Delivery;
  readonly webhook: Webhook;
}

// Indexes over all approvals and all deliveries, each with a condition of its own that all its rows meet.
//
// Without one a plan that is made while the table is small may look for a row in any of them that begins with its tenant, through all that the
// tenant has, and is kept when the table has grown. A query is answered by an index whose condition it says, and by no other.
import { pendingSql } from "../../sqlite/governance-schema.ts";

export const approvalsByTimeSql = "opened_at >= 0";
// Not of the state: whoever says that it is pending would say that too.
export const approvalsByStateSql = "revision >= 0";
export const approvalsDueSql = "expires_at >= 0";
export const deliveriesInOrderSql = "notice_id > 0";
export const deliveriesByStateSql = "attempts >= 0";
export const deliveriesByWebhookSql = "webhook_id <> ''";

/** In the place of the ones of schema 1: a build of that time finds its rows without them, only slower. */
export const guardedIndexes: readonly string[] = [
  `DROP INDEX approvals_due, approvals_by_time, approvals_by_state, approvals_by_call,
    deliveries_due, deliveries_in_order, deliveries_by_state, deliveries_by_webhook`,
  `CREATE INDEX approvals_due ON approvals (expires_at, tenant, approval_id) WHERE ${pendingSql} AND ${approvalsDueSql}`,
  `CREATE INDEX approvals_by_time ON approvals (tenant, opened_at, approval_id) WHERE ${approvalsByTimeSql}`,
  `CREATE INDEX approvals_by_state ON approvals (tenant, state, opened_at, approval_id) WHERE ${approvalsByStateSql}`,
  // Whoever names a call says that there is one.
  "CREATE INDEX approvals_by_call ON approvals (tenant, call_id, opened_at, approval_id) WHERE call_id IS NOT NULL",
  // Whoever asks what is due by an instant says that there is one.
  `CREATE INDEX deliveries_due ON deliveries (next_at, notice_id, delivery_id) WHERE ${pendingSql} AND next_at IS NOT NULL`,
  `CREATE INDEX deliveries_in_order ON deliveries (tenant, notice_id, delivery_id) WHERE ${deliveriesInOrderSql}`,
  `CREATE INDEX deliveries_by_state ON deliveries (tenant, state, notice_id, delivery_id) WHERE ${deliveriesByStateSql}`,
  `CREATE INDEX deliveries_by_webhook ON deliveries (tenant, webhook_id, notice_id, delivery_id) WHERE ${deliveriesByWebhookSql}`,
];

// Webhooks and deliveries as callers see them; the sealed secret stays inside.
import { iso } from "../../../call/view.ts";
import type { Delivery, Webhook } from "../../../ledger/webhooks.ts";
import { isoOrNull } from "./times.ts";

export function webhookView(webhook: Webhook): Record<string, unknown> {
  return {
    webhook_id: webhook.webhookId,
    url: webhook.url,
    types: webhook.types,
    created_at: iso(webhook.createdAt),
    created_by: webhook.createdBy,
  };
}

export function deliveryView(delivery: Delivery): Record<string, unknown> {
  const { notice } = delivery;
  return {
    delivery_id: delivery.deliveryId,
    webhook_id: delivery.webhookId,
    type: notice.type,
    approval_id: notice.approvalId,
    at: iso(notice.at),
    data: notice.data,
    state: delivery.state,
    attempts: delivery.attempts,
    next_at: isoOrNull(delivery.nextAt),
    ended_at: isoOrNull(delivery.endedAt),
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
  };
}

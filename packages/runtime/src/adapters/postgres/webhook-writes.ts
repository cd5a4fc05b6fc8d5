// Writes notices with a delivery for every webhook that wants them, and what becomes of each delivery.
import { encode, insertSql } from "../sqlite/columns.ts";
import { noticeColumns, webhookColumns } from "../sqlite/governance-columns.ts";
import { pendingSql } from "../sqlite/governance-schema.ts";
import { deliveryIdOf } from "../sqlite/notice-writes.ts";
import { deliveriesByWebhookSql } from "./schema/guarded-indexes.ts";
import type { WritersOf } from "./writers-of.ts";

export type WebhookWriters = WritersOf<"insert_webhook" | "remove_webhook" | "append_notice" | "put_delivery">;

const insertWebhook = insertSql("webhooks", webhookColumns, "ON CONFLICT DO NOTHING");
const deleteWebhook = "DELETE FROM webhooks WHERE tenant = ? AND webhook_id = ?";
const giveUp = `UPDATE deliveries SET state = 'dead', next_at = NULL, ended_at = ?, last_error = 'the webhook was removed'
  WHERE tenant = ? AND webhook_id = ? AND ${pendingSql} AND ${deliveriesByWebhookSql}`;
const insertNotice = insertSql("notices", noticeColumns, "RETURNING id");
// Held until the commit: a removal that comes meanwhile would not see the delivery, which then waited for ever.
const wanting = "SELECT webhook_id, types_json FROM webhooks WHERE tenant = ? ORDER BY webhook_id FOR KEY SHARE";
const insertDeliveries = `INSERT INTO deliveries (tenant, delivery_id, webhook_id, notice_id, state, attempts, next_at)
  SELECT ?, delivery_id, webhook_id, ?, 'pending', 0, ?
  FROM unnest(?::text[], ?::text[]) AS wanted (delivery_id, webhook_id)`;
const updateDelivery = `UPDATE deliveries
  SET state = ?, attempts = ?, next_at = ?, ended_at = ?, last_status = ?, last_error = ?
  WHERE tenant = ? AND delivery_id = ? AND ${pendingSql}`;

interface WebhookRow {
  readonly webhook_id: string;
  readonly types_json: string;
}

function wants({ types_json }: WebhookRow, type: string): boolean {
  const types = JSON.parse(types_json) as readonly string[];
  return types.length === 0 || types.includes(type);
}

export const webhookWriters: WebhookWriters = {
  insert_webhook: async (tx, { row }) => (await tx.run(insertWebhook, encode(webhookColumns, row))) === 1,
  async remove_webhook(tx, { tenant, webhookId, at }) {
    if ((await tx.run(deleteWebhook, [tenant, webhookId])) !== 1) return false;
    await tx.run(giveUp, [at, tenant, webhookId]);
    return true;
  },
  async append_notice(tx, { notice }) {
    const { tenant, type, at } = notice;
    const [stored] = await tx.rows<{ readonly id: number }>(insertNotice, encode(noticeColumns, notice));
    if (stored === undefined) throw new Error("the ledger gave a notice no id");
    const hooks = (await tx.rows<WebhookRow>(wanting, [tenant])).filter((row) => wants(row, type));
    if (hooks.length === 0) return true;
    const ids = hooks.map(({ webhook_id }) => webhook_id);
    const deliveryIds = ids.map((webhookId) => deliveryIdOf(tenant, webhookId, stored.id));
    await tx.run(insertDeliveries, [tenant, stored.id, at, deliveryIds, ids]);
    return true;
  },
  async put_delivery(tx, { row }) {
    const { state, attempts, nextAt, endedAt, lastStatus, lastError, tenant, deliveryId } = row;
    await tx.run(updateDelivery, [state, attempts, nextAt, endedAt, lastStatus, lastError, tenant, deliveryId]);
    return true;
  },
};

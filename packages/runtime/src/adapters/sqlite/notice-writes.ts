// Writes notices with a delivery for every webhook that wants them, and what becomes of each delivery.
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { encode, insertSql } from "./columns.ts";
import { deliveryColumns, noticeColumns, webhookColumns } from "./governance-columns.ts";
import { pendingSql } from "./governance-schema.ts";
import type { WritersOf } from "./writers-of.ts";

type NoticeWriters = WritersOf<"insert_webhook" | "remove_webhook" | "append_notice" | "put_delivery">;

/** By notice and webhook; hashed, because the ledger's own count is no tenant's business. */
export function deliveryIdOf(tenant: string, webhookId: string, noticeId: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([tenant, webhookId, noticeId]))
    .digest("hex");
  return `dlv_${digest.slice(0, 32)}`;
}

export function noticeWriters(db: DatabaseSync): NoticeWriters {
  const insertWebhook = db.prepare(insertSql("webhooks", webhookColumns, "ON CONFLICT DO NOTHING"));
  const deleteWebhook = db.prepare("DELETE FROM webhooks WHERE tenant = ? AND webhook_id = ?");
  const giveUp = db.prepare(
    `UPDATE deliveries SET state = 'dead', next_at = NULL, ended_at = ?, last_error = 'the webhook was removed'
      WHERE tenant = ? AND webhook_id = ? AND ${pendingSql}`,
  );
  const insertNotice = db.prepare(insertSql("notices", noticeColumns, "RETURNING id"));
  const wanting = db.prepare("SELECT webhook_id, types_json FROM webhooks WHERE tenant = ? ORDER BY webhook_id");
  const insertDelivery = db.prepare(insertSql("deliveries", deliveryColumns));
  const updateDelivery = db.prepare(
    `UPDATE deliveries SET state = ?, attempts = ?, next_at = ?, ended_at = ?, last_status = ?, last_error = ?
      WHERE tenant = ? AND delivery_id = ? AND ${pendingSql}`,
  );
  return {
    insert_webhook: ({ row }) => insertWebhook.run(...encode(webhookColumns, row)).changes === 1,
    remove_webhook: ({ tenant, webhookId, at }) => {
      if (deleteWebhook.run(tenant, webhookId).changes !== 1) return false;
      giveUp.run(at, tenant, webhookId);
      return true;
    },
    append_notice: ({ notice }) => {
      const { tenant, type, at } = notice;
      const noticeId = Number(insertNotice.get(...encode(noticeColumns, notice))?.["id"]);
      for (const row of wanting.all(tenant)) {
        const types = JSON.parse(String(row["types_json"])) as readonly string[];
        if (types.length > 0 && !types.includes(type)) continue;
        const webhookId = String(row["webhook_id"]);
        const deliveryId = deliveryIdOf(tenant, webhookId, noticeId);
        const fresh = { state: "pending", attempts: 0, nextAt: at, endedAt: null, lastStatus: null, lastError: null };
        insertDelivery.run(...encode(deliveryColumns, { tenant, deliveryId, webhookId, noticeId, ...fresh }));
      }
      return true;
    },
    put_delivery: ({ row }) => {
      const { state, attempts, nextAt, endedAt, lastStatus, lastError, tenant, deliveryId } = row;
      updateDelivery.run(state, attempts, nextAt, endedAt, lastStatus, lastError, tenant, deliveryId);
      return true;
    },
  };
}

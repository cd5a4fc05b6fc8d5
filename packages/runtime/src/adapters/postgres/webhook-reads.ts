// Reads webhooks and deliveries with the notices they carry, and which deliveries are due.
import type { Ledger } from "../../ledger/port.ts";
import type { Webhook } from "../../ledger/webhooks.ts";
import { decode } from "../sqlite/columns.ts";
import { webhookColumns } from "../sqlite/governance-columns.ts";
import { pendingSql } from "../sqlite/governance-schema.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { deliveryOf, joinedColumns } from "../sqlite/webhook-reads.ts";
import { rowsOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";
import { deliveriesByStateSql, deliveriesByWebhookSql, deliveriesInOrderSql } from "./schema/guarded-indexes.ts";

const { d, n, w } = joinedColumns;
const withNotice = "deliveries AS d JOIN notices AS n ON n.id = d.notice_id";

export type WebhookReads = Pick<Ledger, "webhooks" | "dueDeliveries" | "nextDeliveryAt" | "listDeliveries">;

export function webhookReads(db: Db): WebhookReads {
  return {
    webhooks: (tenant) =>
      rowsOf<Webhook>(db, webhookColumns, "webhooks WHERE tenant = ? ORDER BY created_at, webhook_id", tenant),
    async dueDeliveries(until, limit) {
      const rows = await db.rows(
        `SELECT ${d.list}, ${n.list}, ${w.list} FROM ${withNotice}
          JOIN webhooks AS w ON w.tenant = d.tenant AND w.webhook_id = d.webhook_id
          WHERE d.${pendingSql} AND d.next_at <= ? ORDER BY d.next_at, d.notice_id, d.delivery_id LIMIT ?`,
        [until, limit],
      );
      return rows.map((row) => ({ delivery: deliveryOf(row).delivery, webhook: decode<Webhook>(w.columns, row) }));
    },
    async nextDeliveryAt() {
      const sql = `SELECT next_at FROM deliveries WHERE ${pendingSql} AND next_at IS NOT NULL ORDER BY next_at LIMIT 1`;
      return (await db.rows<{ readonly next_at: number }>(sql, []))[0]?.next_at;
    },
    async listDeliveries(tenant, filter, limit, cursor) {
      const where = conditions()
        .equal("d.tenant", tenant)
        .equal("d.webhook_id", filter.webhookId)
        .equal("d.state", filter.state)
        .also(`d.${listedBy(filter)}`)
        .before(["d.notice_id", "d.delivery_id"], fittingCursor(cursor, "number", "text"));
      const sql = `SELECT ${d.list}, ${n.list} FROM ${withNotice} WHERE ${where.sql()}
        ORDER BY d.notice_id DESC, d.delivery_id DESC LIMIT ?`;
      const found = (await db.rows(sql, [...where.values(), limit + 1])).map(deliveryOf);
      const page = pageOf(found, limit, ({ noticeId, delivery }) => [noticeId, delivery.deliveryId]);
      return { items: page.items.map(({ delivery }) => delivery), next: page.next };
    },
  };
}

/** What the index says that the list is read along. */
function listedBy({ webhookId, state }: { readonly webhookId?: string; readonly state?: string }): string {
  if (webhookId !== undefined) return deliveriesByWebhookSql;
  return state === undefined ? deliveriesInOrderSql : deliveriesByStateSql;
}

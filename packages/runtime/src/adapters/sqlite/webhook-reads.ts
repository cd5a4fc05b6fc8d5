// Reads webhooks and deliveries with the notices they carry, and which deliveries are due.
import type { Page } from "../../ledger/port.ts";
import type { Delivery, DueDelivery, Notice, Webhook } from "../../ledger/webhooks.ts";
import { decode, type Column, type SqlRow } from "./columns.ts";
import { deliveryColumns, noticeColumns, webhookColumns } from "./governance-columns.ts";
import { pendingSql } from "./governance-schema.ts";
import { conditions, pageOf } from "./paging.ts";
import { rowReader, type Prepared } from "./reads.ts";

/** Columns of a joined table under names that no other table has. */
function aliased(table: string, columns: readonly Column[]) {
  const under = columns.map((column) => ({ ...column, name: `${table}_${column.name}` }));
  return { columns: under, list: columns.map(({ name }, at) => `${table}.${name} AS ${under[at]?.name}`).join(", ") };
}

const d = aliased("d", deliveryColumns);
const n = aliased("n", noticeColumns);
const w = aliased("w", webhookColumns);

/** Of deliveries, notices and webhooks under these names. */
export const joinedColumns = { d, n, w };

export function deliveryOf(row: SqlRow): { readonly delivery: Delivery; readonly noticeId: number } {
  const { noticeId, ...rest } = decode<Omit<Delivery, "notice"> & { readonly noticeId: number }>(d.columns, row);
  return { delivery: { ...rest, notice: decode<Notice>(n.columns, row) }, noticeId };
}

const withNotice = "deliveries AS d JOIN notices AS n ON n.id = d.notice_id";

export function webhookReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    webhooks: (tenant: string) =>
      rows<Webhook>(webhookColumns, "webhooks WHERE tenant = ? ORDER BY created_at, webhook_id", tenant),
    dueDeliveries: (until: number, limit: number): readonly DueDelivery[] =>
      prepared(
        `SELECT ${d.list}, ${n.list}, ${w.list} FROM ${withNotice}
          JOIN webhooks AS w ON w.tenant = d.tenant AND w.webhook_id = d.webhook_id
          WHERE d.${pendingSql} AND d.next_at <= ? ORDER BY d.next_at, d.notice_id, d.delivery_id LIMIT ?`,
      )
        .all(until, limit)
        .map((row) => ({ delivery: deliveryOf(row).delivery, webhook: decode<Webhook>(w.columns, row) })),
    nextDeliveryAt(): number | undefined {
      const row = prepared(
        `SELECT next_at FROM deliveries WHERE ${pendingSql} AND next_at IS NOT NULL ORDER BY next_at LIMIT 1`,
      ).get();
      return row === undefined ? undefined : Number(row["next_at"]);
    },
    listDeliveries(
      tenant: string,
      filter: { readonly webhookId?: string; readonly state?: Delivery["state"] },
      limit: number,
      cursor?: string,
    ): Page<Delivery> {
      const where = conditions()
        .equal("d.tenant", tenant)
        .equal("d.webhook_id", filter.webhookId)
        .equal("d.state", filter.state)
        .before(["d.notice_id", "d.delivery_id"], cursor);
      const found = prepared(
        `SELECT ${d.list}, ${n.list} FROM ${withNotice} WHERE ${where.sql()}
          ORDER BY d.notice_id DESC, d.delivery_id DESC LIMIT ?`,
      )
        .all(...where.values(), limit + 1)
        .map(deliveryOf);
      const page = pageOf(found, limit, ({ noticeId, delivery }) => [noticeId, delivery.deliveryId]);
      return { items: page.items.map(({ delivery }) => delivery), next: page.next };
    },
  };
}

// Reads webhooks and what is to be delivered to them.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";

export type WebhookReads = Pick<Ledger, "webhooks" | "dueDeliveries" | "nextDeliveryAt" | "listDeliveries">;

export function webhookReads(_db: Db): WebhookReads {
  return unwritten<WebhookReads>("webhooks");
}

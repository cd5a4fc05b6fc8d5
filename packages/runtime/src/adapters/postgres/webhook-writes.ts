// Writes webhooks, notices with a delivery for every webhook that wants them, and what becomes of each delivery.
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type WebhookWriters = WritersOf<"insert_webhook" | "remove_webhook" | "append_notice" | "put_delivery">;

export const webhookWriters: WebhookWriters = unwritten<WebhookWriters>("webhooks");

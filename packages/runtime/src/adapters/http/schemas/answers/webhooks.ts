// What answers tell of webhooks and deliveries.
import { z } from "zod";
import { anyObject, at, atOrNull, count, countOrNull, pageOf, texts } from "./common.ts";

const webhookFields = {
  webhook_id: z.string(),
  url: z.string(),
  types: texts.describe("Types of notices that it wants; empty: all"),
  created_at: at,
  created_by: z.string(),
};

const webhook = z.strictObject(webhookFields).meta({ id: "Webhook", description: "Who is told of approvals" });

export const madeWebhook = z
  .strictObject({ ...webhookFields, secret: z.string().describe("Signs what is posted; shown this once") })
  .meta({ id: "MadeWebhook", description: "A new webhook with its secret" });

export const webhookPage = pageOf("WebhookPage", webhook);

export const removedWebhook = z
  .strictObject({ webhook_id: z.string(), removed: z.literal(true) })
  .meta({ id: "RemovedWebhook", description: "A webhook that is gone" });

const delivery = z
  .strictObject({
    delivery_id: z.string().describe("The same on every attempt"),
    webhook_id: z.string(),
    type: z.string(),
    approval_id: z.string(),
    at: at.describe("When it happened"),
    data: anyObject.describe("Hashes, names and counts; never arguments"),
    state: z.enum(["pending", "delivered", "dead"]),
    attempts: count,
    next_at: atOrNull,
    ended_at: atOrNull,
    last_status: countOrNull.describe("HTTP status of the last attempt"),
    last_error: z.string().nullable(),
  })
  .meta({ id: "Delivery", description: "One notice on its way to one webhook" });

export const deliveryPage = pageOf("DeliveryPage", delivery);

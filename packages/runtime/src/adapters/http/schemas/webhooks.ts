// What requests about webhooks may say; where a webhook may point is the runtime's to judge.
import { z } from "zod";
import { httpLimits } from "../http-limits.ts";
import { cursor, listLimit, name } from "./fields.ts";

const url = z
  .string()
  .max(httpLimits.urlCharsMax)
  .refine((text) => ["http:", "https:"].includes(URL.parse(text)?.protocol ?? ""), {
    error: "must be an absolute http or https URL",
  })
  .describe("Where notices are posted; an absolute http or https URL");

export const webhookBody = z
  .strictObject({
    url,
    types: z
      .array(name)
      .max(httpLimits.noticeTypesMax)
      .optional()
      .describe("Types of notices, such as `approval.requested`; all of them, without it"),
  })
  .meta({ id: "NewWebhook", description: "Who is to be told of approvals" });

export const deliveriesQuery = z.strictObject({
  webhook_id: name.optional().describe("Deliveries to this webhook"),
  state: z.enum(["pending", "delivered", "dead"]).optional().describe("Deliveries in this state"),
  limit: listLimit,
  cursor: cursor.optional(),
});

// What requests about webhooks may say; where a webhook may point is the runtime's to judge.
import { z } from "zod";
import { httpLimits } from "../http-limits.ts";
import { cursor, listLimit, name } from "./fields.ts";

const url = z
  .string()
  .max(httpLimits.urlCharsMax)
  .refine((text) => ["http:", "https:"].includes(URL.parse(text)?.protocol ?? ""), {
    error: "must be an absolute http or https URL",
  });

export const webhookBody = z.strictObject({ url, types: z.array(name).max(httpLimits.noticeTypesMax).optional() });

export const deliveriesQuery = z.strictObject({
  webhook_id: name.optional(),
  state: z.enum(["pending", "delivered", "dead"]).optional(),
  limit: listLimit,
  cursor: cursor.optional(),
});

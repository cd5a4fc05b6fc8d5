// What a request for audit records may say.
import { z } from "zod";
import { cursor, executionId, instant, listLimit, name } from "./fields.ts";

export const auditQuery = z.strictObject({
  principal: name.optional().describe("Records about what this principal did"),
  action: name.optional().describe("Records of this action, such as `call.denied`"),
  execution_id: executionId.optional().describe("Records about this call"),
  from: instant.optional().describe("Records of this instant or later"),
  to: instant.optional().describe("Records before this instant"),
  limit: listLimit,
  cursor: cursor.optional(),
});

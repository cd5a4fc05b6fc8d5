// What a request for audit records may say.
import { z } from "zod";
import { cursor, executionId, instant, listLimit, name } from "./fields.ts";

export const auditQuery = z.strictObject({
  principal: name.optional(),
  action: name.optional(),
  execution_id: executionId.optional(),
  from: instant.optional(),
  to: instant.optional(),
  limit: listLimit,
  cursor: cursor.optional(),
});

// What a request for audit records may say.
import { callIdCharsMax } from "@signalbox/protocol";
import { z } from "zod";
import { cursor, instant, listLimit, name } from "./fields.ts";

export const auditQuery = z.strictObject({
  principal: name.optional(),
  action: name.optional(),
  execution_id: z.string().min(1).max(callIdCharsMax).optional(),
  from: instant.optional(),
  to: instant.optional(),
  limit: listLimit,
  cursor: cursor.optional(),
});

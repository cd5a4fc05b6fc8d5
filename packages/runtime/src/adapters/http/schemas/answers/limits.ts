// What answers tell of limits and usage.
import { z } from "zod";
import { limitScopes, usageGroups } from "../../../../schedule/types.ts";
import { at, count, ms, pageOf } from "./common.ts";

const rate = z.strictObject({ per_minute: z.int(), burst: z.int() });

/** Only what is set. */
const quotas = z.strictObject({
  executions_per_day: z.int().optional(),
  cpu_seconds_per_day: z.int().optional(),
  egress_bytes_per_day: z.int().optional(),
  concurrent_executions: z.int().optional(),
  queue_depth: z.int().optional(),
});

export const limit = z
  .strictObject({
    tenant: z.string().describe("Whose calls; `platform`: of every tenant"),
    set_by: z.enum(["operator", "tenant"]).describe("Both hold, side by side"),
    scope: z.enum(limitScopes),
    subject: z.string().describe("Empty: of the scopes platform and tenant"),
    rate: rate.nullable(),
    quotas: quotas.describe("What is not in it is not limited here"),
    time_zone: z.string().nullable(),
    changed_at: at,
    changed_by: z.string(),
  })
  .meta({ id: "Limit", description: "How much may be asked, and by whom" });

export const limitPage = pageOf("LimitPage", limit);

export const removedLimit = z
  .strictObject({ removed: z.boolean().describe("False: there was none") })
  .meta({ id: "RemovedLimit", description: "What removing came to" });

const usageRow = z
  .strictObject({
    tenant: z.string().optional(),
    project: z.string().optional(),
    tool: z.string().optional(),
    day: z.iso.date().optional(),
    executions: count.describe("Calls that were admitted on these days and have ended"),
    succeeded: count,
    failed: count,
    timed_out: count,
    cancelled: count,
    denied: count.describe("Also those that were refused before their admission, which are no executions"),
    cache_hits: count.describe("Answered with the result of an earlier call"),
    duration_ms: ms,
    cpu_ms: ms,
    peak_memory_bytes: count.describe("The largest of one call"),
    egress_bytes: count,
    input_bytes: count,
    output_bytes: count,
  })
  .meta({ id: "Usage", description: "What calls used; it has the names by which it was grouped" });

export const usagePage = z
  .strictObject({
    items: z.array(usageRow),
    next_cursor: z.string().nullable().describe("For the next page; null on the last one"),
    group_by: z.array(z.enum(usageGroups)),
    time_zone: z.string().nullable().describe("In which the days are; null for all tenants, each of which has its own"),
  })
  .meta({ id: "UsagePage", description: "One page of usage" });

// What requests about limits and usage may say.
import { z } from "zod";
import { limitBounds } from "../../../schedule/bounds.ts";
import { limitScopes, usageGroups, type Quotas, type UsageGroup } from "../../../schedule/types.ts";
import type { LimitTarget, NewLimit, UsageQuestion } from "../../../service-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, listLimit, name } from "./fields.ts";
import { toldAs } from "./told-as.ts";

const upTo = (max: number): z.ZodInt => z.int().min(1).max(max);

const tenant = name.optional().describe("For operators: whose calls; without it the operator's own tenant");

/** One for each quota, by the names of the doors. */
export const quotaFields = {
  executions_per_day: upTo(limitBounds.executionsPerDayMax).optional().describe("Calls that are admitted on one day"),
  cpu_seconds_per_day: upTo(limitBounds.cpuSecondsPerDayMax)
    .optional()
    .describe("CPU time of a day's calls, told when they end"),
  egress_bytes_per_day: upTo(limitBounds.egressBytesPerDayMax)
    .optional()
    .describe("Bytes that a day's calls send out of boxes"),
  concurrent_executions: upTo(limitBounds.concurrentExecutionsMax)
    .optional()
    .describe("Calls that work at once; the others wait"),
  queue_depth: upTo(limitBounds.queueDepthMax).optional().describe("Calls that wait for a worker"),
};

const rate = z.strictObject({
  per_minute: upTo(limitBounds.perMinuteMax).describe("Calls a minute, in the long run"),
  burst: upTo(limitBounds.burstMax).describe("Calls at once"),
});

export const limitBody = z
  .strictObject({
    scope: z.enum(limitScopes).describe("How wide it reaches"),
    subject: name.optional().describe("Which project, principal, agent or tool; `*`: each that has no limit of its own"),
    rate: rate.optional().describe("A bucket of calls"),
    quotas: z.strictObject(quotaFields).optional().describe("Of a tenant or a project"),
    time_zone: z
      .string()
      .min(1)
      .max(limitBounds.timeZoneCharsMax)
      .optional()
      .describe("Where the tenant's day begins, such as `Europe/Paris`; UTC where nobody says"),
  })
  .meta({ id: "NewLimit", description: "The whole of a limit: what is left out does not hold" });

export const limitsQuery = z.strictObject({ tenant, limit: listLimit, cursor: cursor.optional() });
export const putLimitQuery = z.strictObject({ tenant });
export const removeLimitQuery = z.strictObject({
  tenant,
  scope: z.enum(limitScopes).describe("As it was set"),
  subject: name.optional().describe("As it was set; none for the scopes platform and tenant"),
});

export function newLimit(query: unknown, body: unknown): NewLimit {
  const { tenant: whose } = check(putLimitQuery, query, "query");
  const { scope, subject = "", rate: given, quotas = {}, time_zone: timeZone = null } = check(limitBody, body, "body");
  return {
    ...defined({ tenant: whose }),
    scope,
    subject,
    rate: given === undefined ? null : { perMinute: given.per_minute, burst: given.burst },
    quotas: quotasOf(quotas),
    timeZone,
  };
}

function quotasOf(given: z.output<z.ZodObject<typeof quotaFields>>): Quotas {
  return defined({
    executionsPerDay: given.executions_per_day,
    cpuSecondsPerDay: given.cpu_seconds_per_day,
    egressBytesPerDay: given.egress_bytes_per_day,
    concurrentExecutions: given.concurrent_executions,
    queueDepth: given.queue_depth,
  });
}

export function limitTarget(query: unknown): LimitTarget {
  const { tenant: whose, scope, subject = "" } = check(removeLimitQuery, query, "query");
  return { ...defined({ tenant: whose }), scope, subject };
}

const day = z
  .string()
  .regex(/^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$/, { error: "must be a day, such as 2026-01-31" })
  .register(toldAs, { schema: { type: "string", format: "date" } });

const isGroup = (word: string): word is UsageGroup => (usageGroups as readonly string[]).includes(word);

/** `project,day`; each once. */
const groups = z
  .string()
  .transform((text) => (text === "" ? [] : text.split(",")))
  .refine((words): words is UsageGroup[] => words.every(isGroup) && new Set(words).size === words.length, {
    error: `must be some of ${usageGroups.join(", ")}, with commas between them`,
  })
  .register(toldAs, { schema: { type: "string", default: "tool" } });

export const usageQuery = z.strictObject({
  tenant: name.optional().describe("For operators: one tenant, or `*` for all; without it the operator's own"),
  project: name.optional().describe("Usage of this project"),
  tool: name.optional().describe("Usage of this tool"),
  from: day.optional().describe("First day, by the tenant's time zone"),
  to: day.optional().describe("Last day, itself included"),
  group_by: groups
    .optional()
    .describe("Some of `tenant`, `project`, `tool`, `day`, in the order of the answer; empty: one row for all"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export interface UsageAsked {
  readonly question: UsageQuestion;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export function usageAsked(query: unknown): UsageAsked {
  const { group_by: groupBy = ["tool" as const], limit, cursor: from, ...rest } = check(usageQuery, query, "query");
  return { question: defined({ ...rest, groupBy }), limit, cursor: from };
}

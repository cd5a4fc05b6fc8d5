// Limits and usage as callers see them.
import { iso } from "../../../call/view.ts";
import { quotasInWords } from "../../../corridor/limits-admin.ts";
import type { Limit, UsageRow } from "../../../schedule/types.ts";

export function limitView({ tenant, setBy, scope, subject, rate, quotas, timeZone, changedAt, changedBy }: Limit): Record<string, unknown> {
  return {
    tenant,
    set_by: setBy,
    scope,
    subject,
    rate: rate === null ? null : { per_minute: rate.perMinute, burst: rate.burst },
    quotas: quotasInWords(quotas),
    time_zone: timeZone,
    changed_at: iso(changedAt),
    changed_by: changedBy,
  };
}

/** Names by which it was not grouped are left out. */
export function usageView({ tenant, project, tool, day, ...sums }: UsageRow): Record<string, unknown> {
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(project === undefined ? {} : { project }),
    ...(tool === undefined ? {} : { tool }),
    ...(day === undefined ? {} : { day }),
    executions: sums.executions,
    succeeded: sums.succeeded,
    failed: sums.failed,
    timed_out: sums.timedOut,
    cancelled: sums.cancelled,
    denied: sums.denied,
    cache_hits: sums.cacheHits,
    duration_ms: sums.durationUs / 1_000,
    cpu_ms: sums.cpuUs / 1_000,
    peak_memory_bytes: sums.peakMemoryBytes,
    egress_bytes: sums.egressBytes,
    input_bytes: sums.inputBytes,
    output_bytes: sums.outputBytes,
  };
}

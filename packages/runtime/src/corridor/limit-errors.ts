// What a caller is told who met a limit: which one, how much of it is left, and when to come again.
import { SignalboxError, timeInWords } from "@signalbox/protocol";
import type { MatchedRate } from "../schedule/limit-book.ts";
import type { BrokenQuota, DayQuotaName } from "../schedule/quotas.ts";
import type { Standing } from "../schedule/buckets.ts";
import type { Day, LimitScope, QuotaName } from "../schedule/types.ts";

/** The names of quotas as they cross the doors. */
export const quotaWords: { readonly [Name in QuotaName]: string } = {
  executionsPerDay: "executions_per_day",
  cpuSecondsPerDay: "cpu_seconds_per_day",
  egressBytesPerDay: "egress_bytes_per_day",
  concurrentExecutions: "concurrent_executions",
  queueDepth: "queue_depth",
};

const inSeconds = (ms: number): number => Math.ceil(ms / 1_000);

/** `the limit of tool payments.charge`, `the platform's limit`. */
function whose(scope: LimitScope, subject: string): string {
  if (scope === "platform") return "the platform's limit";
  return subject === "" ? `the limit of this ${scope}` : `the limit of the ${scope} ${subject}`;
}

export function rateLimited({ limit, rate, subject }: MatchedRate, { remaining, resetMs }: Standing, waitMs: number): SignalboxError {
  const { perMinute, burst } = rate;
  const { scope, setBy } = limit;
  const message = `${whose(scope, subject)} is ${perMinute} calls a minute, ${burst} at once; come again in ${timeInWords(inSeconds(waitMs) * 1_000)}`;
  return new SignalboxError("rate_limited", message, {
    details: {
      scope,
      subject,
      set_by: setBy,
      per_minute: perMinute,
      limit: burst,
      remaining,
      reset_s: inSeconds(resetMs),
      retry_after_s: inSeconds(waitMs),
    },
  });
}

const units: { readonly [Name in DayQuotaName]: string } = {
  executionsPerDay: "calls",
  cpuSecondsPerDay: "seconds of CPU time",
  egressBytesPerDay: "bytes sent out",
};

export function quotaExceeded({ name, quota, used }: BrokenQuota, day: Day, timeZone: string, now: number): SignalboxError {
  const { limit, scope, subject, max } = quota;
  const leftMs = Math.max(1, day.until - now);
  const place = scope === "tenant" ? "this tenant" : `the project ${subject}`;
  const message = `${place} has used its ${max} ${units[name]} of ${day.label} (${timeZone}); the next day begins in ${timeInWords(inSeconds(leftMs) * 1_000)}`;
  return new SignalboxError("quota_exceeded", message, {
    details: {
      quota: quotaWords[name],
      scope,
      subject,
      set_by: limit.setBy,
      limit: max,
      used,
      remaining: 0,
      day: day.label,
      time_zone: timeZone,
      reset_s: inSeconds(leftMs),
      retry_after_s: inSeconds(leftMs),
    },
  });
}

export function queueFull(scope: "tenant" | "project", subject: string, max: number): SignalboxError {
  const place = scope === "tenant" ? "this tenant" : `the project ${subject}`;
  return new SignalboxError("queue_full", `${max} calls of ${place} are queued already; try again when some of them have ended`, {
    details: { scope, subject, limit: max, retry_after_s: 1 },
  });
}

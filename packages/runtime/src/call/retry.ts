// Whether a failed attempt of a call is followed by another one, and when: the rule of retries.
import { isSafe, type ErrorBody, type ErrorCode, type SideEffectClass } from "@signalbox/protocol";
import { backOffMs, type Curve } from "./back-off.ts";
import { retryAfterIn } from "./retry-after.ts";
import type { Call } from "./types.ts";

export interface RetryPolicy extends Curve {
  /** Attempts in all, the first one counted. */
  readonly attempts: number;
  /** Whether running longer than its timeout is worth another attempt. */
  readonly timeouts: boolean;
}

/** A longer wait that a tool asks for counts as this. */
export const retryAfterMsMax = 3_600_000;

/** They would come out the same again, or worse. */
const never: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid_input", "forbidden", "invalid_output", "resource_exceeded"]);

const once: RetryPolicy = { attempts: 1, strategy: "exponential", initialMs: 2_000, factor: 2, maxMs: 120_000, timeouts: false };

/** What a call's row keeps of its tool's policy, as JSON text; null where a failed attempt is the last one. */
export function pinnedRetry(policy: RetryPolicy, sideEffectClass: SideEffectClass): string | null {
  if (policy.attempts <= 1 || !isSafe(sideEffectClass)) return null;
  const { attempts, strategy, initialMs, factor, maxMs, timeouts } = policy;
  return JSON.stringify({ attempts, strategy, initial_ms: initialMs, factor, max_ms: maxMs, timeouts });
}

export function retryPolicyOf({ retryJson }: Pick<Call, "retryJson">): RetryPolicy {
  if (retryJson === null) return once;
  const { attempts, strategy, initial_ms: initialMs, factor, max_ms: maxMs, timeouts } = JSON.parse(retryJson) as PinnedRetry;
  return { attempts, strategy, initialMs, factor, maxMs, timeouts };
}

interface PinnedRetry extends Pick<RetryPolicy, "attempts" | "strategy" | "factor" | "timeouts"> {
  readonly initial_ms: number;
  readonly max_ms: number;
}

/**
 * The wait in ms before the next attempt; null: this failure is the call's end. An attempt that could only begin when the
 * caller's own deadline has passed is not waited for.
 * @param error of the attempt that has just ended
 */
export function retryDelayMs(call: Call, error: ErrorBody, now: number): number | null {
  if (call.retryJson === null || !isSafe(call.sideEffectClass) || call.cancelRequestedAt !== null) return null;
  const policy = retryPolicyOf(call);
  if (call.attempt >= policy.attempts || !isRetryable(policy, error)) return null;
  const asked = retryAfterIn(error.details?.["tool_details"], now) ?? retryAfterIn(error.details, now);
  const delayMs = asked === undefined ? backOffMs(policy, call.callId, call.attempt) : Math.min(Math.max(0, Math.round(asked)), retryAfterMsMax);
  return call.totalDeadlineAt !== null && now + delayMs >= call.totalDeadlineAt ? null : delayMs;
}

function isRetryable({ timeouts }: RetryPolicy, { code, retryable }: ErrorBody): boolean {
  if (code === "timeout") return timeouts;
  return retryable && !never.has(code);
}

// Building blocks of every transition: one draft of a change, with its events, audit records and effects in order.
import { errorBody, isSafe, type ErrorBody, type ErrorCode } from "@signalbox/protocol";
import type { CachedResult, Durability, Effect, Live, StepResult } from "./machine.ts";
import type { Attempt, Call, CallEventType, CallProgress, TerminalState } from "./types.ts";
import type { AuditDraft } from "./audit-draft.ts";
import { auditOf } from "./audit-of.ts";

/** A change being put together; `done` turns it into the step's answer. */
export interface Change {
  call: Call;
  lease: Attempt | null;
  readonly effects: Effect[];
  readonly now: number;
}

export function begin(live: Live, now: number): Change {
  return { call: live.call, lease: live.lease, effects: [], now };
}

export function set(change: Change, progress: Partial<CallProgress>): void {
  change.call = { ...change.call, ...progress };
}

export function tellEvent(change: Change, type: CallEventType, data: Readonly<Record<string, unknown>>): void {
  const seq = change.call.eventSeq + 1;
  set(change, { eventSeq: seq });
  change.effects.push({
    type: "event",
    event: {
      tenant: change.call.tenant,
      callId: change.call.callId,
      seq,
      at: change.now,
      type,
      dataJson: JSON.stringify(data),
    },
  });
}

export function tellAudit(change: Change, action: string, more: Partial<AuditDraft>): void {
  change.effects.push({ type: "audit", draft: { ...auditOf(change.call, action, change.now), ...more } });
}

export function done(change: Change, durability: Durability): StepResult {
  return { ok: true, live: { call: change.call, lease: change.lease }, effects: change.effects, durability };
}

export function refused(reason: string, effects: readonly Effect[] = []): StepResult {
  return { ok: false, reason, effects };
}

/** Ends the current lease in the records; the fence is raised when the worker might still speak under it. */
export function endLease(
  change: Change,
  endReason: string,
  options: { readonly raiseFence: boolean; /** Its worker has let go of it already. */ readonly returned?: boolean; readonly error?: ErrorBody },
): void {
  const lease = change.lease;
  if (lease !== null) {
    const row: Attempt = {
      ...lease,
      endedAt: change.now,
      endReason,
      error: options.error ?? null,
      usage: change.call.usage,
    };
    change.effects.push({ type: "attempt_ended", row });
    if (options.raiseFence && options.returned !== true) {
      change.effects.push({
        type: "send_cancel",
        fence: lease.fence,
        workerId: lease.workerId,
        incarnation: lease.incarnation,
        reason: "lost",
        graceMs: change.call.graceMs,
      });
    }
  }
  change.lease = null;
  set(change, {
    fence: options.raiseFence ? change.call.fence + 1 : change.call.fence,
    startDeadlineAt: null,
    provisionDeadlineAt: null,
    runDeadlineAt: null,
    leaseExpiresAt: null,
    graceDeadlineAt: null,
  });
}

/** The caller's error of an end; says when an unsafe call may have done its work all the same. */
export function endError(call: Call, code: ErrorCode, message: string, details: Record<string, unknown> = {}): ErrorBody {
  const unsafeRan = call.mayHaveRun && !isSafe(call.sideEffectClass);
  return errorBody(code, message, unsafeRan ? { ...details, may_have_executed: true } : details, unsafeRan ? false : undefined);
}

export function settle(
  change: Change,
  state: TerminalState,
  more: {
    readonly error?: ErrorBody | null;
    readonly by?: string;
    readonly action?: string;
    /** What the audit record says beside the call's own facts. */
    readonly audit?: Partial<AuditDraft>;
  },
): void {
  const error = more.error ?? null;
  set(change, { state, error, settledAt: change.now, queueDeadlineAt: null });
  tellEvent(change, state, {
    attempt: change.call.attempt,
    ...(error === null ? {} : { code: error.code }),
    ...(change.call.outputHash === null ? {} : { output_hash: change.call.outputHash, output_bytes: change.call.outputBytes }),
    ...(change.call.usage === null ? {} : { duration_ms: change.call.usage.durationMs }),
    ...(change.call.cachedFrom === null ? {} : { cache: "hit", cached_from: change.call.cachedFrom }),
    ...(more.by === undefined ? {} : { by: more.by }),
  });
  tellAudit(change, more.action ?? "call.settled", { ...(more.by === undefined ? {} : { details: { by: more.by } }), ...more.audit });
  change.effects.push({ type: "tell" });
}

/** The result of a call that ran is this one's; no attempt, no usage, and the record says whose it is. */
export function settleCached(change: Change, { from, output }: CachedResult): void {
  set(change, {
    cachedFrom: from,
    outputJson: output.json,
    outputHash: output.hash,
    outputBytes: output.bytes,
    outputIllFormed: output.illFormed,
  });
  settle(change, "succeeded", {});
}

/** Back to the queue in its old place. `ran`: code may have run, so the attempt number grows. */
export function requeue(
  change: Change,
  queueWaitMs: number,
  options: { readonly ran: boolean; readonly reason: string; readonly backOffMs?: number; readonly told?: Readonly<Record<string, unknown>> },
): void {
  const call = change.call;
  set(change, {
    state: "queued",
    attempt: options.ran ? call.attempt + 1 : call.attempt,
    placements: options.ran ? call.placements : call.placements + 1,
    mayHaveRun: false,
    workerId: null,
    incarnation: null,
    replica: null,
    dispatchedAt: null,
    startedAt: null,
    enqueuedAt: change.now,
    notBefore: change.now + (options.backOffMs ?? 0),
    queueDeadlineAt: change.now + queueWaitMs + (options.backOffMs ?? 0),
  });
  tellEvent(change, options.ran ? "retried" : "queued", {
    reason: options.reason,
    attempt: change.call.attempt,
    fence: change.call.fence,
    ...options.told,
  });
  change.effects.push({ type: "enqueue" });
}

// Transitions of a call that a worker holds (dispatched, running): answers, stops, losses and deadlines.
import { boxNotProvisioned, isSafe, timeInWords, type ErrorBody } from "@signalbox/protocol";
import { auditOf } from "./audit-of.ts";
import { begin, done, endError, endLease, refused, requeue, set, settle, tellEvent, type Change } from "./change.ts";
import type { CheckedResult, Effect, Happening, Live, MachineLimits, StepResult } from "./machine.ts";
import { retryDelayMs, retryPolicyOf } from "./retry.ts";
import type { Call, RoutingOutcome, StopReason } from "./types.ts";

type Of<T extends Happening["type"]> = Extract<Happening, { type: T }>;

export function accepted(live: Live, event: Of<"accepted">, now: number, limits: MachineLimits): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  if (comesTooLate(live.call, now)) return refused("lease_over");
  const change = begin(live, now);
  const { call, lease } = live;
  if (lease !== null && lease.acceptedAt === null) change.lease = { ...lease, acceptedAt: now };
  set(change, { mayHaveRun: true });
  if (call.state === "running" || call.stopReason !== null) return done(change, "none");
  // The start deadline now waits for `Started`, so that an accepted call cannot sit for ever.
  if (lease?.acceptedAt === null || call.startDeadlineAt === null) set(change, { startDeadlineAt: now + limits.startDeadlineMs });
  // A repeated `Accepted` (after a reconnect) gets its `Go` again; the worker starts once all the same.
  if (!isSafe(call.sideEffectClass)) change.effects.push({ type: "send_go", fence: event.fence });
  return done(change, "none");
}

/**
 * An unsafe call whose lease is over gets no `Go` any more, nor a longer lease for one: a process that stood still may hear of it
 * when others have taken the call over.
 */
function comesTooLate({ state, leaseExpiresAt, sideEffectClass }: Call, now: number): boolean {
  return state === "dispatched" && !isSafe(sideEffectClass) && leaseExpiresAt !== null && leaseExpiresAt <= now;
}

export function started(live: Live, event: Of<"started">, now: number): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  if (live.call.state === "running") return refused("already_running");
  const change = begin(live, now);
  change.lease = live.lease === null ? null : { ...live.lease, startedAt: now };
  set(change, {
    state: "running",
    mayHaveRun: true,
    startedAt: now,
    startDeadlineAt: null,
    runDeadlineAt: now + live.call.timeoutMs,
  });
  tellEvent(change, "started", { attempt: live.call.attempt, worker: live.call.workerId });
  return done(change, "lazy");
}

export function result(live: Live, event: Of<"result">, now: number, limits: MachineLimits): StepResult {
  const found = event.result;
  if (found.fence !== live.call.fence) return late(live, found, now);
  const change = begin(live, now);
  set(change, {
    mayHaveRun: true,
    outputJson: found.outputJson,
    outputHash: found.outputHash,
    outputBytes: found.outputBytes,
    outputIllFormed: found.outputIllFormed,
    usage: found.usage,
  });
  settleByResult(change, found, { mayRetry: event.mayRetry !== false, limits });
  change.effects.push({ type: "ack", fence: found.fence, verdict: "stored" });
  return done(change, "commit");
}

function settleByResult(change: Change, found: CheckedResult, how: RetryHow): void {
  const { runDeadlineAt } = change.call;
  // Stopped by its worker's own clock, while the runtime could not reach it or was down: that is the timeout.
  const byItself = found.status === "cancelled" && runDeadlineAt !== null && runDeadlineAt <= change.now;
  if (byItself && change.call.stopReason === null) set(change, { stopReason: "timeout" });
  // Its handler was done in time; only the word of it was late: the runtime was down, or the way was long.
  const inTime = found.status === "succeeded" && found.usage.durationMs <= change.call.timeoutMs;
  if (inTime && change.call.stopReason === "timeout") set(change, { stopReason: null });
  const stop = change.call.stopReason;
  const timedOut = stop === "timeout" || stop === "total_deadline";
  if (timedOut) {
    // It runs no more, that is confirmed; where it finished its work all the same, that is told, and its result kept.
    const completed = found.status === "succeeded";
    const error = endError(change.call, "timeout", timeoutMessage(change.call.timeoutMs, stop), {
      stop_confirmed: true,
      ...(completed ? { handler_completed: true } : {}),
    });
    if (completed) change.effects.push(lateRow(change.call, found, change.now));
    if (stop === "timeout" && !completed && retried(change, "timed_out", error, how)) return;
    endLease(change, "timed_out", { raiseFence: false, error });
    return settle(change, "timed_out", { error });
  }
  if (found.status === "succeeded") {
    endLease(change, "succeeded", { raiseFence: false });
    return settle(change, "succeeded", {});
  }
  if (found.status === "cancelled" && stop === "cancel") {
    const error = endError(change.call, "cancelled", "the call was cancelled and its worker confirmed the stop", {
      stop_confirmed: true,
    });
    endLease(change, "cancelled", { raiseFence: false, error });
    return settle(change, "cancelled", { error, ...by(change) });
  }
  const error =
    found.error ??
    endError(change.call, "tool_error", "the worker stopped the handler without being asked", { tool_code: "handler_stopped" });
  if (stop === null && retried(change, "failed", error, { ...how, returned: true })) return;
  endLease(change, "failed", { raiseFence: false, error });
  settle(change, "failed", { error });
}

interface RetryHow {
  readonly mayRetry: boolean;
  readonly limits: MachineLimits;
  /** The worker has said its last word of this lease. */
  readonly returned?: boolean;
}

/** Queues the call again after a wait, if its policy has another attempt for this failure; the failed one is recorded by itself. */
function retried(change: Change, endReason: string, error: ErrorBody, { mayRetry, limits, returned = true }: RetryHow): boolean {
  const delayMs = mayRetry ? retryDelayMs(change.call, error, change.now) : null;
  if (delayMs === null) return false;
  endLease(change, endReason, { raiseFence: true, returned, error });
  change.effects.push({ type: "audit", draft: auditOf({ ...change.call, error }, "call.attempt_failed", change.now) });
  set(change, { stopReason: null, outputJson: null, outputHash: null, outputBytes: 0, outputIllFormed: false, usage: null });
  const told = { code: error.code, delay_ms: delayMs, not_before: change.now + delayMs };
  requeue(change, limits.queueWaitMs, { ran: true, reason: endReason, backOffMs: delayMs, told });
  return true;
}

function lateRow(call: Call, found: CheckedResult, at: number): Extract<Effect, { type: "late_result" }> {
  const { fence, workerId, status, outputJson } = found;
  const errorJson = found.error === null ? null : JSON.stringify(found.error);
  return { type: "late_result", row: { tenant: call.tenant, callId: call.callId, fence, at, workerId, status, outputJson, errorJson } };
}

/** A result under an old fence changes nothing; it is kept so that whoever resolves the call can see it. */
export function late(live: Live, found: CheckedResult, now: number): StepResult {
  return refused("old_fence", [
    lateRow(live.call, found, now),
    { type: "ack", fence: found.fence, verdict: "lease_lost" },
  ]);
}

export function nack(live: Live, event: Of<"nack">, now: number, limits: MachineLimits): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  if (live.call.state === "running") return refused("already_running");
  const change = begin(live, now);
  if (event.reason === "reject" && live.call.stopReason === null) {
    set(change, { mayHaveRun: false });
    const error = endError(change.call, "worker_rejected", `the worker refused the call: ${event.message}`, {
      worker_code: event.code,
    });
    endLease(change, "nack", { raiseFence: true, error });
    settle(change, "failed", { error });
    return done(change, "commit");
  }
  change.effects.push({ type: "avoid", workerId: live.call.workerId ?? "" });
  if (isHopeless(live.call, event)) {
    set(change, { mayHaveRun: false });
    const error = endError(change.call, "sandbox_unavailable", `no box could be made: ${event.message}`, { sandbox: live.call.sandbox });
    endLease(change, `nack:${event.code}`, { raiseFence: true, error });
    settle(change, "failed", { error });
  } else {
    notRun(change, `nack:${event.code}`, limits);
  }
  return done(change, "commit");
}

/** A box that could not be made twice will hardly be made a third time, and its caller waits. */
const boxPlacementsMax = 2;

function isHopeless({ sandbox, stopReason, placements }: Call, { code }: Of<"nack">): boolean {
  return sandbox !== null && code === boxNotProvisioned && stopReason === null && placements + 1 >= boxPlacementsMax;
}

/** The lease is over and no code ran: queued again whatever the class, unless somebody wanted the call to stop. */
function notRun(change: Change, reason: string, limits: MachineLimits): void {
  set(change, { mayHaveRun: false });
  endLease(change, reason, { raiseFence: true });
  if (change.call.stopReason !== null) return endStopped(change, change.call.stopReason, true);
  if (change.call.placements + 1 >= limits.placementsMax) {
    set(change, { routingOutcome: "capacity_exhausted" });
    const error = endError(change.call, "capacity_exhausted", "no worker took the call up", {
      placements: limits.placementsMax,
      last: reason,
    });
    return settle(change, "failed", { error });
  }
  // Each refusal waits a little longer, so that a lone worker that refuses is not asked in a tight loop.
  const backOffMs = change.call.placements === 0 ? 0 : Math.min(5_000, 50 * 2 ** change.call.placements);
  requeue(change, limits.queueWaitMs, { ran: false, reason, backOffMs });
}

export function cancel(live: Live, event: Of<"cancel">, now: number, limits: MachineLimits): StepResult {
  const call = live.call;
  if (call.cancelRequestedAt !== null) return refused("already_cancelling");
  const change = begin(live, now);
  set(change, { cancelRequestedAt: now, cancelRequestedBy: event.by });
  if (call.stopReason !== null) return done(change, "commit");
  set(change, { stopReason: "cancel" });
  tellEvent(change, "cancel_requested", { by: event.by });
  if (!call.mayHaveRun && !isSafe(call.sideEffectClass)) {
    // No `Go` was sent, so the handler cannot have been entered: nothing to wait for.
    endLease(change, "cancelled", { raiseFence: true });
    endStopped(change, "cancel", true);
  } else {
    askToStop(change, "cancel", limits);
  }
  return done(change, "commit");
}

function askToStop(change: Change, reason: "cancel" | "timeout", limits: MachineLimits): void {
  const { call, lease } = change;
  set(change, { graceDeadlineAt: change.now + call.graceMs + limits.stopMarginMs, startDeadlineAt: null });
  if (lease === null) return;
  change.effects.push({
    type: "send_cancel",
    fence: lease.fence,
    workerId: lease.workerId,
    incarnation: lease.incarnation,
    reason,
    graceMs: call.graceMs,
  });
}

function endStopped(change: Change, stop: StopReason, confirmed: boolean): void {
  if (stop === "cancel") {
    const error = endError(change.call, "cancelled", "the call was cancelled", { stop_confirmed: confirmed });
    return settle(change, "cancelled", { error, ...by(change) });
  }
  const error = endError(change.call, "timeout", timeoutMessage(change.call.timeoutMs, stop), { stop_confirmed: confirmed });
  settle(change, "timed_out", { error });
}

export function renew(live: Live, event: Of<"renew">, now: number, limits: MachineLimits): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  if (comesTooLate(live.call, now)) return refused("lease_over");
  const change = begin(live, now);
  set(change, { leaseExpiresAt: now + limits.leaseMs });
  return done(change, "none");
}

export function missing(live: Live, event: Of<"missing">, now: number, limits: MachineLimits): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  const change = begin(live, now);
  // It lives on without the call, so it would forget the next lease just as well.
  change.effects.push({ type: "avoid", workerId: live.call.workerId ?? "" });
  loseLease(change, "lease_expired", limits);
  return done(change, "commit");
}

export function disowned(live: Live, event: Of<"disowned">, now: number, limits: MachineLimits): StepResult {
  if (event.fence !== live.call.fence) return refused("old_fence");
  const change = begin(live, now);
  notRun(change, "not_received", limits);
  return done(change, "commit");
}

/** What a lost lease means is decided by what may have run and by the side-effect class. */
function loseLease(change: Change, outcome: Extract<RoutingOutcome, "lease_expired" | "indeterminate">, limits: MachineLimits): void {
  const { call } = change;
  if (!call.mayHaveRun) return notRun(change, outcome, limits);
  if (isFoundAgain(call)) return findAgain(change, outcome, limits);
  const error = endError(call, outcome, lostMessage(outcome));
  endLease(change, outcome, { raiseFence: true, error });
  change.effects.push({ type: "audit", draft: auditOf({ ...change.call, error }, "call.attempt_failed", change.now) });
  set(change, { routingOutcome: outcome });
  if (!isSafe(call.sideEffectClass)) return parkOrFail(change, outcome);
  if (call.stopReason !== null) return endStopped(change, call.stopReason, false);
  if (call.attempt >= Math.max(limits.lostAttemptsMax, retryPolicyOf(call).attempts)) return settle(change, "failed", { error });
  requeue(change, limits.queueWaitMs, { ran: true, reason: outcome });
}

/** What it ran is a session under an id that hangs on the call alone: whoever runs the call again finds it, and nothing is done twice. */
function isFoundAgain({ executor }: Call): boolean {
  return executor === "agent";
}

/** No attempt is used up, nor a placement: the session goes on, whoever waits for it. */
function findAgain(change: Change, outcome: RoutingOutcome, limits: MachineLimits): void {
  const { stopReason, placements } = change.call;
  endLease(change, outcome, { raiseFence: true });
  if (stopReason !== null) return endStopped(change, stopReason, false);
  requeue(change, limits.queueWaitMs, { ran: false, reason: outcome });
  set(change, { placements });
}

/** An unsafe call that may have done its work: a person decides, or the tool says that nobody is to be asked. */
function parkOrFail(change: Change, outcome: RoutingOutcome): void {
  const { call } = change;
  set(change, { routingOutcome: outcome });
  if (call.onIndeterminate === "fail") {
    return settle(change, "failed", { error: endError(call, "indeterminate", "whether the call took effect is unknown") });
  }
  const error = endError(call, "indeterminate", "whether the call took effect is unknown; a person must resolve it", {
    resolve: ["confirm", "retry", "fail"],
  });
  set(change, { state: "indeterminate", error });
  tellEvent(change, "indeterminate", { outcome, attempt: call.attempt });
  change.effects.push({ type: "audit", draft: auditOf(change.call, "call.parked", change.now) }, { type: "tell" });
}

export function due(live: Live, event: Of<"due">, now: number, limits: MachineLimits): StepResult {
  const { call } = live;
  const past = (at: number | null): boolean => at !== null && at <= now;
  // After a start, workers get one lease time to come back before any instant counts against them.
  if (!event.streamAlive && !event.mayExpireLeases) return refused("not_due");
  const change = begin(live, now);
  if (past(call.graceDeadlineAt)) {
    endUnconfirmed(change, { mayRetry: event.mayRetry !== false, limits });
  } else if (event.mayExpireLeases && past(call.leaseExpiresAt)) {
    loseLease(change, event.streamAlive ? "lease_expired" : "indeterminate", limits);
  } else if (past(call.totalDeadlineAt) && call.stopReason === null) {
    stopForTime(change, "total_deadline", limits);
  } else if (past(call.runDeadlineAt) && call.stopReason === null) {
    stopForTime(change, "timeout", limits);
  } else if (past(call.startDeadlineAt) && call.mayHaveRun && !event.streamAlive) {
    // No `Started` can come while the stream is away: the worker has its lease time to return, and the lease decides.
    set(change, { startDeadlineAt: null });
    return done(change, "none");
  } else if (past(call.startDeadlineAt)) {
    change.effects.push({ type: "avoid", workerId: call.workerId ?? "" });
    if (call.mayHaveRun) loseLease(change, "lease_expired", limits);
    else notRun(change, "start_deadline", limits);
  } else {
    return refused("not_due");
  }
  return done(change, "commit");
}

function stopForTime(change: Change, stop: "timeout" | "total_deadline", limits: MachineLimits): void {
  set(change, { stopReason: stop });
  if (!change.call.mayHaveRun && !isSafe(change.call.sideEffectClass)) {
    endLease(change, "timed_out", { raiseFence: true });
    return endStopped(change, stop, true);
  }
  askToStop(change, "timeout", limits);
}

/** Told to stop, grace over, no word: a safe call ends, an unsafe one may have happened. */
function endUnconfirmed(change: Change, how: RetryHow): void {
  const stop = change.call.stopReason ?? "cancel";
  const mayHaveRun = change.call.mayHaveRun;
  if (stop === "timeout") {
    const error = endError(change.call, "timeout", timeoutMessage(change.call.timeoutMs, stop), { stop_confirmed: false });
    if (retried(change, "timed_out", error, { ...how, returned: false })) return;
  }
  endLease(change, stop === "cancel" ? "cancelled" : "timed_out", { raiseFence: true });
  if (mayHaveRun && !isSafe(change.call.sideEffectClass) && !isFoundAgain(change.call)) return parkOrFail(change, "indeterminate");
  endStopped(change, stop, false);
}

function by(change: Change): { by?: string } {
  return change.call.cancelRequestedBy === null ? {} : { by: change.call.cancelRequestedBy };
}

function timeoutMessage(timeoutMs: number, stop: StopReason | null): string {
  return stop === "total_deadline" ? "the call's total deadline passed" : `the call ran longer than its timeout of ${timeInWords(timeoutMs)}`;
}

function lostMessage(outcome: RoutingOutcome): string {
  return outcome === "lease_expired"
    ? "the worker went silent about the call and its lease ran out"
    : "the worker's stream went away and did not come back within the lease";
}

// Transitions of a call that no worker holds: queued, waiting for an approval, or parked as indeterminate.
import { begin, done, endError, refused, requeue, set, settle, settleCached, tellAudit, tellEvent, type Change } from "./change.ts";
import type { ApprovedArgs, Happening, Live, MachineLimits, StepResult } from "./machine.ts";
import type { Attempt } from "./types.ts";

type Of<T extends Happening["type"]> = Extract<Happening, { type: T }>;

export function assign(live: Live, event: Of<"assign">, now: number, limits: MachineLimits): StepResult {
  if (live.call.notBefore > now) return refused("not_before");
  const change = begin(live, now);
  const { call } = live;
  set(change, {
    state: "dispatched",
    startTag: event.startTag ?? live.call.startTag,
    mayHaveRun: false,
    workerId: event.workerId,
    incarnation: event.incarnation,
    replica: event.replica,
    dispatchedAt: now,
    queueDeadlineAt: null,
    startDeadlineAt: now + limits.startDeadlineMs,
    leaseExpiresAt: now + limits.leaseMs,
  });
  const lease: Attempt = {
    tenant: call.tenant,
    callId: call.callId,
    fence: call.fence,
    attempt: call.attempt,
    workerId: event.workerId,
    incarnation: event.incarnation,
    replica: event.replica,
    dispatchedAt: now,
    acceptedAt: null,
    startedAt: null,
    endedAt: null,
    endReason: null,
    error: null,
    usage: null,
  };
  change.lease = lease;
  tellEvent(change, "dispatched", { worker: event.workerId, attempt: call.attempt, fence: call.fence });
  change.effects.push({ type: "send_invoke", fence: call.fence });
  return done(change, "commit");
}

/** Nothing was handed to anybody, so the end is certain at once, for every class. */
export function cancelWaiting(live: Live, event: Of<"cancel">, now: number): StepResult {
  const change = begin(live, now);
  set(change, { cancelRequestedAt: now, cancelRequestedBy: event.by, stopReason: "cancel" });
  const error = endError(live.call, "cancelled", "the call was cancelled before a worker had it", { stop_confirmed: true });
  settle(change, "cancelled", { error, by: event.by });
  return done(change, "commit");
}

export function queueDue(live: Live, event: Of<"due">, now: number): StepResult {
  const { call } = live;
  const change = begin(live, now);
  if (call.totalDeadlineAt !== null && call.totalDeadlineAt <= now) {
    set(change, { stopReason: "total_deadline" });
    settle(change, "timed_out", { error: endError(call, "timeout", "the call's total deadline passed while it was queued") });
    return done(change, "commit");
  }
  if (call.queueDeadlineAt === null || call.queueDeadlineAt > now) return refused("not_due");
  if (call.sandbox !== null && !event.handlerKnown) {
    // Not one of the four routing outcomes: nobody's worker is missing, a box of ours is.
    const message = `no sandbox worker offers a ${call.sandbox} box any more`;
    settle(change, "failed", { error: endError(call, "sandbox_unavailable", message, { sandbox: call.sandbox }) });
    return done(change, "commit");
  }
  const outcome = event.handlerKnown ? "capacity_exhausted" : "no_handler";
  set(change, { routingOutcome: outcome });
  const details = { tool: call.tool, version: call.version, ...capOf(event) };
  settle(change, "failed", { error: endError(call, outcome, whyNobody(call, event), details) });
  return done(change, "commit");
}

function capOf({ handlerKnown, capped }: Of<"due">): Readonly<Record<string, string>> {
  if (!handlerKnown || capped === undefined) return {};
  return capped === "quota" ? { quota: "concurrent_executions" } : { limit: "concurrent_calls" };
}

function whyNobody(call: Live["call"], event: Of<"due">): string {
  if (!event.handlerKnown) return `no connected worker serves ${call.tool}@${call.version}`;
  if (event.capped !== undefined) return "as many calls as may work at once were at work until the queue deadline";
  const could = call.sandbox === null ? `serves ${call.tool}@${call.version}` : `offers a ${call.sandbox} box`;
  return `every worker that ${could} stayed busy until the queue deadline`;
}

export function approved(live: Live, event: Of<"approved">, now: number, limits: MachineLimits): StepResult {
  const change = begin(live, now);
  takeArgs(change, event.args);
  set(change, {
    state: "queued",
    approval: { by: event.by, at: now },
    routingOutcome: null,
    replica: null,
    enqueuedAt: now,
    notBefore: now,
    queueDeadlineAt: now + limits.queueWaitMs,
  });
  const { argsEditedBy } = change.call;
  tellEvent(change, "approved", { by: event.by, ...(argsEditedBy === null ? {} : { edited_by: argsEditedBy }) });
  tellEvent(change, "queued", { attempt: live.call.attempt });
  change.effects.push({ type: "enqueue" });
  return done(change, "commit");
}

/** Other arguments have other rules: what those leave of time and size holds too. */
function takeArgs(change: Change, args: ApprovedArgs | null): void {
  if (args === null) return;
  const { argsJson, editedBy, timeoutMs, resultBytesMax } = args;
  set(change, { effectiveArgsJson: argsJson, argsEditedBy: editedBy, timeoutMs, resultBytesMax });
}

export function rejected(live: Live, event: Of<"rejected">, now: number): StepResult {
  const change = begin(live, now);
  settle(change, "denied", { error: event.error, action: "call.denied", ...(event.by === null ? {} : { by: event.by }) });
  return done(change, "commit");
}

/** Nothing was handed to anybody, so a call that may not run today has not run. */
export function barred(live: Live, event: Of<"barred">, now: number): StepResult {
  const change = begin(live, now);
  settle(change, "denied", { error: event.error, action: "call.denied" });
  return done(change, "commit");
}

/** It is not asked while it is down; nothing was handed to anybody. */
export function broken(live: Live, event: Of<"broken">, now: number): StepResult {
  const change = begin(live, now);
  const { tool, version } = live.call;
  const details = { tool, version, retry_after_s: Math.max(1, Math.ceil(event.againMs / 1_000)) };
  settle(change, "failed", { error: endError(live.call, "breaker_open", breakerMessage(live.call), details) });
  return done(change, "commit");
}

export function breakerMessage({ tool, version }: Pick<Live["call"], "tool" | "version">): string {
  return `${tool}@${version} has failed too often in a row; it is left alone for a while`;
}

/** A twin has run while this one waited for it. */
export function cached(live: Live, event: Of<"cached">, now: number): StepResult {
  const change = begin(live, now);
  settleCached(change, event);
  return done(change, "commit");
}

/** Out of the queue, because a rule wants people to say what becomes of a call that nobody could take. */
export function askedInQueue(live: Live, event: Of<"asked">, now: number): StepResult {
  if (event.outcome === null) return refused("asked_without_outcome");
  const change = begin(live, now);
  set(change, {
    state: "awaiting_approval",
    routingOutcome: event.outcome,
    approvalId: event.approvalId,
    queueDeadlineAt: null,
  });
  tellEvent(change, "approval_requested", { ...event.data, routing_outcome: event.outcome });
  change.effects.push({ type: "tell" });
  return done(change, "commit");
}

/** The question is another now: its arguments were changed, another role is asked, or somebody is asked at all. */
export function askedWhileParked(live: Live, event: Of<"asked">, now: number): StepResult {
  const change = begin(live, now);
  takeArgs(change, event.args);
  set(change, { approvalId: event.approvalId });
  tellEvent(change, "approval_requested", event.data);
  return done(change, "commit");
}

export function thawed(live: Live, event: Of<"thawed">, now: number, limits: MachineLimits): StepResult {
  const change = begin(live, now);
  set(change, { queueDeadlineAt: Math.max(now, live.call.notBefore) + limits.queueWaitMs });
  tellEvent(change, "queued", { attempt: live.call.attempt, reason: event.reason });
  return done(change, "lazy");
}

export function parkedDue(live: Live, now: number): StepResult {
  const { call } = live;
  if (call.totalDeadlineAt === null || call.totalDeadlineAt > now) return refused("not_due");
  const change = begin(live, now);
  set(change, { stopReason: "total_deadline" });
  settle(change, "timed_out", { error: endError(call, "timeout", "the call's total deadline passed while it waited for people") });
  return done(change, "commit");
}

/** A person's word on a call whose end nobody knows. */
export function resolve(live: Live, event: Of<"resolve">, now: number, limits: MachineLimits): StepResult {
  const change = begin(live, now);
  const { verdict, by, comment } = event;
  tellEvent(change, "resolved", { verdict, by, comment });
  // The record's principal is the call's; who decided, and why, stands beside it.
  const audit = { approval: { by: [by], at: now }, details: { kind: "resolve", verdict, comment } };
  if (event.verdict === "retry") {
    set(change, { error: null, stopReason: null, cancelRequestedAt: null, cancelRequestedBy: null });
    requeue(change, limits.queueWaitMs, { ran: true, reason: "resolved" });
    tellAudit(change, "call.retried", audit);
    change.effects.push({ type: "tell" });
    return done(change, "commit");
  }
  if (event.verdict === "fail") {
    const error = endError(live.call, "indeterminate", "a person ended the call as failed; whether it took effect is unknown");
    settle(change, "failed", { error, by, action: "call.resolved", audit });
    return done(change, "commit");
  }
  if (event.output === null) return refused("confirm_needs_output");
  set(change, {
    outputJson: event.output.json,
    outputHash: event.output.hash,
    outputBytes: event.output.bytes,
    error: null,
  });
  settle(change, "succeeded", { by, action: "call.resolved", audit });
  return done(change, "commit");
}

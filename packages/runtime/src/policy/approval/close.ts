// The ends of an approval, each of them once: people decided, time did, or what it was about is gone.
import type { ErrorBody } from "@signalbox/protocol";
import { notify, set, tellAudit, type Change } from "./change.ts";
import type { ApprovalHappening, ApprovalNotice, ApprovalRefusal } from "./machine.ts";
import { tellOpened } from "./open.ts";
import { escalatedRoutes } from "./requirements.ts";
import { expiredError, iso, rejectedError } from "./told.ts";
import { approvalLimits, type Approval, type ApprovalOutcome, type ApprovalState } from "./types.ts";
import { peopleOf } from "./votes.ts";

/** Stands where no person closed it. */
const runtime = "runtime";

interface Closing {
  readonly state: Exclude<ApprovalState, "pending">;
  readonly outcome: ApprovalOutcome;
  readonly closedBy: string;
  readonly escalatedTo?: string;
}

function close(change: Change, closing: Closing): void {
  set(change, { ...closing, closedAt: change.given.now });
}

/** The record and the notice of a close; one pair an approval. */
function tellClosed(
  change: Change,
  facts: {
    readonly by?: string;
    readonly requestId?: string;
    readonly people?: readonly string[];
    readonly errorCode?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  },
): void {
  const { approval, given } = change;
  const { by, requestId, errorCode, people } = facts;
  const details = { outcome: approval.outcome, closed_by: approval.closedBy, ...facts.details };
  tellAudit(change, `approval.${approval.state}`, {
    ...(by === undefined ? {} : { by }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(people === undefined ? {} : { approval: { by: people, at: given.now } }),
    details,
  });
  const type = `approval.${approval.state}` as ApprovalNotice["type"];
  notify(change, type, people === undefined ? details : { ...details, by: people });
}

/**
 * @param people who counts; all on one route when the quorum was reached, fewer when a timeout approves
 * @param last the person whose word was enough; null = the timeout
 */
export function approve(
  change: Change,
  people: readonly string[],
  last: { readonly voter: string; readonly comment: string; readonly requestId: string } | null,
): void {
  if (change.given.recheckError !== null) {
    notAllowedAnyMore(change, people, change.given.recheckError);
    return;
  }
  close(change, {
    state: "approved",
    outcome: last === null ? "timeout_allowed" : "approved",
    closedBy: last?.voter ?? runtime,
  });
  const { subject, edited, argsJson, argsHash } = change.approval;
  if (subject.kind === "call") {
    const effectiveArgsJson = edited ? argsJson : null;
    change.effects.push({ type: "approve_call", callId: subject.callId, effectiveArgsJson, argsHash, by: people });
  } else if (subject.kind === "limit") {
    change.effects.push({ type: "extend_limit", sessionId: subject.sessionId, by: people });
  } else if (last !== null) {
    const { voter, comment } = last;
    change.effects.push({ type: "resolve_call", callId: subject.callId, verdict: "retry", by: voter, comment });
  }
  tellClosed(change, { people, ...(last === null ? {} : { by: last.voter, requestId: last.requestId }) });
}

/** Approved, and no longer allowed: the votes stand as facts, the call does not run. An unknown end stays unknown. */
function notAllowedAnyMore(change: Change, people: readonly string[], error: ErrorBody): void {
  close(change, { state: "cancelled", outcome: "recheck_failed", closedBy: runtime });
  denySubject(change, error, null);
  tellClosed(change, { people, errorCode: error.code });
}

/** One person's no is enough. */
export function reject(
  change: Change,
  by: { readonly voter: string; readonly comment: string; readonly requestId: string },
): void {
  close(change, { state: "rejected", outcome: "rejected", closedBy: by.voter });
  const { subject } = change.approval;
  if (subject.kind === "resolve") {
    const { voter, comment } = by;
    change.effects.push({ type: "resolve_call", callId: subject.callId, verdict: "fail", by: voter, comment });
  } else {
    denySubject(change, rejectedError(change.approval, by.voter, by.comment), by.voter);
  }
  const details = by.comment === "" ? {} : { comment: by.comment };
  tellClosed(change, { by: by.voter, requestId: by.requestId, errorCode: "approval_denied", details });
}

function denySubject(change: Change, error: ErrorBody, by: string | null): void {
  const { subject, onReject } = change.approval;
  if (subject.kind === "call") {
    const then = by === null ? "return_to_agent" : onReject;
    change.effects.push({ type: "deny_call", callId: subject.callId, error, by, onReject: then });
  } else if (subject.kind === "limit") {
    change.effects.push({ type: "halt_session", sessionId: subject.sessionId, error });
  }
}

/** The stored instant has passed. An escalation that can go no deeper is a denial: fail closed. */
export function expire(change: Change): void {
  const { approval } = change;
  // Refused when it was opened; and even so, time never says that an unknown end may run again.
  if (approval.onTimeout === "allow" && approval.subject.kind !== "resolve") {
    approve(change, peopleOf(change), null);
    return;
  }
  const { escalateTo, depth } = approval;
  if (approval.onTimeout === "escalate" && escalateTo !== null && depth < approvalLimits.depthMax) {
    escalate(change, escalateTo);
    return;
  }
  close(change, { state: "expired", outcome: "expired", closedBy: runtime });
  denySubject(change, expiredError(change.approval), null);
  tellClosed(change, { errorCode: "approval_expired", details: { expired_at: iso(approval.expiresAt) } });
}

/** Closing this one and opening the next is one unit. The votes stay behind: another role is asked, from nothing. */
function escalate(change: Change, escalateTo: string): void {
  const { now, nextApprovalId } = change.given;
  const { approval } = change;
  const next: Approval = {
    ...approval,
    approvalId: nextApprovalId,
    routes: escalatedRoutes(approval.routes, escalateTo),
    depth: approval.depth + 1,
    escalatedFrom: approval.approvalId,
    round: 0,
    openedAt: now,
    // From now, not from the instant that passed: after a long stop of the runtime the next people get their time too.
    expiresAt: now + approval.timeoutMs,
    revision: 1,
  };
  close(change, { state: "escalated", outcome: "escalated", closedBy: runtime, escalatedTo: nextApprovalId });
  tellClosed(change, { details: { escalated_to: nextApprovalId, expired_at: iso(approval.expiresAt) } });
  tellOpened(change, next);
}

/** What it was about ended elsewhere, in the same unit; so there is nobody left to tell but the voters. */
export function cancel(change: Change, event: Extract<ApprovalHappening, { type: "cancel" }>): void {
  close(change, { state: "cancelled", outcome: "cancelled", closedBy: event.by });
  tellClosed(change, { by: event.by, requestId: event.requestId, details: { reason: event.reason } });
}

export function closedFacts(approval: Approval): ApprovalRefusal {
  const { outcome, closedBy, closedAt, argsHash, escalatedTo } = approval;
  if (outcome === null || closedBy === null || closedAt === null) throw new Error("the approval is not closed");
  return { reason: "approval_closed", outcome, closedBy, closedAt, argsHash, escalatedTo };
}

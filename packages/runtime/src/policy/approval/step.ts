// The approval machine: the only function that may change an approval. One table, state first, then happening.
import type { Given } from "./change.ts";
import { alreadyClosed, late } from "./closed.ts";
import type { ApprovalHappening, ApprovalStep } from "./machine.ts";
import { cancelPending, editAccepted, editDenied, lapse, notDue, vote, voteTooLate } from "./pending.ts";
import type { Approval, ApprovalState, ApprovalWithVotes } from "./types.ts";

type Simple = Exclude<ApprovalHappening, { type: "recheck_failed" }>;
type Handler<T extends Simple["type"]> = (
  all: ApprovalWithVotes,
  event: Extract<Simple, { type: T }>,
  given: Given,
) => ApprovalStep;
type Row = { readonly [T in Simple["type"]]: Handler<T> };

/** `overdue`: still pending in its row, and its stored instant has passed. No replica needs to have swept it. */
type Place = ApprovalState | "overdue";

const closed: Row = { vote: late, edit_accepted: late, edit_denied: late, due: alreadyClosed, cancel: alreadyClosed };

export const transitions: Readonly<Record<Place, Row>> = {
  pending: { vote, edit_accepted: editAccepted, edit_denied: editDenied, due: notDue, cancel: cancelPending },
  overdue: {
    vote: voteTooLate,
    edit_accepted: voteTooLate,
    edit_denied: voteTooLate,
    due: lapse,
    cancel: cancelPending,
  },
  approved: closed,
  rejected: closed,
  expired: closed,
  cancelled: closed,
  escalated: closed,
};

function placeOf(approval: Approval, now: number): Place {
  return approval.state === "pending" && approval.expiresAt <= now ? "overdue" : approval.state;
}

/**
 * Pure: no clock, no chance, no promise. The answer holds for the row that was read; it is written under that row's
 * revision, and who loses the guard reads again and steps again.
 * @param now wall clock, ms since 1970
 * @param nextApprovalId a fresh id, used only if this step escalates
 */
export function stepApproval(
  all: ApprovalWithVotes,
  event: ApprovalHappening,
  now: number,
  nextApprovalId: string,
): ApprovalStep {
  if (event.type === "recheck_failed")
    return look(all, event.instead, { now, nextApprovalId, recheckError: event.error });
  return look(all, event, { now, nextApprovalId, recheckError: null });
}

function look(all: ApprovalWithVotes, event: Simple, given: Given): ApprovalStep {
  const handler = transitions[placeOf(all.approval, given.now)][event.type] as Handler<Simple["type"]>;
  return handler(all, event, given);
}

/** The instant at which an approval must be looked at (`due`); infinity when it is closed. */
export function approvalDueAt(approval: Approval): number {
  return approval.state === "pending" ? approval.expiresAt : Number.POSITIVE_INFINITY;
}

// The vocabulary of the approval machine: what may happen to an approval, what it answers, and what must be done about it.
import type { ErrorBody } from "@signalbox/protocol";
import type { AuditDraft } from "../../call/audit-draft.ts";
import type { OnReject } from "../types.ts";
import type {
  Approval,
  ApprovalOutcome,
  ApprovalRequirements,
  ApprovalWithVotes,
  Vote,
  VoteDecision,
} from "./types.ts";

/** Arguments as JSON text and their hash (SHA-256 hex over canonical JSON). */
export interface HashedArgs {
  readonly argsJson: string;
  readonly argsHash: string;
}

/** A vote as it comes in. */
export interface VoteCast {
  readonly voter: string;
  /** The roles that the voter holds now. */
  readonly roles: readonly string[];
  readonly decision: VoteDecision;
  /** The arguments that the voter saw. */
  readonly argsHash: string;
  readonly comment: string;
  readonly comprehended: boolean;
  /** Changed arguments as sent; only with `approve`, only about a call. */
  readonly edit: HashedArgs | null;
  readonly requestId: string;
}

/** Happenings that may approve, and that therefore may be followed by `recheck_failed`. */
export type DecidingHappening =
  | { readonly type: "vote"; readonly cast: VoteCast }
  /**
   * Validation, permission and policy let the edit pass. `accepted`: the arguments as they would run.
   * `requirements`: what policy asks for them now; null = it asks nobody.
   */
  | {
      readonly type: "edit_accepted";
      readonly cast: VoteCast;
      readonly accepted: HashedArgs;
      readonly requirements: ApprovalRequirements | null;
    }
  /** The stored instant may have passed. */
  | { readonly type: "due" };

export type CancelReason = "call_ended" | "session_ended" | "resolved" | "waited_too_long" | "barred";

export type ApprovalHappening =
  | DecidingHappening
  | { readonly type: "edit_denied"; readonly cast: VoteCast; readonly error: ErrorBody }
  | { readonly type: "cancel"; readonly by: string; readonly reason: CancelReason; readonly requestId: string }
  /**
   * In place of `instead`, whose effects held an approval, when the call may no longer run: the tool is disabled, a
   * grant is gone, a deny rule matches today. If `instead` no longer approves, it counts alone.
   */
  | { readonly type: "recheck_failed"; readonly error: ErrorBody; readonly instead: DecidingHappening };

/** Progress of one route: who counts there. */
export interface RouteProgress {
  readonly route: string;
  readonly quorum: number;
  readonly voters: readonly string[];
}

/** Hashes, names and counts, never arguments. */
export interface ApprovalNotice {
  readonly type:
    | "approval.requested"
    | "approval.voted"
    | "approval.edited"
    | "approval.approved"
    | "approval.rejected"
    | "approval.expired"
    | "approval.cancelled"
    | "approval.escalated";
  readonly tenant: string;
  readonly approvalId: string;
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export type ApprovalEffect =
  /** A counted vote, in the unit of the guarded update. */
  | { readonly type: "store_vote"; readonly row: Vote }
  /** At most one row a person and decision; a row that is there already is left alone. */
  | { readonly type: "keep_late_vote"; readonly row: Vote }
  /** The row of a new approval; after an escalation its call points to it from now on. */
  | { readonly type: "open"; readonly row: Approval }
  /** `effectiveArgsJson`: null = as admitted. `by`: the people who count; fewer than the quorum when a timeout allowed it. */
  | {
      readonly type: "approve_call";
      readonly callId: string;
      readonly effectiveArgsJson: string | null;
      readonly argsHash: string;
      readonly by: readonly string[];
    }
  /** `by`: null = nobody, the runtime. `onReject` speaks of a person's word only; other ends return to the agent. */
  | {
      readonly type: "deny_call";
      readonly callId: string;
      readonly error: ErrorBody;
      readonly by: string | null;
      readonly onReject: OnReject;
    }
  /** One more budget of the same size. */
  | { readonly type: "extend_limit"; readonly sessionId: string; readonly by: readonly string[] }
  | { readonly type: "halt_session"; readonly sessionId: string; readonly error: ErrorBody }
  /** A person's word on an unknown end: it may run again, or it failed. */
  | {
      readonly type: "resolve_call";
      readonly callId: string;
      readonly verdict: "retry" | "fail";
      readonly by: string;
      readonly comment: string;
    }
  /** Before anything is stored: validate, authorize and decide on the edit, then say `edit_accepted` or `edit_denied`. */
  | { readonly type: "revalidate"; readonly cast: VoteCast; readonly edit: HashedArgs }
  /** A line of the call's stream; the call's own end is told by the call machine. */
  | {
      readonly type: "call_event";
      readonly callId: string;
      readonly event: "approval_requested";
      readonly data: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "audit"; readonly draft: AuditDraft }
  | { readonly type: "notice"; readonly notice: ApprovalNotice };

export type ApprovalRefusal =
  | { readonly reason: "already_voted"; readonly decision: VoteDecision; readonly argsHash: string }
  /** `argsHash`: the arguments that count now. */
  | { readonly reason: "args_changed"; readonly argsHash: string }
  | {
      readonly reason: "approval_closed";
      readonly outcome: ApprovalOutcome;
      readonly closedBy: string;
      readonly closedAt: number;
      readonly argsHash: string;
      readonly escalatedTo: string | null;
    }
  | { readonly reason: "missing_role"; readonly routes: readonly string[] }
  | { readonly reason: "requester_may_not_vote" }
  | { readonly reason: "not_a_person" }
  | { readonly reason: "comprehension_required" }
  | { readonly reason: "invalid_vote"; readonly field: string; readonly message: string }
  | { readonly reason: "too_many_edits" }
  | { readonly reason: "edit_denied"; readonly error: ErrorBody }
  /** The vote was taken and is stored; the call does not run all the same. */
  | { readonly reason: "recheck_failed"; readonly error: ErrorBody }
  | { readonly reason: "not_due" }
  | { readonly reason: "invalid_requirements"; readonly message: string };

export type ApprovalReply =
  /**
   * `counted`: taken, and the approval may be closed by it · `repeated`: the same vote again, counted once ·
   * `stored_outcome`: the same decision on a closed approval · `revalidate`: nothing is stored yet · `done`: not a vote.
   */
  | { readonly ok: true; readonly said: "counted" | "repeated" | "stored_outcome" | "revalidate" | "done" }
  | { readonly ok: false; readonly refusal: ApprovalRefusal };

/**
 * A refusal can come with a change: a vote that finds the stored instant passed closes the approval first, and is late.
 * `changed`: the approval's row is another and must be written under the guard of the one that was read.
 */
export interface ApprovalStep {
  readonly after: ApprovalWithVotes;
  readonly changed: boolean;
  readonly effects: readonly ApprovalEffect[];
  readonly reply: ApprovalReply;
}

// A question put to people as data: the rows of approvals and votes that the ledger keeps and only the approval machine changes.
import { limits } from "@signalbox/protocol";
import { policyBounds } from "../bounds.ts";
import type { OnReject, OnTimeout } from "../types.ts";

export const approvalStates = ["pending", "approved", "rejected", "expired", "cancelled", "escalated"] as const;
/** Every state but `pending` is closed, and closed approvals never change. */
export type ApprovalState = (typeof approvalStates)[number];

export const approvalLimits = {
  /** Escalations in a row; the last one's timeout is a denial, so that no question wanders for ever. */
  depthMax: 5,
  routesMax: 16,
  quorumMax: policyBounds.approvalsMax,
  /** Changes of the arguments in one approval; two people who undo each other's edits must come to an end. */
  editsMax: 50,
  commentCharsMax: 1_000,
  reasonCharsMax: limits.errorMessageCharsMax,
  timeoutMsMax: policyBounds.approvalTimeoutMsMax,
} as const;

/** What is asked for where no rule says it: an unknown end, or a limit that was hit. */
export const approvalDefaults = {
  distinctFromRequester: false,
  comprehension: false,
  timeoutMs: policyBounds.approvalTimeoutMs,
  onTimeout: "deny",
  onReject: "return_to_agent",
  escalateTo: null,
} as const;

/** So many distinct people who hold this role must approve. */
export interface Route {
  /** A role; empty = everybody who may decide. */
  readonly route: string;
  readonly quorum: number;
}

/** What all matching rules together ask for; every route must reach its quorum. */
export interface ApprovalRequirements {
  readonly routes: readonly Route[];
  readonly distinctFromRequester: boolean;
  /** An approving vote must say that its voter understood what it allows. */
  readonly comprehension: boolean;
  readonly timeoutMs: number;
  readonly onTimeout: OnTimeout;
  readonly onReject: OnReject;
  /** The role that is asked after a timeout; null unless `onTimeout` is `escalate`. */
  readonly escalateTo: string | null;
  /** Why people are asked, in the words of the rules. */
  readonly reason: string;
}

/** What the question is about: a call, a session's limit, or the unknown end of a call. */
export type ApprovalSubject =
  | { readonly kind: "call" | "resolve"; readonly callId: string; readonly sessionId: string | null }
  | { readonly kind: "limit"; readonly callId: null; readonly sessionId: string };

/**
 * - `approved`, `rejected`: by people · `expired`: nobody decided in time · `timeout_allowed`: the timeout approved
 * - `escalated`: the timeout asked somebody else · `cancelled`: what it was about is gone
 * - `recheck_failed`: people (or the timeout) approved, and the call may no longer run
 */
export type ApprovalOutcome =
  | "approved"
  | "rejected"
  | "expired"
  | "timeout_allowed"
  | "escalated"
  | "cancelled"
  | "recheck_failed";

/** Times are wall clock, ms since 1970. */
export interface Approval extends ApprovalRequirements {
  readonly tenant: string;
  readonly approvalId: string;
  readonly project: string;
  readonly subject: ApprovalSubject;
  readonly tool: string;
  readonly version: string;
  /** The principal that made the call. */
  readonly requester: string;
  /** For whom an agent made it; empty when nobody stands behind the requester. */
  readonly onBehalfOf: string;
  /** Escalations before this approval, 0 … `depthMax`. */
  readonly depth: number;
  readonly escalatedFrom: string | null;
  /** The approval that goes on where this one ended. */
  readonly escalatedTo: string | null;
  /** SHA-256 (hex) of the arguments that voters see, canonical. */
  readonly argsHash: string;
  /** JSON text of the arguments that voters see, as they would run. */
  readonly argsJson: string;
  /** True when a person changed the arguments, here or before an escalation. */
  readonly edited: boolean;
  /** Edits so far in this approval. A vote counts in its round only, so an edit back to old arguments revives no vote. */
  readonly round: number;
  readonly state: ApprovalState;
  readonly openedAt: number;
  readonly expiresAt: number;
  readonly closedAt: number | null;
  /** The person whose word closed it, or `runtime`. */
  readonly closedBy: string | null;
  readonly outcome: ApprovalOutcome | null;
  /** Grows by one with every change of the row or its counted votes: the guard of every write. */
  readonly revision: number;
}

export type VoteDecision = "approve" | "reject";

/** One person's word; never changed, never deleted. */
export interface Vote {
  readonly tenant: string;
  readonly approvalId: string;
  readonly voter: string;
  /** The roles the voter held when voting. */
  readonly roles: readonly string[];
  readonly decision: VoteDecision;
  /** The arguments the vote is about; for an edit, the new ones. */
  readonly argsHash: string;
  readonly round: number;
  readonly comment: string;
  /** Changed arguments as the voter sent them; validation may have taken nulls out of what then runs. */
  readonly editedArgsJson: string | null;
  /** Hash of `editedArgsJson`, by which a repeated request is known. */
  readonly editedArgsHash: string | null;
  readonly comprehended: boolean;
  readonly at: number;
  /** It came after the close: kept as a fact, counted nowhere. */
  readonly late: boolean;
}

/** All that the machine looks at and moves. */
export interface ApprovalWithVotes {
  readonly approval: Approval;
  /** In the order in which they were stored. */
  readonly votes: readonly Vote[];
}

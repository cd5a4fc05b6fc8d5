// Words on an open approval: votes, edits that passed or failed their checks, its expiry and its cancellation.
import { begin, notify, refuse, say, set, tellAudit, voteOf, type Change, type Given } from "./change.ts";
import { approve, cancel, expire, reject } from "./close.ts";
import { closedVote } from "./closed.ts";
import type { ApprovalHappening, ApprovalRefusal, ApprovalStep, HashedArgs, VoteCast } from "./machine.ts";
import { tellAsked } from "./open.ts";
import { escalatedRoutes, mergeRoutes, requirementsProblem } from "./requirements.ts";
import { approvalLimits, type Approval, type ApprovalRequirements, type ApprovalWithVotes } from "./types.ts";
import { isEnough, isSameVote, liveVoteOf, mayVote, peopleOf, progressOf, wellFormedVote } from "./votes.ts";

type Of<T extends ApprovalHappening["type"]> = Extract<ApprovalHappening, { type: T }>;

/** What a word comes to before it may change anything. */
type Judged = { readonly done: ApprovalStep } | { readonly cast: VoteCast };

/**
 * Right before state: who has no vote here learns nothing else. A repeat is known before its arguments are found to be
 * old, for an edit that is sent again names the arguments that it has replaced itself.
 */
function judge(change: Change, cast: VoteCast): Judged {
  const { approval } = change;
  const no = (refusal: ApprovalRefusal): Judged => ({ done: refuse(change, refusal) });
  const unfit = mayVote(approval, cast) ?? wellFormedVote(approval, cast);
  if (unfit !== undefined) return no(unfit);
  const earlier = liveVoteOf(change, cast.voter);
  if (earlier !== undefined) {
    if (isSameVote(earlier, cast)) return { done: say(change, "repeated") };
    return no({ reason: "already_voted", decision: earlier.decision, argsHash: earlier.argsHash });
  }
  if (cast.argsHash !== approval.argsHash) return no({ reason: "args_changed", argsHash: approval.argsHash });
  // A no needs no understanding of what it allows.
  if (approval.comprehension && cast.decision === "approve" && !cast.comprehended) {
    return no({ reason: "comprehension_required" });
  }
  if (cast.edit === null) return { cast };
  // An "edit" that changes nothing is a plain vote, and makes nobody vote again.
  if (cast.edit.argsHash === approval.argsHash) return { cast: { ...cast, edit: null } };
  return approval.round < approvalLimits.editsMax ? { cast } : no({ reason: "too_many_edits" });
}

/** Stores a plain vote, and closes when it was the one that was missing. */
function count(change: Change, cast: VoteCast): ApprovalStep {
  const vote = voteOf(change, cast, { late: false });
  change.votes = [...change.votes, vote];
  set(change, {});
  change.effects.push({ type: "store_vote", row: vote });
  const facts = { decision: cast.decision, ...(cast.comment === "" ? {} : { comment: cast.comment }) };
  tellAudit(change, "approval.voted", { by: cast.voter, requestId: cast.requestId, details: facts });
  if (cast.decision === "reject") reject(change, cast);
  else if (isEnough(progressOf(change))) approve(change, peopleOf(change), cast);
  else notify(change, "approval.voted", { decision: cast.decision, by: cast.voter, progress: progressOf(change) });
  return counted(change);
}

function counted(change: Change): ApprovalStep {
  const { recheckError } = change.given;
  if (change.approval.outcome === "recheck_failed" && recheckError !== null) {
    return refuse(change, { reason: "recheck_failed", error: recheckError });
  }
  return say(change, "counted");
}

export function vote(all: ApprovalWithVotes, event: Of<"vote">, given: Given): ApprovalStep {
  const change = begin(all, given);
  const judged = judge(change, event.cast);
  if ("done" in judged) return judged.done;
  const { cast } = judged;
  if (cast.edit === null) return count(change, cast);
  change.effects.push({ type: "revalidate", cast, edit: cast.edit });
  return say(change, "revalidate");
}

/**
 * The edit takes effect here, not when it was asked for: it is judged once more, against what has come meanwhile.
 * Earlier votes are void, the edit is its author's vote on the new arguments, and those arguments meet today's rules.
 */
export function editAccepted(all: ApprovalWithVotes, event: Of<"edit_accepted">, given: Given): ApprovalStep {
  const change = begin(all, given);
  const judged = judge(change, event.cast);
  if ("done" in judged) return judged.done;
  const { cast } = judged;
  const { accepted } = event;
  if (cast.edit === null || accepted.argsHash === change.approval.argsHash)
    return count(change, { ...cast, edit: null });
  const asked = event.requirements;
  const problem = asked === null ? undefined : requirementsProblem(asked, change.approval.subject.kind);
  if (problem !== undefined) return refuse(change, { reason: "invalid_requirements", message: problem });
  // The new arguments' rules may ask for it where the old ones did not; stored without it, the vote could never count.
  if (asked?.comprehension === true && !cast.comprehended) return refuse(change, { reason: "comprehension_required" });
  return takeEdit(change, cast, accepted, asked);
}

function takeEdit(
  change: Change,
  cast: VoteCast,
  accepted: HashedArgs,
  asked: ApprovalRequirements | null,
): ApprovalStep {
  const { approval } = change;
  const voided = change.votes.filter((one) => !one.late && one.round === approval.round).length;
  set(change, {
    ...accepted,
    ...(asked === null ? {} : newRequirements(approval, asked, change.given.now)),
    edited: true,
    round: approval.round + 1,
  });
  const vote = voteOf(change, cast, { late: false, acceptedHash: accepted.argsHash });
  change.votes = [...change.votes, vote];
  change.effects.push({ type: "store_vote", row: vote });
  tellAudit(change, "approval.edited", {
    by: cast.voter,
    requestId: cast.requestId,
    details: {
      previous_args_hash: approval.argsHash,
      votes_voided: voided,
      ...(cast.comment === "" ? {} : { comment: cast.comment }),
    },
  });
  // No rule asks anybody about these arguments, so the person who chose them is enough.
  if (asked === null) approve(change, [cast.voter], cast);
  else if (isEnough(progressOf(change))) approve(change, peopleOf(change), cast);
  else tellAsked(change, change.approval, cast.voter);
  return counted(change);
}

/**
 * Today's rules for the new arguments, in place of the old ones. Two things an edit cannot win: time (the earlier
 * expiry holds), and the way back from an escalation (the role that was escalated to is asked on).
 */
function newRequirements(approval: Approval, asked: ApprovalRequirements, now: number): Partial<Approval> {
  const merged = mergeRoutes(asked.routes);
  const [current] = approval.routes;
  const routes = approval.depth > 0 && current !== undefined ? escalatedRoutes(merged, current.route) : merged;
  return { ...asked, routes, expiresAt: Math.min(approval.expiresAt, now + asked.timeoutMs) };
}

/** The arguments stand as they were, and so do the votes: what is refused never was. */
export function editDenied(all: ApprovalWithVotes, event: Of<"edit_denied">, given: Given): ApprovalStep {
  const change = begin(all, given);
  const judged = judge(change, event.cast);
  if ("done" in judged) return judged.done;
  const { cast, error } = event;
  tellAudit(change, "approval.edit_denied", {
    by: cast.voter,
    requestId: cast.requestId,
    errorCode: error.code,
    ...(cast.edit === null ? {} : { details: { edited_args_hash: cast.edit.argsHash } }),
  });
  return refuse(change, { reason: "edit_denied", error });
}

export function notDue(all: ApprovalWithVotes, _event: Of<"due">, given: Given): ApprovalStep {
  return refuse(begin(all, given), { reason: "not_due" });
}

export function lapse(all: ApprovalWithVotes, _event: Of<"due">, given: Given): ApprovalStep {
  const change = begin(all, given);
  expire(change);
  return say(change, "done");
}

/** Nobody has closed it yet, but its time is up: it ends first, and then the word is too late. */
export function voteTooLate(
  all: ApprovalWithVotes,
  event: Of<"vote" | "edit_accepted" | "edit_denied">,
  given: Given,
): ApprovalStep {
  const change = begin(all, given);
  expire(change);
  return closedVote(change, event.cast);
}

/** Also after the stored instant: a cancel wins over a late allow, and over an escalation that nobody needs. */
export function cancelPending(all: ApprovalWithVotes, event: Of<"cancel">, given: Given): ApprovalStep {
  const change = begin(all, given);
  cancel(change, event);
  return say(change, "done");
}

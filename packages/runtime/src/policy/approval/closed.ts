// Words that come after the close: the same decision gets the stored outcome, another the winner's name, and both are kept.
import { begin, refuse, say, tellAudit, voteOf, type Change, type Given } from "./change.ts";
import { closedFacts } from "./close.ts";
import type { ApprovalHappening, ApprovalStep, VoteCast } from "./machine.ts";
import type { Approval, ApprovalWithVotes, VoteDecision } from "./types.ts";
import { isSameVote, liveVoteOf, mayVote, wellFormedVote } from "./votes.ts";

type Of<T extends ApprovalHappening["type"]> = Extract<ApprovalHappening, { type: T }>;

function isDecided(approval: Approval, decision: VoteDecision): boolean {
  const { outcome } = approval;
  return decision === "approve" ? outcome === "approved" || outcome === "timeout_allowed" : outcome === "rejected";
}

/** The approval of `change` is closed, by this very step or long ago; nothing of it changes any more. */
export function closedVote(change: Change, cast: VoteCast): ApprovalStep {
  const { approval } = change;
  const unfit = mayVote(approval, cast) ?? wellFormedVote(approval, cast);
  if (unfit !== undefined) return refuse(change, unfit);
  const own = liveVoteOf(change, cast.voter);
  const repeat = own !== undefined && isSameVote(own, cast);
  if (!repeat) keepLate(change, cast);
  // On the same arguments too: who approved what was changed since must not believe that it ran. A repeated edit names
  // the arguments as sent, which need not be the ones that stand; its vote is on those.
  const sameArgs = repeat || (cast.edit?.argsHash ?? cast.argsHash) === approval.argsHash;
  const agrees = sameArgs && isDecided(approval, cast.decision);
  return agrees ? say(change, "stored_outcome") : refuse(change, closedFacts(approval));
}

/** Once a person and decision, so that nobody can fill the ledger by asking again. */
function keepLate(change: Change, cast: VoteCast): void {
  const isKept = change.votes.some((vote) => vote.late && vote.voter === cast.voter && vote.decision === cast.decision);
  if (isKept) return;
  const vote = voteOf(change, cast, { late: true });
  change.votes = [...change.votes, vote];
  change.effects.push({ type: "keep_late_vote", row: vote });
  tellAudit(change, "approval.late_vote", {
    by: cast.voter,
    requestId: cast.requestId,
    errorCode: "approval_closed",
    details: { decision: cast.decision, voted_args_hash: vote.argsHash, outcome: change.approval.outcome },
  });
}

export function late(
  all: ApprovalWithVotes,
  event: Of<"vote" | "edit_accepted" | "edit_denied">,
  given: Given,
): ApprovalStep {
  return closedVote(begin(all, given), event.cast);
}

/** The sweep of another replica, or a second cancel: somebody was first. */
export function alreadyClosed(all: ApprovalWithVotes, _event: Of<"due" | "cancel">, given: Given): ApprovalStep {
  const change = begin(all, given);
  return refuse(change, closedFacts(change.approval));
}

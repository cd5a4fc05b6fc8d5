// Who may vote, which votes count, and when they are enough.
import type { ApprovalRefusal, RouteProgress, VoteCast } from "./machine.ts";
import { approvalLimits, type Approval, type ApprovalWithVotes, type Vote } from "./types.ts";

/** The question as far as a right to vote on it goes. */
type Asking = Pick<Approval, "routes" | "distinctFromRequester" | "requester" | "onBehalfOf">;

/** Routes on which a person with these roles counts. */
function routesOf(asking: Asking, roles: readonly string[]): readonly string[] {
  return asking.routes.map(({ route }) => route).filter((route) => route === "" || roles.includes(route));
}

/**
 * Why this person has no vote here; undefined = may vote. An agent is never a person: it would answer its own question.
 * Distinct from the requester means from the agent that called and from whoever it called for.
 */
export function mayVote(asking: Asking, person: Pick<VoteCast, "voter" | "roles">): ApprovalRefusal | undefined {
  const { voter, roles } = person;
  if (voter.startsWith("agent:")) return { reason: "not_a_person" };
  if (asking.distinctFromRequester && (voter === asking.requester || voter === asking.onBehalfOf)) {
    return { reason: "requester_may_not_vote" };
  }
  if (routesOf(asking, roles).length > 0) return undefined;
  return { reason: "missing_role", routes: asking.routes.map(({ route }) => route) };
}

/** What no approval could take, whatever its state. */
export function wellFormedVote(approval: Approval, cast: VoteCast): ApprovalRefusal | undefined {
  const invalid = (field: string, message: string): ApprovalRefusal => ({ reason: "invalid_vote", field, message });
  if (cast.comment.length > approvalLimits.commentCharsMax) {
    return invalid("comment", `a comment has at most ${approvalLimits.commentCharsMax} characters`);
  }
  if (cast.edit === null) return undefined;
  if (cast.decision === "reject")
    return invalid("args", "a rejection changes no arguments; approve with them, or leave them out");
  if (approval.subject.kind === "call") return undefined;
  return invalid("args", "only a call's arguments can be changed; this approval is not about a call that is to run");
}

/** The votes that were cast in time on the arguments of now. */
export function liveVotes({ approval, votes }: ApprovalWithVotes): readonly Vote[] {
  return votes.filter((vote) => !vote.late && vote.round === approval.round);
}

export function liveVoteOf(all: ApprovalWithVotes, voter: string): Vote | undefined {
  return liveVotes(all).find((vote) => vote.voter === voter);
}

/**
 * The same decision on the same arguments. A request that is sent again names the arguments its sender saw and the
 * edit as sent, while the vote that it became stands on the edit as accepted: either one is the same.
 */
export function isSameVote(vote: Vote, cast: VoteCast): boolean {
  const hash = cast.edit?.argsHash ?? cast.argsHash;
  return vote.decision === cast.decision && (hash === vote.argsHash || hash === vote.editedArgsHash);
}

/**
 * A person counts once on every route whose role they held when voting: each rule asked for its own people, and who may
 * answer for two rules answers both. Inside a route people are distinct, so that an approval never has fewer people
 * than its largest quorum. Eligibility is asked again, for an edit can bring requirements that its author does not meet.
 */
export function progressOf(all: ApprovalWithVotes): readonly RouteProgress[] {
  const { approval } = all;
  const counted = liveVotes(all).filter(
    (vote) =>
      vote.decision === "approve" &&
      mayVote(approval, vote) === undefined &&
      (vote.comprehended || !approval.comprehension),
  );
  return approval.routes.map(({ route, quorum }) => ({
    route,
    quorum,
    voters: counted.filter(({ roles }) => route === "" || roles.includes(route)).map(({ voter }) => voter),
  }));
}

export function isEnough(progress: readonly RouteProgress[]): boolean {
  return progress.length > 0 && progress.every(({ quorum, voters }) => new Set(voters).size >= quorum);
}

/** Everybody who counts on some route, in the order of their votes, each once. */
export function peopleOf(all: ApprovalWithVotes): readonly string[] {
  const counted = new Set(progressOf(all).flatMap(({ voters }) => voters));
  return [...new Set(liveVotes(all).map(({ voter }) => voter))].filter((voter) => counted.has(voter));
}

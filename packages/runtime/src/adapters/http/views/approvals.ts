// Approvals and votes as callers see them; arguments stay source text, so that people see the digits that would run.
import { iso } from "../../../call/view.ts";
import type { RouteProgress } from "../../../policy/approval/machine.ts";
import type { Approval, Route, Vote } from "../../../policy/approval/types.ts";
import type { ApprovalDetail } from "../../../service-governance.ts";
import { recordJson } from "./executions.ts";
import { decisionView } from "./policies.ts";
import { isoOrNull } from "./times.ts";

/** @param routes with their voters so far, where they are known */
export function approvalView(
  approval: Approval,
  routes: readonly (Route | RouteProgress)[] = approval.routes,
): Record<string, unknown> {
  return {
    approval_id: approval.approvalId,
    status: approval.state,
    kind: approval.subject.kind,
    execution_id: approval.subject.callId,
    session_id: approval.subject.sessionId,
    project: approval.project,
    tool: approval.tool,
    version: approval.version,
    requester: approval.requester,
    on_behalf_of: approval.onBehalfOf,
    reason: approval.reason,
    routes,
    distinct_from_requester: approval.distinctFromRequester,
    comprehension: approval.comprehension,
    on_timeout: approval.onTimeout,
    on_reject: approval.onReject,
    escalate_to: approval.escalateTo,
    depth: approval.depth,
    escalated_from: approval.escalatedFrom,
    escalated_to: approval.escalatedTo,
    args_hash: approval.argsHash,
    edited: approval.edited,
    opened_at: iso(approval.openedAt),
    expires_at: iso(approval.expiresAt),
    closed_at: isoOrNull(approval.closedAt),
    closed_by: approval.closedBy,
    outcome: approval.outcome,
  };
}

/** @param said what a vote came to; undefined where nobody voted just now */
export function approvalDetailJson(detail: ApprovalDetail, said?: string): string {
  const { approval, votes, progress, call, mayNotVote } = detail;
  const head = JSON.stringify({
    said,
    ...approvalView(
      approval,
      progress.map(({ route, quorum, voters }) => ({ route, quorum, voters })),
    ),
    votes: votes.map(voteView),
    policy: call === undefined ? null : decisionView(call.decision),
    may_not_vote: mayNotVote,
  });
  const args = approval.argsJson === "" ? "null" : approval.argsJson;
  return `${head.slice(0, -1)},"args":${args},"execution":${call === undefined ? "null" : recordJson(call)}}`;
}

/** The arguments of an edit are the approval's own, as long as nobody changes them again. */
function voteView(vote: Vote): Record<string, unknown> {
  return {
    voter: vote.voter,
    decision: vote.decision,
    args_hash: vote.argsHash,
    comment: vote.comment,
    edited: vote.editedArgsJson !== null,
    comprehended: vote.comprehended,
    at: iso(vote.at),
    late: vote.late,
  };
}

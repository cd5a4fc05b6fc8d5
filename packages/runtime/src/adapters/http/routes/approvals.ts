// The routes about approvals: list, read, vote.
import { SignalboxError } from "@signalbox/protocol";
import type { ApprovalDetail } from "../../../service-governance.ts";
import { listAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { approvalDetail, approvalPage } from "../schemas/answers/approvals.ts";
import { approvalQuery, approvalsQuery, newVote, voteBody } from "../schemas/approvals.ts";
import { isMadeId, idInPath } from "../schemas/fields.ts";
import { approvalDetailJson, approvalView } from "../views/approvals.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

/** An id that no approval can have is answered like one that no approval has, and costs the ledger nothing. */
function idIn(params: Ask["params"]): string {
  const id = params["id"] ?? "";
  if (!isMadeId(id)) throw new SignalboxError("approval_not_found", "not an approval id");
  return id;
}

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const page = await service.listApprovals(asked, approvalQuery(query));
  return listAnswer(
    page.items.map((approval) => JSON.stringify(approvalView(approval))),
    page.next,
  );
}

async function read({ service, asked, params }: Ask): Promise<Answer> {
  return detailAnswer(await service.getApproval(asked, idIn(params)));
}

async function vote({ service, asked, params, body }: Ask): Promise<Answer> {
  const id = idIn(params);
  const answer = await service.vote(asked, id, newVote(body));
  return detailAnswer(answer, answer.said);
}

function detailAnswer(detail: ApprovalDetail, said?: string): Answer {
  const text = approvalDetailJson(detail, said);
  const { callId } = detail.approval.subject;
  return callId === null ? { status: 200, text } : { status: 200, text, executionId: callId };
}

/** Who decides must see what is asked, and who follows calls must see what they wait for. */
const readers = ["approvals:decide", "calls:read"] as const;

const approvalParam = { id: idInPath.describe("`approval_id` of the approval") };

const listOperation: Operation = {
  id: "listApprovals",
  tag: "approvals",
  summary: "List questions put to people, newest first",
  query: approvalsQuery,
  answers: { 200: json("One page of approvals", approvalPage) },
};

const getOperation: Operation = {
  id: "getApproval",
  tag: "approvals",
  summary: "Read what is asked, why, and who has voted",
  params: approvalParam,
  answers: { 200: json("The approval with its votes, its arguments and its call", approvalDetail) },
  errors: ["approval_not_found"],
};

const voteOperation: Operation = {
  id: "vote",
  repeatable: true,
  tag: "approvals",
  summary: "Approve, reject, or approve other arguments",
  description:
    "The answer comes when the vote, and what follows from it, is stored. The same vote again changes nothing, " +
    "and a vote on arguments that have changed since is refused.",
  params: approvalParam,
  bodySchema: voteBody,
  example: {
    decision: "approve",
    args_hash: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    comment: "the offer says so",
  },
  answers: { 200: json("The approval after the vote; `said` is what the vote came to", approvalDetail) },
  errors: [
    "approval_not_found",
    "approval_closed",
    "conflict",
    "policy_error",
    "tool_not_found",
    "sandbox_unavailable",
  ],
};

export const approvalRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/approvals", scope: readers, body: "none", handle: list, operation: listOperation },
  { method: "GET", path: "/v1/approvals/:id", scope: readers, body: "none", handle: read, operation: getOperation },
  {
    method: "POST",
    path: "/v1/approvals/:id/votes",
    scope: "approvals:decide",
    body: "json",
    handle: vote,
    operation: voteOperation,
  },
];

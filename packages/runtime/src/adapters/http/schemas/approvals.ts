// What requests about approvals may say.
import { z } from "zod";
import { approvalLimits, approvalStates } from "../../../policy/approval/types.ts";
import type { ApprovalQuery, NewVote } from "../../../service-governance.ts";
import { check, faultAt } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, executionId, flag, listLimit, name } from "./fields.ts";

export const approvalsQuery = z.strictObject({
  project: name.optional(),
  status: z.enum(approvalStates).optional(),
  tool: name.optional(),
  execution_id: executionId.optional(),
  requester: name.optional(),
  mine: flag,
  limit: listLimit,
  cursor: cursor.optional(),
});

export function approvalQuery(query: unknown): ApprovalQuery {
  const { execution_id, ...rest } = check(approvalsQuery, query, "query");
  return defined({ ...rest, executionId: execution_id });
}

export const voteBody = z.strictObject({
  decision: z.enum(["approve", "reject"]),
  // Not held to the form of a hash: a vote on other arguments gets the conflict that names the right ones.
  args_hash: name,
  comment: z.string().max(approvalLimits.commentCharsMax).optional(),
  args: z.unknown().optional(),
  comprehended: z.boolean().optional(),
});

export function newVote(body: unknown): NewVote {
  const { decision, args_hash: argsHash, comment, args, comprehended } = check(voteBody, body, "body");
  if (args !== undefined && decision !== "approve") {
    throw faultAt("body", "/args", "const", 'goes with the decision "approve" only; leave it out');
  }
  return defined({ decision, argsHash, comment, args, comprehended });
}

// What requests about approvals may say.
import { z } from "zod";
import { approvalLimits, approvalStates } from "../../../policy/approval/types.ts";
import type { ApprovalQuery, NewVote } from "../../../service-governance.ts";
import { check, faultAt } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, executionId, flag, listLimit, name } from "./fields.ts";

export const approvalsQuery = z.strictObject({
  project: name.optional().describe("Approvals of this project"),
  status: z.enum(approvalStates).optional().describe("Approvals in this state"),
  tool: name.optional().describe("Approvals of calls of this tool"),
  execution_id: executionId.optional().describe("Approvals of this call"),
  requester: name.optional().describe("Approvals of calls that this principal made"),
  mine: flag.describe("`true`: those on which the caller could vote now"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export function approvalQuery(query: unknown): ApprovalQuery {
  const { execution_id, ...rest } = check(approvalsQuery, query, "query");
  return defined({ ...rest, executionId: execution_id });
}

export const voteBody = z
  .strictObject({
    decision: z.enum(["approve", "reject"]).describe("The person's answer"),
    // Not held to the form of a hash: a vote on other arguments gets the conflict that names the right ones.
    args_hash: name.describe("`args_hash` of the approval whose arguments the voter saw"),
    comment: z.string().max(approvalLimits.commentCharsMax).optional().describe("For the requester and the audit"),
    args: z.unknown().optional().describe("With `approve`: other arguments, which void all earlier votes"),
    comprehended: z
      .boolean()
      .optional()
      .describe("`true` where the approval has `comprehension`: the voter understands what it allows"),
  })
  .meta({ id: "NewVote", description: "One person's answer to one approval" });

export function newVote(body: unknown): NewVote {
  const { decision, args_hash: argsHash, comment, args, comprehended } = check(voteBody, body, "body");
  if (args !== undefined && decision !== "approve") {
    throw faultAt("body", "/args", "const", 'goes with the decision "approve" only; leave it out');
  }
  return defined({ decision, argsHash, comment, args, comprehended });
}

// What answers tell of approvals and votes.
import { z } from "zod";
import { approvalStates } from "../../../../policy/approval/types.ts";
import { at, atOrNull, count, hash, pageOf } from "./common.ts";
import { execution } from "./executions.ts";
import { asking, decision } from "./policies.ts";

const route = z.strictObject({
  route: z.string().describe("The role that a voter must hold; empty: anybody who may decide"),
  quorum: count.describe("Distinct people who must say yes"),
});

const approvalFields = {
  approval_id: z.string(),
  status: z.enum(approvalStates),
  kind: z
    .enum(["call", "resolve", "limit"])
    .describe("`call`: may it run; `resolve`: how did it end; `limit`: may a session go on"),
  execution_id: z.string().nullable(),
  session_id: z.string().nullable(),
  project: z.string(),
  tool: z.string(),
  version: z.string(),
  requester: z.string().describe("Who made the call"),
  on_behalf_of: z.string().describe("For whom an agent made it; empty: for nobody"),
  reason: z.string().describe("Why people are asked"),
  routes: z.array(route),
  ...asking,
  depth: count.describe("Escalations before this approval"),
  escalated_from: z.string().nullable(),
  escalated_to: z.string().nullable(),
  args_hash: hash.describe("SHA-256 of the canonical arguments that voters see; a vote names it"),
  edited: z.boolean().describe("A person changed the arguments"),
  opened_at: at,
  expires_at: at,
  closed_at: atOrNull,
  closed_by: z.string().nullable().describe("Whose word closed it; `runtime`: nobody's"),
  outcome: z
    .enum(["approved", "rejected", "expired", "timeout_allowed", "escalated", "cancelled", "recheck_failed"])
    .nullable()
    .describe("`recheck_failed`: it was approved, and the call may no longer run"),
};

const approval = z.strictObject(approvalFields).meta({ id: "Approval", description: "A question put to people" });

export const approvalPage = pageOf("ApprovalPage", approval);

const vote = z
  .strictObject({
    voter: z.string(),
    decision: z.enum(["approve", "reject"]),
    args_hash: hash.describe("The arguments that the vote is about"),
    comment: z.string(),
    edited: z.boolean().describe("The voter brought other arguments"),
    comprehended: z.boolean(),
    at,
    late: z.boolean().describe("It came after the close, and counts nowhere"),
  })
  .meta({ id: "Vote", description: "One person's answer" });

export const approvalDetail = z
  .strictObject({
    said: z
      .enum(["counted", "repeated", "stored_outcome"])
      .optional()
      .describe("What the vote of this request came to"),
    ...approvalFields,
    routes: z.array(route.extend({ voters: z.array(z.string()).describe("Who has said yes so far") })),
    votes: z.array(vote),
    policy: decision.nullable(),
    may_not_vote: z.string().nullable().describe("Why the caller has no vote here; null: it has one"),
    args: z.unknown().describe("The arguments as they would run; numbers keep their digits"),
    execution: execution.nullable(),
  })
  .meta({ id: "ApprovalDetail", description: "A question with its votes, its arguments and its call" });

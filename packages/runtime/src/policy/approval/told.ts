// What an approval says in words: to the model whose call it held up, and to the person whose vote was refused.
import { errorBody, fieldFault, type ErrorBody } from "@signalbox/protocol";
import type { ApprovalRefusal } from "./machine.ts";
import type { Approval, VoteDecision } from "./types.ts";

/** To a model, while people are being asked. */
export function toldWaiting(tool: string): string {
  return `The call of ${tool} has not run. It waits for a person's approval.`;
}

/** To a model, at expiry time: nothing is pending any more, and nothing will run by itself. */
export function toldExpired(tool: string): string {
  return `The call of ${tool} was not run, and it will not be: nobody decided on its approval in time. It may be asked for again.`;
}

/** To a model: a person's no, with their words when they gave any. */
export function toldRejected(tool: string, comment: string): string {
  const said = comment === "" ? "" : ` They said: ${comment}`;
  return `The call of ${tool} was not run: a person rejected it.${said}`;
}

/**
 * To a model, in front of the result. Its history still shows the arguments that it chose itself, so without this
 * sentence it takes the result for a mistake and makes the original call again.
 */
export function toldEdited(tool: string, ranArgsJson: string): string {
  return (
    `A person changed the arguments of this call of ${tool} before it ran. ` +
    `It ran once, with these arguments: ${ranArgsJson} ` +
    "The arguments that you gave were not used; do not make the call again in order to use them."
  );
}

/** The error that a call ends with when a person said no. */
export function rejectedError(approval: Approval, by: string, comment: string): ErrorBody {
  return errorBody("approval_denied", toldRejected(approval.tool, comment), {
    approval_id: approval.approvalId,
    by,
    ...(comment === "" ? {} : { comment }),
  });
}

/** The error that a call ends with when nobody decided. */
export function expiredError(approval: Approval): ErrorBody {
  return errorBody("approval_expired", toldExpired(approval.tool), {
    approval_id: approval.approvalId,
    expired_at: iso(approval.expiresAt),
  });
}

const decided: Readonly<Record<VoteDecision, string>> = { approve: "approved", reject: "rejected" };

/** The answer to a refused vote; every door sends it as it is. */
export function refusalError(refusal: ApprovalRefusal): ErrorBody {
  const { reason } = refusal;
  switch (reason) {
    case "already_voted":
      return errorBody(
        "conflict",
        `you ${decided[refusal.decision]} this already; a vote cannot be taken back or changed`,
        {
          reason,
          decision: refusal.decision,
          args_hash: refusal.argsHash,
        },
      );
    case "args_changed":
      return errorBody(
        "conflict",
        "the arguments are not the ones you saw; look at the approval again and vote on its args_hash",
        {
          reason,
          args_hash: refusal.argsHash,
        },
      );
    case "approval_closed":
      return closedError(refusal);
    case "missing_role": {
      const roles = refusal.routes.join(", ");
      return errorBody(
        "forbidden",
        `a vote here needs one of these roles: ${roles}; ask an administrator for a key or grant with it`,
        {
          reason,
          roles: refusal.routes,
        },
      );
    }
    case "requester_may_not_vote":
      return errorBody("forbidden", "whoever asked for the call may not decide on it; another person must", { reason });
    case "not_a_person":
      return errorBody("forbidden", "an agent has no vote; approvals are decided by people", { reason });
    case "comprehension_required":
      return errorBody(
        "invalid_input",
        "this approval asks you to confirm that you understood what it allows; set 'comprehended' to true",
        {
          reason,
          fields: [fieldFault("/comprehended", "const", "must be true")],
        },
      );
    case "invalid_vote":
      return errorBody("invalid_input", refusal.message, { reason, fields: [fieldFault(`/${refusal.field}`, refusal.field === "comment" ? "maxLength" : "not", refusal.message)] });
    case "too_many_edits":
      return errorBody("conflict", "the arguments were changed too often; approve or reject them as they stand", {
        reason,
      });
    case "edit_denied":
    case "recheck_failed":
      return { ...refusal.error, details: { ...refusal.error.details, reason } };
    case "not_due":
      return errorBody("conflict", "the approval has not expired yet", { reason });
    case "invalid_requirements":
      return errorBody("policy_error", `the rules ask for an approval that cannot be opened: ${refusal.message}`, {
        reason,
      });
  }
}

/** Names the winner, or the expiry. */
function closedError(closed: Extract<ApprovalRefusal, { reason: "approval_closed" }>): ErrorBody {
  return errorBody("approval_closed", closedMessage(closed), {
    outcome: closed.outcome,
    by: closed.closedBy,
    at: iso(closed.closedAt),
    args_hash: closed.argsHash,
    ...(closed.escalatedTo === null ? {} : { escalated_to: closed.escalatedTo }),
  });
}

function closedMessage(closed: Extract<ApprovalRefusal, { reason: "approval_closed" }>): string {
  const at = iso(closed.closedAt);
  switch (closed.outcome) {
    case "approved":
      return `${closed.closedBy} approved this at ${at}, with the arguments ${closed.argsHash}`;
    case "rejected":
      return `${closed.closedBy} rejected this at ${at}`;
    case "expired":
      return `this expired at ${at} and was not run; it must be asked for again`;
    case "timeout_allowed":
      return `nobody decided in time, and by its rule this was approved at ${at}`;
    case "escalated":
      return `nobody decided in time; ${closed.escalatedTo ?? "another approval"} asks on: vote there`;
    case "cancelled":
      return `${closed.closedBy} cancelled this at ${at}; there is nothing left to decide`;
    case "recheck_failed":
      return `this was approved, but by ${at} the call was no longer allowed to run`;
  }
}

export function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}

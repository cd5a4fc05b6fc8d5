// Building blocks of every transition of an approval: one draft of a change, with its rows, audit records and notices in order.
import type { ErrorBody } from "@signalbox/protocol";
import type { AuditDraft } from "../../call/audit-draft.ts";
import type {
  ApprovalEffect,
  ApprovalNotice,
  ApprovalRefusal,
  ApprovalReply,
  ApprovalStep,
  VoteCast,
} from "./machine.ts";
import type { Approval, ApprovalWithVotes, Vote } from "./types.ts";

/** What the machine is given beside approval and happening. */
export interface Given {
  readonly now: number;
  /** A fresh id, in case an escalation opens the next approval. */
  readonly nextApprovalId: string;
  /** Why the call may no longer run, when that was found out before the commit. */
  readonly recheckError: ErrorBody | null;
}

/** A change being put together; `reply` turns it into the step's answer. */
export interface Change {
  readonly before: Approval;
  approval: Approval;
  votes: readonly Vote[];
  readonly effects: ApprovalEffect[];
  readonly given: Given;
}

export function begin(all: ApprovalWithVotes, given: Given): Change {
  return { before: all.approval, approval: all.approval, votes: all.votes, effects: [], given };
}

/** The revision grows once a step, however much the step sets. */
export function set(change: Change, columns: Partial<Omit<Approval, "revision">>): void {
  change.approval = { ...change.approval, ...columns, revision: change.before.revision + 1 };
}

export function reply(change: Change, answer: ApprovalReply): ApprovalStep {
  const { approval, votes, effects, before } = change;
  return { after: { approval, votes }, changed: approval !== before, effects, reply: answer };
}

export function say(change: Change, said: (ApprovalReply & { ok: true })["said"]): ApprovalStep {
  return reply(change, { ok: true, said });
}

export function refuse(change: Change, refusal: ApprovalRefusal): ApprovalStep {
  return reply(change, { ok: false, refusal });
}

/** The vote that this word becomes; `accepted`: the hash of an edit as it would run. */
export function voteOf(
  change: Change,
  cast: VoteCast,
  options: { readonly late: boolean; readonly acceptedHash?: string },
): Vote {
  const { approval, given } = change;
  return {
    tenant: approval.tenant,
    approvalId: approval.approvalId,
    voter: cast.voter,
    roles: cast.roles,
    decision: cast.decision,
    argsHash: options.acceptedHash ?? cast.edit?.argsHash ?? cast.argsHash,
    round: approval.round,
    comment: cast.comment,
    editedArgsJson: cast.edit?.argsJson ?? null,
    editedArgsHash: cast.edit?.argsHash ?? null,
    comprehended: cast.comprehended,
    at: given.now,
    late: options.late,
  };
}

/** The principal of a record is who acted; what the runtime does by itself stands under the requester. */
export function tellAudit(
  change: Change,
  action: string,
  facts: {
    readonly by?: string;
    readonly requestId?: string;
    readonly approval?: AuditDraft["approval"];
    readonly errorCode?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  },
  about: Approval = change.approval,
): void {
  const { callId, sessionId, kind } = about.subject;
  const draft: AuditDraft = {
    ts: change.given.now,
    tenant: about.tenant,
    project: about.project,
    principal: facts.by ?? about.requester,
    ...(facts.by === undefined && about.onBehalfOf !== "" ? { onBehalfOf: about.onBehalfOf } : {}),
    action,
    tool: about.tool,
    version: about.version,
    ...(callId === null ? {} : { executionId: callId, callId }),
    inputHash: about.argsHash,
    status: about.state,
    ...(facts.errorCode === undefined ? {} : { errorCode: facts.errorCode }),
    ...(facts.approval === undefined ? {} : { approval: facts.approval }),
    ...(facts.requestId === undefined ? {} : { requestId: facts.requestId }),
    details: {
      approval_id: about.approvalId,
      kind,
      ...(sessionId === null ? {} : { session_id: sessionId }),
      ...facts.details,
    },
  };
  change.effects.push({ type: "audit", draft });
}

export function notify(
  change: Change,
  type: ApprovalNotice["type"],
  data: Readonly<Record<string, unknown>>,
  about: Approval = change.approval,
): void {
  const { callId, sessionId, kind } = about.subject;
  const notice: ApprovalNotice = {
    type,
    tenant: about.tenant,
    approvalId: about.approvalId,
    at: change.given.now,
    data: {
      kind,
      ...(callId === null ? {} : { execution_id: callId }),
      ...(sessionId === null ? {} : { session_id: sessionId }),
      tool: about.tool,
      version: about.version,
      args_hash: about.argsHash,
      ...data,
    },
  };
  change.effects.push({ type: "notice", notice });
}

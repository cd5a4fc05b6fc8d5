// The first row of an approval: the question as it is put, and what tells people of it.
import { begin, notify, refuse, say, tellAudit, type Change } from "./change.ts";
import type { ApprovalStep, HashedArgs } from "./machine.ts";
import { iso } from "./told.ts";
import { mergeRoutes, requirementsProblem } from "./requirements.ts";
import type { Approval, ApprovalRequirements, ApprovalSubject } from "./types.ts";

/** What is asked, about what, and for whom. */
export interface ApprovalRequest {
  readonly tenant: string;
  readonly approvalId: string;
  readonly project: string;
  readonly subject: ApprovalSubject;
  readonly tool: string;
  readonly version: string;
  readonly requester: string;
  readonly onBehalfOf: string;
  /** What voters see, as it would run. */
  readonly args: HashedArgs;
  readonly requirements: ApprovalRequirements;
}

/** Pure. Refused only for requirements that cannot be asked for: then the call must not be admitted. */
export function openApproval(request: ApprovalRequest, now: number): ApprovalStep {
  const { args, requirements, ...facts } = request;
  const approval: Approval = {
    ...facts,
    ...requirements,
    routes: mergeRoutes(requirements.routes),
    depth: 0,
    escalatedFrom: null,
    escalatedTo: null,
    argsHash: args.argsHash,
    argsJson: args.argsJson,
    edited: false,
    round: 0,
    state: "pending",
    openedAt: now,
    expiresAt: now + requirements.timeoutMs,
    closedAt: null,
    closedBy: null,
    outcome: null,
    revision: 1,
  };
  const change = begin({ approval, votes: [] }, { now, nextApprovalId: "", recheckError: null });
  const problem = requirementsProblem(requirements, request.subject.kind);
  if (problem !== undefined) return refuse(change, { reason: "invalid_requirements", message: problem });
  tellOpened(change, approval);
  return say(change, "done");
}

export function tellOpened(change: Change, opened: Approval): void {
  change.effects.push({ type: "open", row: opened });
  tellAudit(change, "approval.requested", { details: question(opened) }, opened);
  tellAsked(change, opened);
}

/** Whoever follows the call learns of the question; a changed question is told like a new one. */
export function tellAsked(change: Change, asking: Approval, editedBy?: string): void {
  const { callId } = asking.subject;
  const asked = { ...question(asking), ...(editedBy === undefined ? {} : { edited_by: editedBy }) };
  const data = { approval_id: asking.approvalId, args_hash: asking.argsHash, ...asked };
  if (callId !== null) change.effects.push({ type: "call_event", callId, event: "approval_requested", data });
  notify(change, editedBy === undefined ? "approval.requested" : "approval.edited", asked, asking);
}

function question(asking: Approval): Readonly<Record<string, unknown>> {
  return {
    routes: asking.routes,
    reason: asking.reason,
    expires_at: iso(asking.expiresAt),
    ...(asking.edited ? { edited: true } : {}),
    ...(asking.escalatedFrom === null ? {} : { depth: asking.depth, escalated_from: asking.escalatedFrom }),
  };
}

// The question that stands in the commit of an admission: the approval's row, what is told of it, and what the call's event says.
import { SignalboxError } from "@signalbox/protocol";
import type { EditedArgs } from "../call/machine.ts";
import type { CallIdentity } from "../call/types.ts";
import type { GuardedWrite, PlainWrite } from "../ledger/port.ts";
import { openApproval } from "../policy/approval/open.ts";
import { refusalError } from "../policy/approval/told.ts";
import type { ApprovalRequirements } from "../policy/approval/types.ts";
import type { Judgement } from "../policy/decide.ts";
import { unitOf } from "./approval-unit.ts";
import type { Approvals } from "./approvals.ts";
import { hashedArgs } from "./args.ts";
import type { Clock, Hash } from "./ports.ts";

export interface Opening {
  readonly approvalId: string;
  readonly expiresAt: number;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly guards: readonly GuardedWrite[];
  readonly writes: readonly PlainWrite[];
}

/** @returns null for a call that nobody is asked about */
export function openingOf(
  ports: { readonly approvals: Approvals; readonly clock: Clock; readonly hash: Hash },
  identity: CallIdentity,
  edited: EditedArgs | null,
  { approval: wanted, decision }: Judgement,
  waitMsMax = Number.POSITIVE_INFINITY,
): Opening | null {
  if (wanted === null) return null;
  // An agent that may wait only so long asks only so long, and what nobody decides by then is not run.
  const approval: ApprovalRequirements = wanted.timeoutMs <= waitMsMax ? wanted : { ...wanted, timeoutMs: waitMsMax, onTimeout: "deny", escalateTo: null };
  const { tenant, callId, project, tool, version, principal, onBehalfOf, sessionId } = identity;
  const approvalId = ports.approvals.newId();
  const now = ports.clock.now();
  const opened = openApproval(
    {
      tenant,
      approvalId,
      project,
      subject: { kind: "call", callId, sessionId: sessionId === "" ? null : sessionId },
      tool,
      version,
      requester: principal,
      onBehalfOf,
      args: hashedArgs(ports.hash, edited?.argsJson ?? identity.inputJson ?? "null"),
      requirements: approval,
    },
    now,
  );
  if (!opened.reply.ok) {
    // The rules were checked for this when they were published; what slips through must not run unasked.
    const { message } = refusalError(opened.reply.refusal);
    throw new SignalboxError("policy_error", message, { details: { decision_id: decision.id } });
  }
  const unit = unitOf(undefined, opened, null);
  const asked = unit.call?.happening.type === "asked" ? unit.call.happening.data : {};
  const ids = decision.rules.map((rule) => `${rule.policy}@${rule.version}`);
  const policy = { decision: decision.outcome, ids };
  const writes = unit.writes.map((write): PlainWrite =>
    write.op === "append_audit" ? { op: "append_audit", draft: { ...write.draft, policy, requestId: identity.requestId } } : write,
  );
  return { approvalId, expiresAt: now + approval.timeoutMs, asked, guards: unit.guards, writes };
}

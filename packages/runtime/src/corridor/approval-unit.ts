// Turns what the approval machine wants done into one unit for the ledger, and at most one happening of the call.
import type { ApprovedArgs, Happening } from "../call/machine.ts";
import type { GuardedWrite, PlainWrite } from "../ledger/port.ts";
import type { ApprovalEffect, ApprovalStep } from "../policy/approval/machine.ts";
import type { Approval } from "../policy/approval/types.ts";

export interface ApprovalUnit {
  readonly guards: readonly GuardedWrite[];
  readonly writes: readonly PlainWrite[];
  /** What becomes of the call in the same unit; null = nothing. */
  readonly call: { readonly callId: string; readonly happening: Happening } | null;
  readonly notices: number;
}

/**
 * @param before the approval that was read; its revision guards the unit. Undefined: it is being opened.
 * @param edit the arguments that this very step has put in place of others
 */
export function unitOf(before: Approval | undefined, step: ApprovalStep, edit: ApprovedArgs | null): ApprovalUnit {
  const guards: GuardedWrite[] = [];
  const writes: PlainWrite[] = [];
  let call: ApprovalUnit["call"] = null;
  let notices = 0;
  if (before !== undefined && step.changed) {
    guards.push({ op: "update_approval", expect: { revision: before.revision }, row: step.after.approval });
  }
  for (const effect of step.effects) {
    if (effect.type === "open") guards.push({ op: "insert_approval", row: effect.row });
    else if (effect.type === "store_vote" || effect.type === "keep_late_vote") writes.push({ op: "store_vote", row: effect.row });
    else if (effect.type === "audit") writes.push({ op: "append_audit", draft: effect.draft });
    else if (effect.type === "notice") {
      writes.push({ op: "append_notice", notice: effect.notice });
      notices++;
    } else call = happeningOf(effect, edit) ?? call;
  }
  return { guards, writes, call, notices };
}

export type ApproveEffect = Extract<ApprovalEffect, { type: "approve_call" }>;

function happeningOf(effect: ApprovalEffect, args: ApprovedArgs | null): ApprovalUnit["call"] {
  switch (effect.type) {
    case "approve_call":
      return { callId: effect.callId, happening: { type: "approved", by: effect.by, args } };
    case "deny_call":
      return { callId: effect.callId, happening: { type: "rejected", error: effect.error, by: effect.by } };
    case "resolve_call": {
      const { callId, verdict, by, comment } = effect;
      return { callId, happening: { type: "resolve", verdict, by, comment, output: null } };
    }
    case "call_event":
      return { callId: effect.callId, happening: { type: "asked", approvalId: askedId(effect.data), outcome: null, args, data: effect.data } };
    default:
      // Limits of sessions have no call; who drives the session does what they say.
      return null;
  }
}

function askedId(data: Readonly<Record<string, unknown>>): string {
  const id = data["approval_id"];
  if (typeof id !== "string") throw new Error("an approval was asked for without its id");
  return id;
}

/** Whether the step lets the call go on: then it must be looked at again first. */
export function approves(step: ApprovalStep): ApproveEffect | undefined {
  return step.effects.find((effect): effect is ApproveEffect => effect.type === "approve_call");
}


// Approvals for tests: one payment that people are asked about, votes on it, and a way to play happenings one by one.
import { openApproval, type ApprovalRequest } from "../../packages/runtime/src/policy/approval/open.ts";
import type {
  ApprovalEffect,
  ApprovalHappening,
  ApprovalStep,
  VoteCast,
} from "../../packages/runtime/src/policy/approval/machine.ts";
import { stepApproval } from "../../packages/runtime/src/policy/approval/step.ts";
import type { ApprovalRequirements, ApprovalWithVotes } from "../../packages/runtime/src/policy/approval/types.ts";

/** The instant at which the approvals of these tests are opened. */
export const asked0 = 1_000_000;
export const hourMs = 3_600_000;

/** One person with the role finance, an hour, then no. */
export const finance: ApprovalRequirements = {
  routes: [{ route: "finance", quorum: 1 }],
  distinctFromRequester: false,
  comprehension: false,
  timeoutMs: hourMs,
  onTimeout: "deny",
  onReject: "return_to_agent",
  escalateTo: null,
  reason: "Payments above 1000 need a person",
};

export const requirementsOf = (changes: Partial<ApprovalRequirements> = {}): ApprovalRequirements => ({
  ...finance,
  ...changes,
});

/** agent:clerk wants, for user:ann, to pay 1500 (hash h0). */
export function requestOf(
  requirements: Partial<ApprovalRequirements> = {},
  facts: Partial<ApprovalRequest> = {},
): ApprovalRequest {
  return {
    tenant: "acme",
    approvalId: "apr_1",
    project: "shop",
    subject: { kind: "call", callId: "exec_1", sessionId: null },
    tool: "pay",
    version: "1.0.0",
    requester: "agent:clerk",
    onBehalfOf: "user:ann",
    args: { argsJson: '{"amount":1500}', argsHash: "h0" },
    requirements: requirementsOf(requirements),
    ...facts,
  };
}

export function opened(
  requirements: Partial<ApprovalRequirements> = {},
  facts: Partial<ApprovalRequest> = {},
): ApprovalWithVotes {
  const step = openApproval(requestOf(requirements, facts), asked0);
  if (!step.reply.ok) throw new Error(`the approval was not opened: ${step.reply.refusal.reason}`);
  return step.after;
}

/** An approval by that person, in the role finance, of what they saw first; nothing else said. */
export function castBy(voter: string, changes: Partial<VoteCast> = {}): VoteCast {
  return {
    voter,
    roles: ["finance"],
    decision: "approve",
    argsHash: "h0",
    comment: "",
    comprehended: false,
    edit: null,
    requestId: `req_${voter}`,
    ...changes,
  };
}

export const voteBy = (
  voter: string,
  changes: Partial<VoteCast> = {},
): Extract<ApprovalHappening, { type: "vote" }> => ({
  type: "vote",
  cast: castBy(voter, changes),
});

/** Pay 500 instead (hash h1). */
export const toFiveHundred = { argsJson: '{"amount":500}', argsHash: "h1" };

/** The edit of that person has passed all checks; `requirements`: null = no rule asks anybody. */
export function editBy(
  voter: string,
  requirements: ApprovalRequirements | null,
  changes: Partial<VoteCast> = {},
): Extract<ApprovalHappening, { type: "edit_accepted" }> {
  const cast = castBy(voter, { edit: toFiveHundred, ...changes });
  return { type: "edit_accepted", cast, accepted: cast.edit ?? toFiveHundred, requirements };
}

export const cancelled: ApprovalHappening = {
  type: "cancel",
  by: "user:ann",
  reason: "call_ended",
  requestId: "req_cancel",
};

export function play(all: ApprovalWithVotes, happening: ApprovalHappening, afterMs = 0): ApprovalStep {
  return stepApproval(all, happening, asked0 + afterMs, "apr_2");
}

/** Happenings in order, a minute apart from a minute after the opening; what the last one leaves behind. */
export function playAll(all: ApprovalWithVotes, ...happenings: readonly ApprovalHappening[]): ApprovalWithVotes {
  return happenings.reduce((before, happening, i) => play(before, happening, (i + 1) * 60_000).after, all);
}

/** The reply in a word: what it said, or why it refused. */
export function replyOf({ reply }: ApprovalStep): string {
  return reply.ok ? reply.said : reply.refusal.reason;
}

/** Effects in order by their types; audits with their action, notices with their type. */
export function outline(effects: readonly ApprovalEffect[]): string[] {
  return effects.map((effect) => {
    if (effect.type === "audit") return `audit:${effect.draft.action}`;
    return effect.type === "notice" ? `notice:${effect.notice.type}` : effect.type;
  });
}

export function only<T extends ApprovalEffect["type"]>(
  effects: readonly ApprovalEffect[],
  type: T,
): Extract<ApprovalEffect, { type: T }>[] {
  return effects.filter((effect): effect is Extract<ApprovalEffect, { type: T }> => effect.type === type);
}

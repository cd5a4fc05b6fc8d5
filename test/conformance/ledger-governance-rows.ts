// Sample rows of what people decide, for the ledger's conformance suite: complete, and with every field overridable.
import type { Notice, Webhook } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { Approval, Vote } from "../../packages/runtime/src/policy/approval/types.ts";
import type { StoredPolicy } from "../../packages/runtime/src/policy/types.ts";
import { dayStart } from "./ledger-rows.ts";

const hourMs = 3_600_000;

/** Pending, asked of two routes, an hour's time. */
export function sampleApproval(fields: Partial<Approval> & Pick<Approval, "approvalId">): Approval {
  return {
    tenant: "acme",
    project: "shop",
    subject: { kind: "call", callId: "exec_1", sessionId: null },
    tool: "payments.send",
    version: "2.1.0",
    requester: "agent:clerk",
    onBehalfOf: "user:ann",
    routes: [
      { route: "finance", quorum: 2 },
      { route: "", quorum: 1 },
    ],
    distinctFromRequester: true,
    comprehension: false,
    timeoutMs: hourMs,
    onTimeout: "escalate",
    onReject: "return_to_agent",
    escalateTo: "finance-lead",
    reason: "Payments above 1000 need a person",
    depth: 0,
    escalatedFrom: null,
    escalatedTo: null,
    argsHash: "a1".repeat(32),
    argsJson: '{"amount":9007199254740993.10,"payee":"Ærø ☂"}',
    edited: false,
    round: 0,
    state: "pending",
    openedAt: dayStart,
    expiresAt: dayStart + hourMs,
    closedAt: null,
    closedBy: null,
    outcome: null,
    revision: 0,
    ...fields,
  };
}

/** The approval as it stands when it was approved, one revision later. */
export function approved(approval: Approval, fields: Partial<Approval> = {}): Approval {
  return {
    ...approval,
    state: "approved",
    closedAt: approval.openedAt + 60_000,
    closedBy: "user:bo",
    outcome: "approved",
    revision: approval.revision + 1,
    ...fields,
  };
}

export function sampleVote(fields: Partial<Vote> & Pick<Vote, "approvalId" | "voter">): Vote {
  return {
    tenant: "acme",
    roles: ["finance", "räte"],
    decision: "approve",
    argsHash: "a1".repeat(32),
    round: 0,
    comment: "",
    editedArgsJson: null,
    editedArgsHash: null,
    comprehended: false,
    at: dayStart + 1_000,
    late: false,
    ...fields,
  };
}

/** Allows reads, active, without a condition. */
export function samplePolicy(fields: Partial<StoredPolicy> & Pick<StoredPolicy, "name">): StoredPolicy {
  return {
    tenant: "acme",
    version: "1.0.0",
    level: "tenant",
    project: "",
    mode: "enforce",
    match: { tools: [], agents: [], principals: [], environments: [], triggers: [] },
    when: null,
    missing: null,
    decision: "allow",
    reason: "reads are open",
    approval: null,
    obligations: { limits: {} },
    digest: "d1".repeat(32),
    publishedAt: dayStart,
    publishedBy: "user:ada",
    status: "active",
    documentJson: '{"kind":"Policy"}',
    ...fields,
  };
}

export function sampleNotice(fields: Partial<Notice> = {}): Notice {
  return {
    type: "approval.requested",
    tenant: "acme",
    approvalId: "apr_1",
    at: dayStart,
    data: { kind: "call", tool: "payments.send" },
    ...fields,
  };
}

export function sampleWebhook(fields: Partial<Webhook> & Pick<Webhook, "webhookId">): Webhook {
  return {
    tenant: "acme",
    url: "https://hooks.example/signalbox?to=finance",
    sealedSecret: "v1.c2VhbGVk",
    types: [],
    createdAt: dayStart,
    createdBy: "user:ada",
    ...fields,
  };
}

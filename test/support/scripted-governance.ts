// The part of the scripted service that people use, with fixed answers: one policy, one approval, one of everything else.
import { SignalboxError } from "@signalbox/protocol";
import type { Delivery, Webhook } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { Approval, Vote } from "../../packages/runtime/src/policy/approval/types.ts";
import type { StoredPolicy } from "../../packages/runtime/src/policy/types.ts";
import type { ToolRecord, ToolVersion } from "../../packages/runtime/src/registry/types.ts";
import type { ApprovalDetail, GovernanceService, PolicyAnswer } from "../../packages/runtime/src/service-governance.ts";
import type { Asked } from "../../packages/runtime/src/tenancy/types.ts";
import { scriptedAt, scriptedCall, scriptedCallId } from "./scripted-call.ts";

export const scriptedApprovalId = "apr_01KDY7MFG80000000000000000";
export const scriptedWebhookId = "hook_01KDY7MFG80000000000000000";

export function scriptedPolicy(changes: Partial<StoredPolicy> = {}): StoredPolicy {
  return {
    tenant: "acme",
    name: "payments-need-a-person",
    version: "1.0.0",
    level: "tenant",
    project: "",
    mode: "enforce",
    match: { tools: ["payments.*"], agents: [], principals: [], environments: [], triggers: [] },
    when: "args.amount > 1000.0",
    missing: "match",
    decision: "require_approval",
    reason: "Payments above 1000 need a person",
    approval: {
      route: "finance",
      approvals: 2,
      distinctFromRequester: true,
      timeoutMs: 86_400_000,
      onTimeout: "escalate",
      onReject: "return_to_agent",
      escalateTo: "finance-lead",
      comprehension: false,
    },
    obligations: { limits: { timeoutMs: 5_000, cpuSeconds: 2 }, sandbox: "microvm", egress: [] },
    digest: "pd1",
    publishedAt: scriptedAt,
    publishedBy: "user:alice",
    status: "active",
    documentJson: '{"kind":"Policy","spec":{"when":"args.n == 9007199254740993"},"n":9007199254740993}',
    ...changes,
  };
}

export function scriptedApproval(changes: Partial<Approval> = {}): Approval {
  return {
    tenant: "acme",
    approvalId: scriptedApprovalId,
    project: "default",
    subject: { kind: "call", callId: scriptedCallId, sessionId: null },
    tool: "echo",
    version: "1.2.0",
    requester: "user:vic",
    onBehalfOf: "",
    routes: [{ route: "finance", quorum: 2 }],
    distinctFromRequester: true,
    comprehension: false,
    timeoutMs: 86_400_000,
    onTimeout: "deny",
    onReject: "return_to_agent",
    escalateTo: null,
    reason: "Payments above 1000 need a person",
    depth: 0,
    escalatedFrom: null,
    escalatedTo: null,
    argsHash: "ah1",
    argsJson: '{"amount":9007199254740993}',
    edited: false,
    round: 0,
    state: "pending",
    openedAt: scriptedAt,
    expiresAt: scriptedAt + 86_400_000,
    closedAt: null,
    closedBy: null,
    outcome: null,
    revision: 1,
    ...changes,
  };
}

export const scriptedVote: Vote = {
  tenant: "acme",
  approvalId: scriptedApprovalId,
  voter: "user:fred",
  roles: ["finance"],
  decision: "approve",
  argsHash: "ah1",
  round: 0,
  comment: "looked at it",
  editedArgsJson: null,
  editedArgsHash: null,
  comprehended: false,
  at: scriptedAt + 1_000,
  late: false,
};

export function scriptedApprovalDetail(changes: Partial<ApprovalDetail> = {}): ApprovalDetail {
  return {
    approval: scriptedApproval(),
    votes: [scriptedVote],
    progress: [{ route: "finance", quorum: 2, voters: ["user:fred"] }],
    call: scriptedCall({
      state: "awaiting_approval",
      outputJson: null,
      settledAt: null,
      decision: {
        id: "dec_1",
        outcome: "require_approval",
        reason: "Payments above 1000 need a person",
        rules: [
          {
            policy: "payments-need-a-person",
            version: "1.0.0",
            level: "tenant",
            outcome: "require_approval",
            reason: "Payments above 1000 need a person",
            observed: false,
          },
        ],
        spentMicros: 40,
      },
    }),
    mayNotVote: null,
    ...changes,
  };
}

export const scriptedWebhook: Webhook = {
  tenant: "acme",
  webhookId: scriptedWebhookId,
  url: "https://example.com/hooks",
  sealedSecret: "never-shown",
  types: ["approval.requested"],
  createdAt: scriptedAt,
  createdBy: "user:alice",
};

const delivery: Delivery = {
  tenant: "acme",
  deliveryId: "dlv_1",
  webhookId: scriptedWebhookId,
  notice: {
    type: "approval.requested",
    tenant: "acme",
    approvalId: scriptedApprovalId,
    at: scriptedAt,
    data: { args_hash: "ah1" },
  },
  state: "pending",
  attempts: 1,
  nextAt: scriptedAt + 5_000,
  endedAt: null,
  lastStatus: 503,
  lastError: "the receiver answered 503",
};

export const scriptedPolicyAnswer: PolicyAnswer = {
  explanation: {
    judgement: {
      decision: { id: "dec_9", outcome: "deny", reason: "No refunds", rules: [], spentMicros: 5 },
      code: "forbidden",
      deciding: {
        policy: "no-refunds",
        version: "2.0.0",
        level: "tenant",
        outcome: "deny",
        reason: "No refunds",
        observed: false,
      },
      approval: null,
      obligations: { limits: { memoryBytes: 1_024 } },
    },
    rules: [
      {
        policy: "no-refunds",
        version: "2.0.0",
        tenant: "acme",
        level: "tenant",
        mode: "enforce",
        verdict: "matched",
        outcome: "deny",
        reason: "No refunds",
        when: "args.refund",
        because: ["args.refund is true"],
      },
    ],
  },
  lines: ["The call would be denied: No refunds"],
  missingPermissions: ["net:egress:bank.example.com"],
  inputErrors: [{ pointer: "/amount", message: "must be a number" }],
};

function find({ principal }: Asked, approvalId: string): ApprovalDetail {
  if (principal.tenant === "acme" && approvalId === scriptedApprovalId) return scriptedApprovalDetail();
  throw new SignalboxError("approval_not_found", `nothing under ${approvalId} in ${principal.tenant}`, {
    details: { looked_in: principal.tenant },
  });
}

interface ScriptedTool {
  readonly record: ToolRecord;
  readonly version: ToolVersion;
}

export function scriptedGovernance(tool: ScriptedTool): GovernanceService {
  return { ...scriptedRules(), ...scriptedPeople(), ...scriptedRegistry(tool) };
}

type Rules =
  | "publishPolicy"
  | "listPolicies"
  | "getPolicy"
  | "setPolicyStatus"
  | "policyDefaults"
  | "setPolicyDefault"
  | "explainPolicy"
  | "testPolicies";

function scriptedRules(): Pick<GovernanceService, Rules> {
  const changed = { changedAt: scriptedAt, changedBy: "user:alice" };
  return {
    publishPolicy: async () => ({
      policy: scriptedPolicy(),
      alreadyThere: false,
      warnings: [{ path: "spec.match.tools", message: "names no tool", hint: "did you mean payments.*?" }],
      toolsHit: ["payments.send"],
    }),
    listPolicies: async () => ({ items: [scriptedPolicy()], next: "more" }),
    getPolicy: async () => ({ policy: scriptedPolicy(), versions: ["1.0.0", "0.9.0"] }),
    setPolicyStatus: async (_asked, _name, version, status) => scriptedPolicy({ version, status }),
    policyDefaults: async () => [
      { tenant: "platform", project: "", decision: null, ...changed },
      { tenant: "acme", project: "", decision: "deny", ...changed },
    ],
    setPolicyDefault: async (_asked, project, decision) => ({ tenant: "acme", project, decision, ...changed }),
    explainPolicy: async () => scriptedPolicyAnswer,
    testPolicies: async () => [
      { name: "small payments pass", passed: true, failures: [], explanation: [] },
      { name: "large ones ask", passed: false, failures: ["decision is allow, not deny"], explanation: ["No rule"] },
    ],
  };
}

type People =
  | "listApprovals"
  | "getApproval"
  | "vote"
  | "addWebhook"
  | "listWebhooks"
  | "removeWebhook"
  | "listDeliveries"
  | "freeze"
  | "unfreeze"
  | "listFreezes";

function scriptedPeople(): Pick<GovernanceService, People> {
  return {
    listApprovals: async () => ({ items: [scriptedApproval({ argsJson: "" })], next: "more" }),
    getApproval: async (asked, id) => find(asked, id),
    vote: async (asked, id) => ({ ...find(asked, id), said: "counted" }),
    addWebhook: async () => ({ webhook: scriptedWebhook, secret: "the-secret" }),
    listWebhooks: async () => [scriptedWebhook],
    removeWebhook: async ({ principal }, id) => {
      if (principal.tenant === "acme" && id === scriptedWebhookId) return;
      throw new SignalboxError("webhook_not_found", `nothing under ${id} in ${principal.tenant}`);
    },
    listDeliveries: async () => ({ items: [delivery], next: "more" }),
    freeze: async ({ principal }, tool, reason) => ({
      tenant: principal.tenant,
      tool,
      reason,
      at: scriptedAt,
      by: principal.name,
    }),
    unfreeze: async () => ({ lifted: true }),
    listFreezes: async () => [
      { tenant: "platform", tool: "", reason: "an incident", at: scriptedAt, by: "user:root" },
      { tenant: "acme", tool: "echo", reason: "", at: scriptedAt, by: "user:alice" },
    ],
  };
}

type Registry = Exclude<keyof GovernanceService, Rules | People>;

function scriptedRegistry({ record, version }: ScriptedTool): Pick<GovernanceService, Registry> {
  const changed = { tenant: "acme", changedAt: scriptedAt, changedBy: "user:alice" };
  return {
    pinTool: async (_asked, tool, requested) => ({ tool, requested, ...changed }),
    toolPins: async () => [{ tool: "echo", requested: "^1.0.0", ...changed }],
    rollBackTool: async () => ({ record, from: "1.3.0" }),
    activations: async (_asked, tool) => [
      { tenant: "acme", tool, version: "1.2.0", at: scriptedAt + 1_000, by: "user:alice" },
      { tenant: "acme", tool, version: "1.1.0", at: scriptedAt, by: "user:alice" },
    ],
    deprecateTool: async (_asked, _tool, _version, deprecated) => ({
      ...version,
      status: deprecated ? "deprecated" : "active",
    }),
    quarantineTool: async (_asked, _tool, _version, { released }) => ({
      versions: ["1.1.0", "1.2.0"],
      denied: released ? 0 : 3,
    }),
    enableTool: async (_asked, project, tool, enabled) => ({ project, tool, enabled, ...changed }),
    projectTools: async () => [{ project: "web", tool: "echo", enabled: false, ...changed }],
    listProjects: async () => [
      { tenant: "acme", project: "default", environment: "", createdAt: scriptedAt },
      { tenant: "acme", project: "web", environment: "production", createdAt: scriptedAt },
    ],
    putProject: async ({ principal }, project, environment) => ({
      tenant: principal.tenant,
      project,
      environment,
      createdAt: scriptedAt,
    }),
  };
}

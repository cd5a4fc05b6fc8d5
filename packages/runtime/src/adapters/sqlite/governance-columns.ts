// Which column keeps which field of what people decide: policies, approvals and votes, webhooks and deliveries, the registry's choices.
import type { Notice, Delivery, Webhook } from "../../ledger/webhooks.ts";
import type { Approval, ApprovalSubject, Vote } from "../../policy/approval/types.ts";
import type { PolicyDefault, PolicyVersion } from "../../policy/types.ts";
import type { Activation, Freeze, ProjectTool, ToolPin } from "../../registry/types.ts";
import { columnsOf } from "./columns.ts";

/** An approval with its subject laid flat. */
export interface ApprovalRow extends Omit<Approval, "subject"> {
  readonly subjectKind: ApprovalSubject["kind"];
  readonly callId: string | null;
  readonly sessionId: string | null;
}

export function rowOfApproval({ subject, ...rest }: Approval): ApprovalRow {
  return { ...rest, subjectKind: subject.kind, callId: subject.callId, sessionId: subject.sessionId };
}

export function approvalOfRow({ subjectKind, callId, sessionId, ...rest }: ApprovalRow): Approval {
  // Only subjects go in, so only subjects come out.
  return { ...rest, subject: { kind: subjectKind, callId, sessionId } as ApprovalSubject };
}

export const approvalColumns = columnsOf<ApprovalRow>({
  tenant: "text",
  approvalId: "text",
  project: "text",
  subjectKind: "text",
  callId: "text",
  sessionId: "text",
  tool: "text",
  version: "text",
  requester: "text",
  onBehalfOf: "text",
  routes: "json",
  distinctFromRequester: "flag",
  comprehension: "flag",
  timeoutMs: "number",
  onTimeout: "text",
  onReject: "text",
  escalateTo: "text",
  reason: "text",
  depth: "number",
  escalatedFrom: "text",
  escalatedTo: "text",
  argsHash: "text",
  edited: "flag",
  round: "number",
  state: "text",
  openedAt: "number",
  expiresAt: "number",
  closedAt: "number",
  closedBy: "text",
  outcome: "text",
  revision: "number",
  argsJson: "text",
});

export const voteColumns = columnsOf<Vote>({
  tenant: "text",
  approvalId: "text",
  voter: "text",
  roles: "json",
  decision: "text",
  argsHash: "text",
  round: "number",
  comment: "text",
  editedArgsJson: "text",
  editedArgsHash: "text",
  comprehended: "flag",
  at: "number",
  late: "flag",
});

/** All but the document, which only its own page shows. */
export const policyColumns = columnsOf<PolicyVersion>({
  tenant: "text",
  name: "text",
  version: "text",
  level: "text",
  project: "text",
  mode: "text",
  match: "json",
  when: "text",
  missing: "text",
  decision: "text",
  reason: "text",
  approval: "json",
  obligations: "json",
  digest: "text",
  publishedAt: "number",
  publishedBy: "text",
  status: "text",
});

export const documentColumns = columnsOf<{ readonly documentJson: string }>({ documentJson: "text" });

export const policyDefaultColumns = columnsOf<PolicyDefault>({
  tenant: "text",
  project: "text",
  decision: "text",
  changedAt: "number",
  changedBy: "text",
});

export const webhookColumns = columnsOf<Webhook>({
  tenant: "text",
  webhookId: "text",
  url: "text",
  sealedSecret: "text",
  types: "json",
  createdAt: "number",
  createdBy: "text",
});

export const noticeColumns = columnsOf<Notice>({
  type: "text",
  tenant: "text",
  approvalId: "text",
  at: "number",
  data: "json",
});

/** A delivery names its notice by the id that the ledger gave it. */
export const deliveryColumns = columnsOf<Omit<Delivery, "notice"> & { readonly noticeId: number }>({
  tenant: "text",
  deliveryId: "text",
  webhookId: "text",
  noticeId: "number",
  state: "text",
  attempts: "number",
  nextAt: "number",
  endedAt: "number",
  lastStatus: "number",
  lastError: "text",
});

export const activationColumns = columnsOf<Activation>({
  tenant: "text",
  tool: "text",
  version: "text",
  at: "number",
  by: "text",
});

export const toolPinColumns = columnsOf<ToolPin>({
  tenant: "text",
  tool: "text",
  requested: "text",
  changedAt: "number",
  changedBy: "text",
});

export const projectToolColumns = columnsOf<ProjectTool>({
  tenant: "text",
  project: "text",
  tool: "text",
  enabled: "flag",
  changedAt: "number",
  changedBy: "text",
});

export const freezeColumns = columnsOf<Freeze>({
  tenant: "text",
  tool: "text",
  reason: "text",
  at: "number",
  by: "text",
});

// Approvals as people meet them: list, read, vote; each answer made of what is stored.
import { canonicalJson, limits, SignalboxError, utf8Bytes } from "@signalbox/protocol";
import type { Page } from "../ledger/port.ts";
import type { VoteCast } from "../policy/approval/machine.ts";
import { refusalError } from "../policy/approval/told.ts";
import type { Approval, ApprovalWithVotes } from "../policy/approval/types.ts";
import { mayVote, progressOf } from "../policy/approval/votes.ts";
import type { ApprovalDetail, ApprovalQuery, NewVote, VoteAnswer } from "../service-governance.ts";
import type { Asked } from "../tenancy/types.ts";
import { notFound } from "./approvals.ts";
import { storable, type InvokePorts } from "./invoke.ts";
import { hasScope } from "./refusals.ts";

/** Whoever decides may read, and whoever reads calls may read what they wait for. */
async function requireReading(ports: InvokePorts, { principal, requestId }: Asked): Promise<void> {
  if (hasScope(principal, "calls:read")) return;
  await ports.refusals.requireScope(principal, "approvals:decide", requestId);
}

/** A key sees its own project; the admin key sees the tenant. */
function maySee({ principal }: Asked, { project }: Approval): boolean {
  return principal.scopes.has("*") || principal.project === project;
}

const pagesMax = 20;

export async function listApprovals(ports: InvokePorts, asked: Asked, query: ApprovalQuery): Promise<Page<Approval>> {
  await requireReading(ports, asked);
  const { principal } = asked;
  const { project, status, tool, executionId, requester, mine, limit } = query;
  const own = principal.scopes.has("*") ? project : principal.project;
  // A project that is not the key's own has nothing for it.
  if (project !== undefined && own !== project) return { items: [], next: undefined };
  const filter = {
    tenant: principal.tenant,
    ...(own === undefined ? {} : { project: own }),
    ...(status === undefined ? {} : { state: status }),
    ...(tool === undefined ? {} : { tool }),
    ...(executionId === undefined ? {} : { callId: executionId }),
    ...(requester === undefined ? {} : { requester }),
  };
  if (mine !== true) return storable(ports.ledger.listApprovals(filter, limit, query.cursor));
  const pending = { ...filter, state: "pending" } as const;
  const items: Approval[] = [];
  let cursor = query.cursor;
  for (let pages = 0; pages < pagesMax; pages++) {
    // One by one where the page fills up: the cursor must stand right behind the last one that is shown.
    const page = await storable(ports.ledger.listApprovals(pending, Math.max(1, limit - items.length), cursor));
    for (const approval of page.items) if (await decides(ports, asked, approval)) items.push(approval);
    cursor = page.next;
    if (cursor === undefined || items.length >= limit) break;
  }
  return { items, next: cursor };
}

async function decides(ports: InvokePorts, asked: Asked, approval: Approval): Promise<boolean> {
  if (!hasScope(asked.principal, "approvals:decide")) return false;
  return mayVote(approval, { voter: asked.principal.name, roles: await rolesOf(ports, asked, approval) }) === undefined;
}

async function rolesOf(ports: InvokePorts, { principal }: Asked, { project }: Approval): Promise<readonly string[]> {
  return (await storable(ports.directory.holdingsOf(principal, project, ports.clock.now()))).roles;
}

/** Unknown and foreign ids get the very same words. */
async function seen(ports: InvokePorts, asked: Asked, approvalId: string): Promise<ApprovalWithVotes> {
  const all = await storable(ports.ledger.approval(asked.principal.tenant, approvalId));
  if (all === undefined || !maySee(asked, all.approval)) throw notFound();
  return all;
}

async function detail(ports: InvokePorts, asked: Asked, all: ApprovalWithVotes): Promise<ApprovalDetail> {
  const { approval, votes } = all;
  const { callId } = approval.subject;
  const call = callId === null ? undefined : await storable(ports.ledger.getCall(approval.tenant, callId));
  return { approval, votes, progress: progressOf(all), call, mayNotVote: await whyNot(ports, asked, approval) };
}

async function whyNot(ports: InvokePorts, asked: Asked, approval: Approval): Promise<string | null> {
  if (!hasScope(asked.principal, "approvals:decide")) return "this key lacks the scope approvals:decide";
  const refusal = mayVote(approval, { voter: asked.principal.name, roles: await rolesOf(ports, asked, approval) });
  return refusal === undefined ? null : refusalError(refusal).message;
}

export async function getApproval(ports: InvokePorts, asked: Asked, approvalId: string): Promise<ApprovalDetail> {
  await requireReading(ports, asked);
  return detail(ports, asked, await seen(ports, asked, approvalId));
}

export async function vote(ports: InvokePorts, asked: Asked, approvalId: string, cast: NewVote): Promise<VoteAnswer> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "approvals:decide", requestId);
  const { approval } = await seen(ports, asked, approvalId);
  const word: VoteCast = {
    voter: principal.name,
    roles: await rolesOf(ports, asked, approval),
    decision: cast.decision,
    argsHash: cast.argsHash,
    comment: cast.comment ?? "",
    comprehended: cast.comprehended ?? false,
    edit: cast.args === undefined ? null : editOf(ports, cast.args),
    requestId,
  };
  const { reply, after } = await storable(ports.approvals.cast(principal.tenant, approvalId, word));
  if (!reply.ok) throw await refused(ports, asked, after, refusalError(reply.refusal));
  if (reply.said === "done" || reply.said === "revalidate") throw new SignalboxError("internal", "a vote was answered as if it were none");
  return { ...(await detail(ports, asked, after)), said: reply.said };
}

function editOf(ports: InvokePorts, args: unknown) {
  const argsJson = JSON.stringify(args);
  const bytes = utf8Bytes(argsJson);
  if (bytes > limits.inputBytesMax) {
    throw new SignalboxError("payload_too_large", `the arguments have ${bytes} bytes; the limit is ${limits.inputBytesMax}`);
  }
  return { argsJson, argsHash: ports.hash(canonicalJson(args)) };
}

/** The words of a refusal are the machine's; a refusal for want of a right is written down like every other. */
async function refused(
  ports: InvokePorts,
  asked: Asked,
  { approval }: ApprovalWithVotes,
  { code, message, details }: ReturnType<typeof refusalError>,
): Promise<SignalboxError> {
  const told = { ...details, approval_id: approval.approvalId };
  const { callId } = approval.subject;
  const error = new SignalboxError(code, message, { details: told, ...(callId === null ? {} : { executionId: callId }) });
  const reason = details?.["reason"];
  const byRight = reason === "missing_role" || reason === "requester_may_not_vote" || reason === "not_a_person";
  if (!byRight) return error;
  const facts = { project: approval.project, tool: approval.tool, version: approval.version, details: { approval_id: approval.approvalId, reason } };
  return ports.refusals.refuse(asked.principal, asked.requestId, error, facts).catch((thrown: unknown) => thrown as SignalboxError);
}

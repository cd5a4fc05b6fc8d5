// Puts a limit that was reached to people, by the rules that name it: one more budget of the same size, or an end.
import { openApproval } from "../../policy/approval/open.ts";
import { approvalDefaults, type ApprovalRequirements } from "../../policy/approval/types.ts";
import { beginDecision, concludeTrigger, hearArgs } from "../../policy/decide.ts";
import { unknownArgs } from "../../policy/condition/shape.ts";
import type { Subject, Trigger } from "../../policy/types.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { Request } from "../../session/turn/types.ts";
import { unitOf } from "../approval-unit.ts";
import { hashedArgs } from "../args.ts";
import { storable } from "../invoke.ts";
import type { SessionPorts } from "./ports.ts";
import type { SessionRow } from "./row.ts";
import { Suspended } from "./suspended.ts";

export type AskLimitRequest = Extract<Request, { readonly type: "AskLimit" }>;

export interface LimitHost {
  readonly ports: SessionPorts;
  readonly row: SessionRow;
  readonly agent: AgentVersion;
  /** Whether somebody has cancelled the turn or the session meanwhile, and who. */
  cancelledBy(): string | null;
}

/** Escalations that are followed at most; an approval allows fewer. */
const hopsMax = 10;

/** @throws Suspended while nobody has answered */
export async function askLimit(host: LimitHost, request: AskLimitRequest): Promise<{ readonly granted: boolean; readonly cancelled: boolean }> {
  const { ports, row } = host;
  if (row.session.approvalId === null) {
    if (host.cancelledBy() !== null) return { granted: false, cancelled: true };
    await open(host, request);
    throw new Suspended("people", 0);
  }
  const { tenant } = row.session;
  let approvalId: string = row.session.approvalId;
  for (let hops = 0; hops < hopsMax; hops++) {
    const all = await storable(ports.ledger.approval(tenant, approvalId));
    if (all === undefined) throw new Error("the approval that a session waits for is not in the ledger");
    const { state, escalatedTo } = all.approval;
    const by = host.cancelledBy();
    if (state === "pending" && by === null) throw new Suspended("people", 0);
    if (by !== null) {
      if (state === "pending") await ports.approvals.withdraw(tenant, approvalId, by);
      return { granted: false, cancelled: true };
    }
    if (state !== "escalated" || escalatedTo === null) return { granted: state === "approved", cancelled: false };
    approvalId = escalatedTo;
  }
  return { granted: false, cancelled: false };
}

async function open({ ports, row, agent }: LimitHost, request: AskLimitRequest): Promise<void> {
  const { session } = row;
  const { limit, used, budget, step } = request;
  const now = ports.clock.now();
  const approvalId = ports.approvals.newId();
  const args = { limit, used, budget, agent: `${agent.agent}@${agent.version}`, turn: session.turn };
  const opened = openApproval(
    {
      tenant: session.tenant,
      approvalId,
      project: session.project,
      subject: { kind: "limit", callId: null, sessionId: session.sessionId },
      tool: `limit.${limit}`,
      version: "",
      requester: session.principal,
      onBehalfOf: "",
      args: hashedArgs(ports.hash, JSON.stringify(args)),
      requirements: await requirementsFor(ports, row, agent, request),
    },
    now,
  );
  if (!opened.reply.ok) throw new Error("the approval of a limit could not be opened: its requirements cannot be asked for");
  const { guards, writes } = unitOf(undefined, opened, null);
  const event = { type: "approval.requested", turn: session.turn, step, data: { approval_id: approvalId, limit, used, budget } };
  const stored = await row.change({ progress: { approvalId }, guards, writes, events: [event] });
  if (!stored) throw new Error("the approval of a limit could not be stored");
  ports.approvals.opened(opened.after.approval.expiresAt);
}

/** What the rules on this limit ask for, in the time that the agent may wait; where none speaks of it, anybody who may decide. */
async function requirementsFor(ports: SessionPorts, { session }: SessionRow, agent: AgentVersion, request: AskLimitRequest): Promise<ApprovalRequirements> {
  const { limit, used, budget } = request;
  // Whoever wants the agent to go on is not the one who says that it may, as with calls.
  const plain: ApprovalRequirements = { ...approvalDefaults, distinctFromRequester: true, routes: [{ route: "", quorum: 1 }], reason: `the agent ${agent.agent} has used ${used} of ${budget} (${limit}) and asks for as much again` };
  const asked = (await judged(ports, session, agent, `limit.${limit}` as Trigger)) ?? plain;
  const waitMs = agent.spec.limits.approvalWaitMsMax;
  return asked.timeoutMs <= waitMs ? asked : { ...asked, timeoutMs: waitMs, onTimeout: "deny", escalateTo: null };
}

async function judged(ports: SessionPorts, session: SessionRow["session"], agent: AgentVersion, trigger: Trigger): Promise<ApprovalRequirements | null> {
  const { policies, clock, directory } = ports;
  const current = policies.current();
  if (!current.ok) return null;
  const now = clock.now();
  const { tenant, project, principal } = session;
  const holdings = await storable(directory.holdingsByName(tenant, principal, project, now));
  const subject: Subject = {
    tenant,
    project,
    environment: policies.environmentOf(tenant, project),
    tool: { name: "", version: "", class: "read_only", labels: {} },
    agent: agent.agent,
    principal: { name: principal, roles: holdings?.roles ?? [] },
    context: {},
    attached: agent.spec.defaultPolicies.map((reference) => ({ tenant: agent.tenant, reference })),
    trigger,
  };
  const monotonic = (): number => clock.monotonic();
  const heard = hearArgs(beginDecision(current.set, subject, now, monotonic), {}, unknownArgs, monotonic);
  return concludeTrigger({ ...heard, waiting: [] }, "")?.approval ?? null;
}
